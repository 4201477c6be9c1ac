"""Clocks that jump, disks that are full: nothing waits for ever, and nothing is paid for twice."""

from __future__ import annotations

import errno
import io
import json
from datetime import UTC, datetime

import pytest
from tests.capture.desk import NOON, Desk, filler

from scriptorium.capture import archived, batch, ingest
from scriptorium.capture.archived import Marks
from scriptorium.interface import ingesting, parser
from scriptorium.interface.surroundings import Surroundings as Around
from scriptorium.interface.terminal import Terminal
from scriptorium.workspace.layout import Layout


def test_after_a_failure_a_clock_that_is_set_back_by_years_ends_the_wait(desk: Desk) -> None:
    session = desk.session()
    session.turn("FACT-a", "b")
    desk.script.moods("overloaded", "facts")
    desk.clock.moment = datetime(2037, 1, 1, tzinfo=UTC)
    assert desk.ingest(session, token_threshold=1).outcome == "failed"
    desk.clock.moment = NOON
    assert desk.ingest(session, token_threshold=1).outcome == "written"


def test_a_session_of_a_clock_that_ran_ahead_counts_as_over(desk: Desk) -> None:
    session = desk.session()
    desk.clock.moment = session.time = datetime(2037, 1, 1, tzinfo=UTC)
    session.turn(f"FACT-a {filler(2000)}", "b")
    assert desk.ingest(session).outcome == "waiting"
    desk.clock.moment = NOON
    assert desk.ingest(session).outcome == "written"


def test_a_disk_that_has_no_room_for_an_answer_is_not_asked_again_at_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = desk.session()
    session.turn("FACT-a", "b")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(batch, "update", full)
        outcomes = [desk.ingest(session, token_threshold=1).outcome for _ in range(3)]
    assert outcomes == ["failed", "backoff", "backoff"]
    assert len(desk.script.calls) == 1
    assert "disk is full" in str(ingest.status(desk.root, desk.clock.now()).last_error)
    desk.clock.move(minutes=6)
    assert desk.ingest(session, token_threshold=1).outcome == "written"


def test_a_dry_run_counts_nothing_that_is_in_memory_already(desk: Desk) -> None:
    session = desk.session()
    session.turn("FACT-a", "b")
    desk.ingest(session, force=True)
    for cursor in (Layout.of(desk.root).runtime_dir / "ingest" / "cursors").iterdir():
        cursor.unlink()
    report = desk.ingest(session, dry_run=True)
    assert report.preview is not None
    assert report.preview.messages == 0


@pytest.mark.parametrize("asked", [1, 500])
def test_many_questions_and_few_find_the_same_marks(asked: int) -> None:
    known = [archived.mark(f"key-{n}") for n in range(500)]
    marks = Marks(b"\n".join(known) + b"\n")
    assert all(mark in marks for mark in known[:asked])
    assert not any(archived.mark(f"other-{n}") in marks for n in range(asked))


def test_a_hook_without_home_finds_the_client_in_it_and_gives_it_on(desk: Desk) -> None:
    session = desk.session()
    session.turn("FACT-a", "b")
    folder = desk.home / ".local" / "bin"
    folder.parent.mkdir()
    folder.symlink_to(desk.script.folder)
    event = {"transcript_path": str(session.path), "cwd": str(desk.home)}
    around = Around(
        home=desk.home,
        cwd=desk.home,
        environ={"PATH": "/nonexistent"},
        stdin=io.StringIO(json.dumps(event)),
        out=Terminal(io.StringIO(), colour=False),
        err=Terminal(io.StringIO(), colour=False),
        clock=desk.clock.now,
    )
    arguments = parser.of_hook()
    arguments.force = True
    assert ingesting.ingest(arguments, around) == 0
    assert desk.script.calls[0]["environ"]["HOME"] == str(desk.home)
