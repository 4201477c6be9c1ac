"""The race between the Stop hook and the transcript's last row."""

from __future__ import annotations

from tests.capture.desk import Desk, Session

from scriptorium.capture.options import IngestReport


def stop(desk: Desk, session: Session, answer: str) -> IngestReport:
    return desk.ingest(session, last_message=answer, cwd=session.cwd)


def pending_texts(desk: Desk) -> list[str]:
    preview = desk.ingest(dry_run=True).preview
    assert preview is not None
    lines = [line for line in preview.prompt.splitlines() if line.startswith('{"message"')]
    return [line.rpartition('"text": ')[2].strip('"}') for line in lines]


def test_an_answer_that_is_there_is_not_waited_for(desk: Desk) -> None:
    session = desk.session()
    session.turn("q", "a")
    assert stop(desk, session, "a").added == 2
    assert desk.clock.slept == []


def test_an_answer_that_comes_late_is_waited_for_and_read(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q"))

    def arrive() -> None:
        if len(desk.clock.slept) == 2:
            session.write(session.said("a"))

    desk.clock.on_sleep = arrive
    assert stop(desk, session, "a").added == 2
    assert sum(desk.clock.slept) < 0.2
    assert pending_texts(desk) == ["q", "a"]


def test_an_answer_that_does_not_come_within_2_s_is_taken_from_the_hook(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q"))
    assert stop(desk, session, "a").added == 2
    assert 1.9 < sum(desk.clock.slept) < 2.2
    assert pending_texts(desk) == ["q", "a"]


def test_the_files_own_copy_of_it_is_known_again(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q"))
    stop(desk, session, "the\nanswer")
    session.write(session.said("the answer"))
    session.turn("next", "other")
    assert stop(desk, session, "other").added == 2
    assert pending_texts(desk) == ["q", "the\\nanswer", "next", "other"]


def test_the_same_words_in_a_later_turn_are_another_answer(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q"))
    stop(desk, session, "done")
    session.write(session.said("done"))
    session.turn("next", "done")
    stop(desk, session, "done")
    assert pending_texts(desk) == ["q", "done", "next", "done"]


def test_its_copy_is_known_again_also_after_it_was_written_into_memory(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q FACT-one"))
    stop(desk, session, "a FACT-two")
    assert desk.ingest(force=True).messages == 2
    session.write(session.said("a FACT-two"))
    session.turn("next", "b")
    stop(desk, session, "b")
    desk.ingest(force=True)
    assert sorted(desk.contents().values()) == ["a FACT-two", "b", "next", "q FACT-one"]


def test_a_cursor_lost_to_a_kill_does_not_double_it(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q"))
    stop(desk, session, "a")
    for cursor in (desk.root / ".scriptorium" / "ingest" / "cursors").iterdir():
        cursor.unlink()
    session.write(session.said("a"))
    stop(desk, session, "a")
    assert pending_texts(desk) == ["q", "a"]


def test_a_fork_of_the_session_brings_nothing_twice(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q"))
    stop(desk, session, "a")
    session.write(session.said("a"))
    fork = desk.session(2)
    copied = session.path.read_text(encoding="utf-8").replace(session.name, fork.name)
    fork.path.write_text(copied, encoding="utf-8")
    fork.turn("in the fork", "b")
    stop(desk, fork, "b")
    assert pending_texts(desk) == ["q", "a", "in the fork", "b"]


def test_two_hooks_of_one_turn_take_it_once(desk: Desk) -> None:
    session = desk.session()
    session.write(session.typed("q"))
    stop(desk, session, "a")
    stop(desk, session, "a")
    assert pending_texts(desk) == ["q", "a"]


def test_a_hook_that_comes_when_the_next_turn_has_begun_adds_nothing_twice(desk: Desk) -> None:
    session = desk.session()
    session.turn("q", "a")
    session.write(session.typed("next"))
    assert stop(desk, session, "a").added == 3
    assert pending_texts(desk) == ["q", "a", "next"]


def test_a_hook_that_comes_when_the_next_turn_is_read_already_adds_nothing_twice(
    desk: Desk,
) -> None:
    session = desk.session()
    session.turn("q", "a")
    session.turn("next", "b")
    stop(desk, session, "b")
    assert stop(desk, session, "a").added == 0
    assert pending_texts(desk) == ["q", "a", "next", "b"]
