"""Whatever is killed when, and however many run at once: every message and every fact once."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.capture.desk import Clock, Desk, Script, Session
from tests.capture.test_child import is_gone
from tests.workspace import crash

from scriptorium.capture import clients, ingest, pending
from scriptorium.capture.child import Answered, Failed, Result, Usage
from scriptorium.capture.clients import Client
from scriptorium.errors import ScriptoriumError
from scriptorium.workspace.layout import Layout

FULL = os.environ.get("SCRIPTORIUM_FULL") == "1"
SERVER = Path(ingest.__file__).parents[2]


def answer_in_process(_: Client, __: str, prompt: str, *, budget: float) -> Result:
    """What the scripted client answers, without starting it."""
    facts: dict[str, list[int]] = {}
    for line in prompt.splitlines():
        row = json.loads(line) if line.startswith('{"message"') else {}
        for fact in re.findall(r"FACT-[a-z0-9]+", row.get("text", "")):
            facts.setdefault(fact, []).append(row["message"])
    item = {"heading": "Facts", "time": "2026-08-03"}
    additions = [
        {
            **item,
            "topic": f"topics/facts/{fact[5]}.md",
            "text": f"Said: {fact}.",
            "messages": numbers,
        }
        for fact, numbers in facts.items()
    ]
    answer = {"additions": additions, "revisions": [], "core": []}
    return Answered(answer, Usage(100, 10, 0.01, "scripted"))


def fail_in_process(_: Client, __: str, ___: str, *, budget: float) -> Result:
    return Failed("overloaded", "busy", Usage(0, 0, 0.0))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The client answers in this process, so that a fork can be killed at any step of its own."""
    monkeypatch.setattr(clients, "ask", answer_in_process)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside idle threads
        yield


def two_turns(desk: Desk) -> Session:
    session = desk.session()
    session.turn("I moved FACT-a", "noted FACT-b")
    session.turn("and FACT-c", "fine")
    return session


def assert_everything_once(desk: Desk, sessions: int = 1) -> None:
    texts = Counter(desk.contents().values())
    expected = ["I moved FACT-a", "noted FACT-b", "and FACT-c", "fine"]
    assert texts == Counter(expected * sessions)
    facts = Counter(re.findall(r"FACT-[a-z0-9]+", desk.topics()))
    assert facts == {"FACT-a": 1, "FACT-b": 1, "FACT-c": 1}


def steps_that_write(act: Callable[[Path], None], root: Path) -> list[int]:
    steps = crash.steps_of(act, root)
    return [n for n, name in enumerate(steps) if name not in crash.READING]


@pytest.mark.timeout(900 if FULL else 180)
@pytest.mark.usefixtures("quick")
def test_killed_at_any_step_every_message_and_every_fact_is_there_once(
    tmp_path: Path, script: Script
) -> None:
    def fresh(name: str) -> tuple[Desk, Session]:
        desk = Desk.made(tmp_path / name, Clock(), script)
        return desk, two_turns(desk)

    def act(root: Path) -> None:
        desk = Desk(root, Clock(), script)
        desk.ingest(desk.session(), token_threshold=1)

    fresh("counted")
    steps = steps_that_write(act, tmp_path / "counted")
    assert len(steps) > 30
    kills = 0
    for step in steps if FULL else steps[::2]:
        desk, session = fresh(f"killed-{step}")
        kills += crash.killed(act, desk.home, step, crash.die_within)
        desk.ingest(session, token_threshold=1)
        assert_everything_once(desk)
        again = desk.ingest(session, force=True)
        assert (again.added, again.pending_tokens, again.batches) == (0, 0, 0)
    assert kills > len(steps) // 3


@pytest.mark.usefixtures("quick")
def test_what_a_killed_intake_wrote_half_lasts_no_longer_than_to_the_next_write(
    tmp_path: Path, script: Script
) -> None:
    def fresh(name: str) -> tuple[Desk, Session]:
        desk = Desk.made(tmp_path / name, Clock(), script)
        session = two_turns(desk)
        desk.ingest(session)
        session.turn("and FACT-d", "well")
        return desk, session

    def act(root: Path) -> None:
        desk = Desk(root, Clock(), script)
        desk.ingest(desk.session())

    left = 0
    for step in steps_that_write(act, fresh("counted")[0].home):
        desk, session = fresh(f"killed-{step}")
        assert crash.killed(act, desk.home, step, crash.die_within)
        found = crash.litter(desk.root)
        assert {Path(path).parent for path in found} <= {Path(".scriptorium/staging")}
        left += len(found)
        desk.ingest(session, force=True)
        assert crash.litter(desk.root) == []
    assert left > 0


@pytest.mark.timeout(900 if FULL else 180)
@pytest.mark.usefixtures("quick")
def test_killed_while_setting_aside_or_bringing_back_nothing_is_lost(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "ask", fail_in_process)

    def fresh(name: str, failures: int) -> Desk:
        desk = Desk.made(tmp_path / name, Clock(), script)
        session = two_turns(desk)
        desk.ingest(session)
        for _ in range(failures):
            desk.ingest(force=True)
        return desk

    def fail(root: Path) -> None:
        Desk(root, Clock(), script).ingest(force=True)

    def retry(root: Path) -> None:
        Desk(root, Clock(), script).ingest(retry=True)

    for act, failures in ((fail, 4), (retry, 5)):
        name = f"{act.__name__}-counted"
        steps = steps_that_write(act, fresh(name, failures).home)
        for step in steps if FULL else steps[::3]:
            desk = fresh(f"{act.__name__}-{step}", failures)
            crash.killed(act, desk.home, step, crash.die_within)
            layout = Layout.of(desk.root)
            waiting = [w.message.id for w in pending.load(layout).waiting]
            aside = [w.message.id for w in pending.load_set_aside(layout)]
            assert len({*waiting, *aside}) == len(waiting) + len(aside) == 4
            with monkeypatch.context() as patched:
                patched.setattr(clients, "ask", answer_in_process)
                desk.ingest(retry=True, force=True)
            assert_everything_once(desk)


@pytest.mark.usefixtures("quick")
def test_a_disk_that_fails_at_any_step_loses_and_doubles_nothing(
    tmp_path: Path, script: Script
) -> None:
    def fresh(name: str) -> tuple[Desk, Session]:
        desk = Desk.made(tmp_path / name, Clock(), script)
        return desk, two_turns(desk)

    def act(root: Path) -> None:
        desk = Desk(root, Clock(), script)
        desk.ingest(desk.session(), token_threshold=1)

    fresh("counted")
    steps = steps_that_write(act, tmp_path / "counted")
    for step in steps if FULL else steps[::4]:
        desk, session = fresh(f"failed-{step}")
        full = crash.Saboteur(step, crash.failing(errno.ENOSPC), lasting=True)
        with suppress(OSError, ScriptoriumError), crash.sabotaged(full):
            act(desk.home)
        desk.clock.move(days=1)
        desk.ingest(session, force=True)
        assert_everything_once(desk)


def test_a_workspace_that_lost_its_lists_does_not_take_the_same_messages_again(desk: Desk) -> None:
    session = two_turns(desk)
    desk.ingest(session, force=True)
    for path in (desk.root / ".scriptorium" / "ingest").rglob("*"):
        if path.is_file():
            path.unlink()
    desk.ingest(session, force=True)
    assert_everything_once(desk)


CODE = """
import os, sys, time
from datetime import UTC, datetime
from pathlib import Path
from scriptorium.capture import ingest
from scriptorium.capture.options import IngestOptions, Surroundings
root, transcript = Path(sys.argv[1]), Path(sys.argv[2])
limits = {"token_threshold": int(sys.argv[3]), "daily_usd": 1000}
options = IngestOptions(root, transcript=transcript, git_commit="off", **limits)
ingest.run(options, Surroundings(os.environ, lambda: datetime.now(UTC), time.sleep))
"""


def started(desk: Desk, session: Session, threshold: int = 1) -> subprocess.Popen[bytes]:
    """An ingest of its own process and group."""
    arguments = [str(desk.root), str(session.path), str(threshold)]
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        env={**desk.environ, "PYTHONPATH": str(SERVER)},
        start_new_session=True,
    )


def test_several_at_once_on_one_session_and_on_several_take_everything_once(desk: Desk) -> None:
    first = two_turns(desk)
    others = [desk.session(number) for number in (2, 3)]
    for session in others:
        session.turn("I moved FACT-a", "noted FACT-b")
        session.turn("and FACT-c", "fine")
    processes = [started(desk, session) for session in (first, first, *others, *others)]
    assert [process.wait(120) for process in processes] == [0] * len(processes)
    for session in (first, *others):
        desk.ingest(session, force=True, daily_usd=1000)
    texts = Counter(desk.contents().values())
    assert set(texts.values()) == {3}
    assert len(desk.contents()) == 12


def test_killed_with_its_child_at_work_the_batch_is_written_by_the_next_one(desk: Desk) -> None:
    session = two_turns(desk)
    desk.script.moods("hang", "facts")
    process = started(desk, session)
    hung = desk.script.folder / "grandchild"
    for _ in range(1000):
        if hung.exists() and hung.read_text():
            break
        assert process.poll() is None
        signal.sigtimedwait([], 0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    os.kill(int(hung.read_text()), signal.SIGKILL)
    desk.ingest(session, token_threshold=1)
    assert_everything_once(desk)
    runs = (desk.root / ".scriptorium" / "ingest.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(run)["outcome"] for run in runs] == ["killed", "written"]


def test_ended_by_a_signal_an_ingest_ends_its_child_first(desk: Desk) -> None:
    session = two_turns(desk)
    desk.script.moods("hang")
    process = started(desk, session)
    hung = desk.script.folder / "grandchild"
    for _ in range(1000):
        if hung.exists() and hung.read_text():
            break
        assert process.poll() is None
        signal.sigtimedwait([], 0.01)
    process.terminate()
    assert process.wait(120) != 0
    assert is_gone(int(hung.read_text()))
