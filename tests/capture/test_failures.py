"""A run that fails: nothing is lost, the wait grows, and after five the batch is set aside."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from tests.capture.desk import Desk, filler

from scriptorium.capture import ingest, ledger
from scriptorium.workspace.layout import Layout


def pending_desk(desk: Desk) -> Desk:
    session = desk.session()
    session.turn("FACT-a", "FACT-b")
    desk.ingest(session)
    return desk


def runs(desk: Desk) -> list[dict[str, object]]:
    text = (desk.root / ".scriptorium" / "ingest.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


FAILURES = [
    "not-logged-in", "unauthorised", "rate-limited", "overloaded", "budget", "too-long",
    "usage-limit", "malformed", "empty", "suicide", "invalid",
]  # fmt: skip


@pytest.mark.parametrize("mood", FAILURES)
def test_after_a_failure_everything_stays_pending_and_is_written_once_later(
    desk: Desk, mood: str
) -> None:
    pending_desk(desk)
    revision = desk.snapshot().revision
    desk.script.moods(mood)
    report = desk.ingest(token_threshold=1)
    assert report.outcome == "failed"
    assert desk.snapshot().revision == revision
    status = ingest.status(desk.root, desk.clock.now())
    assert status.pending_tokens > 0
    assert status.last_error is not None
    desk.script.moods("facts")
    desk.clock.move(hours=1)
    assert desk.ingest(token_threshold=1).outcome == "written"
    assert sorted(desk.contents().values()) == ["FACT-a", "FACT-b"]
    assert desk.topics().count("FACT-a") == 1
    assert ingest.status(desk.root, desk.clock.now()).last_error is None


def test_the_wait_grows_with_each_failure_and_the_fifth_sets_the_batch_aside(desk: Desk) -> None:
    pending_desk(desk)
    desk.script.moods("overloaded")
    waits: list[timedelta] = []
    for _ in range(4):
        assert desk.ingest(token_threshold=1).outcome == "failed"
        assert desk.ingest(token_threshold=1).outcome == "backoff"
        state = ledger.load_state(Layout.of(desk.root))
        again = datetime.fromisoformat(state.not_before or "")
        waits.append(again - desk.clock.moment)
        desk.clock.moment = again
    assert waits == sorted(set(waits))
    assert desk.ingest(token_threshold=1).outcome == "failed"
    assert len(desk.script.calls) == 5
    status = ingest.status(desk.root, desk.clock.now())
    assert (status.set_aside, status.pending_tokens) == (2, 0)
    assert "overloaded" in (status.last_error or "")


def set_aside(desk: Desk) -> Desk:
    pending_desk(desk)
    desk.script.moods("overloaded")
    for _ in range(5):
        desk.ingest(token_threshold=1)
        desk.clock.move(days=1)
    return desk


def test_what_is_set_aside_does_not_hold_up_what_comes_after(desk: Desk) -> None:
    set_aside(desk)
    desk.script.moods("facts")
    session = desk.session(2)
    session.turn("FACT-new", "ok")
    assert desk.ingest(session, token_threshold=1).outcome == "written"
    assert sorted(desk.contents().values()) == ["FACT-new", "ok"]


def test_retry_brings_back_what_was_set_aside(desk: Desk) -> None:
    set_aside(desk)
    desk.script.moods("facts")
    report = desk.ingest(retry=True, token_threshold=1)
    assert (report.outcome, report.messages) == ("written", 2)
    assert sorted(desk.contents().values()) == ["FACT-a", "FACT-b"]
    assert ingest.status(desk.root, desk.clock.now()).set_aside == 0


def test_retry_with_little_pending_only_brings_it_back(desk: Desk) -> None:
    set_aside(desk)
    report = desk.ingest(retry=True)
    assert report.outcome == "retried"
    assert report.pending_tokens > 0


def test_force_does_not_wait(desk: Desk) -> None:
    pending_desk(desk)
    desk.script.moods("overloaded", "facts")
    assert desk.ingest(token_threshold=1).outcome == "failed"
    assert desk.ingest(token_threshold=1).outcome == "backoff"
    assert desk.ingest(force=True).outcome == "written"


def test_the_errors_of_an_answer_are_fed_back_once(desk: Desk) -> None:
    pending_desk(desk)
    desk.script.moods("invalid", "facts")
    assert desk.ingest(force=True).outcome == "written"
    first, second = desk.script.calls
    assert "additions[0].topic" not in first["request"]
    assert "additions[0].topic" in second["request"]
    assert "etc/passwd" in second["request"]
    assert [run["outcome"] for run in runs(desk)] == ["failed", "written"]


def test_an_answer_that_memory_refuses_is_fed_back_too(desk: Desk) -> None:
    pending_desk(desk)
    for name in ("a.md", "a-captured.md"):
        broken = desk.root / "topics" / "facts" / name
        broken.parent.mkdir(parents=True, exist_ok=True)
        broken.write_text("# A\n\nNo evidence here.\n", encoding="utf-8")
    desk.script.moods("facts", "nothing")
    assert desk.ingest(force=True).outcome == "written"
    first, second = desk.script.calls
    assert "topics/facts/a-captured.md" not in first["request"].partition("# Messages")[2]
    assert "topics/facts/a-captured.md" in second["request"].partition("# Messages")[2]
    assert sorted(desk.contents().values()) == ["FACT-a", "FACT-b"]


def test_a_file_that_a_person_broke_does_not_hold_up_memory(desk: Desk) -> None:
    pending_desk(desk)
    broken = desk.root / "topics" / "facts" / "a.md"
    broken.parent.mkdir(parents=True)
    broken.write_text("# A\n\nNo evidence here.\n", encoding="utf-8")
    assert desk.ingest(force=True).outcome == "written"
    assert broken.read_text(encoding="utf-8") == "# A\n\nNo evidence here.\n"
    assert "FACT-a" in desk.topics()
    assert len(desk.script.calls) == 1


@pytest.mark.parametrize("name", ["topics/facts/a.md"])
def test_a_file_that_is_not_utf_8_does_not_hold_up_memory(desk: Desk, name: str) -> None:
    pending_desk(desk)
    place = desk.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"# A\n\n\xff\xfe\n")
    item = {"topic": "topics/facts/a.md", "heading": "x", "text": "A fact.", "time": "2026"}
    answer = {"additions": [{**item, "messages": [1]}], "revisions": [], "core": ["A line."]}
    desk.script.moods(json.dumps(answer))
    assert desk.ingest(force=True).outcome == "written"
    assert place.read_bytes() == b"# A\n\n\xff\xfe\n"
    assert sorted(desk.contents().values()) == ["FACT-a", "FACT-b"]


# --- spend


def test_every_run_is_on_record_with_what_it_took(desk: Desk) -> None:
    pending_desk(desk)
    desk.ingest(force=True)
    (run,) = runs(desk)
    assert run["outcome"] == "written"
    assert run["model"] == "scripted-model"
    assert (run["input_tokens"], run["output_tokens"], run["cost_usd"]) == (1024, 100, 0.01)
    log = (desk.root / ".scriptorium" / "ingest.log").read_text(encoding="utf-8")
    assert "topics/facts/a.md" in log


@pytest.mark.parametrize("content", [None, b"\x7fELF nonsense"], ids=["not found", "not started"])
def test_a_model_that_never_ran_costs_nothing(desk: Desk, content: bytes | None) -> None:
    pending_desk(desk)
    program = desk.home / "program"
    if content is not None:
        program.write_bytes(content)
        program.chmod(0o755)
    report = desk.ingest(force=True, claude_cli=str(program))
    assert (report.outcome, report.cost_usd) == ("failed", 0)
    (run,) = runs(desk)
    assert (run["input_tokens"], run["output_tokens"], run["cost_usd"]) == (0, 0, 0)
    assert ingest.status(desk.root, desk.clock.now()).spent_usd_today == 0


def test_the_days_cap_holds_and_ends_with_the_day(desk: Desk) -> None:
    session = desk.session()
    session.turn(filler(9_000), filler(9_000))
    session.turn(filler(9_000), filler(9_000))
    report = desk.ingest(session, daily_usd=0.115)
    assert (report.outcome, report.batches) == ("capped", 1)
    assert desk.ingest(daily_usd=0.115).outcome == "capped"
    assert len(desk.script.calls) == 1
    assert "ingest.daily_usd" in (ingest.status(desk.root, desk.clock.now()).last_error or "")
    log = (desk.root / ".scriptorium" / "ingest.log").read_text(encoding="utf-8")
    assert log.count("ingest.daily_usd") == 1
    desk.clock.move(days=1)
    assert ingest.status(desk.root, desk.clock.now()).last_error is None
    assert desk.ingest(daily_usd=0.115).outcome == "written"
    assert len(desk.script.calls) == 2


def test_force_does_not_lift_the_cap(desk: Desk) -> None:
    pending_desk(desk)
    assert desk.ingest(force=True, daily_usd=0.001).outcome == "capped"
    assert desk.script.calls == []


def test_what_the_client_left_over_is_its_budget(desk: Desk) -> None:
    pending_desk(desk)
    desk.ingest(force=True, daily_usd=0.75)
    argv = desk.script.calls[0]["argv"]
    assert argv[argv.index("--max-budget-usd") + 1] == "0.75"


def test_a_run_that_was_killed_is_recorded_by_the_next_one(desk: Desk) -> None:
    pending_desk(desk)
    layout = Layout.of(desk.root)
    killed = ledger.Run("r1", desk.clock.moment.isoformat(), "claude", None, cost_usd=0.2)
    ledger.save_state(layout, ledger.State(run=killed))
    desk.ingest(force=True)
    assert [run["outcome"] for run in runs(desk)] == ["killed", "written"]
    assert runs(desk)[0]["id"] == "r1"
    assert ledger.spent_today(layout, desk.clock.now()) == 0.21


@pytest.mark.parametrize("data", [b"", b"{}", b"nonsense", b'{"failures": "x", "run": {"id": 1}}'])
def test_a_damaged_state_is_the_initial_one(desk: Desk, data: bytes) -> None:
    pending_desk(desk)
    (desk.root / ".scriptorium" / "ingest" / "state.json").write_bytes(data)
    assert desk.ingest(force=True).outcome == "written"


def test_a_damaged_line_of_the_record_costs_that_line(desk: Desk) -> None:
    pending_desk(desk)
    (desk.root / ".scriptorium" / "ingest.jsonl").write_bytes(
        b'{"id": 1\n[]\n{"cost_usd": "x"}\n\xff'
    )
    assert desk.ingest(force=True).outcome == "written"
    assert ingest.status(desk.root, desk.clock.now()).spent_usd_today == 0.01
