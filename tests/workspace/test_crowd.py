"""Many processes write one workspace while others read it."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.workspace import crash, updates

from scriptorium.errors import ConcurrentUpdate
from scriptorium.format.model import RelPath
from scriptorium.workspace import disk, journal
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

WRITERS = 8
UPDATES = 50 if os.environ.get("SCRIPTORIUM_FULL") == "1" else 20


def remember(workspace: Workspace, writer: int, number: int) -> None:
    """One more fact in a topic of the writer, and the count of all facts in core, in one update."""
    while True:
        try:
            snapshot = workspace.snapshot()
            path = f"topics/writer{writer}/{number // 10}.md"
            topic = updates.text_of(snapshot, path) or f"# Writer {writer}\n"
            core = f"# Core\n\n{counted(snapshot) + 1} facts\n"
            statement = f"Fact {writer}-{number}."
            updates.replace(
                workspace,
                snapshot,
                {path: topic + updates.fact("x", statement), "core.md": core},
                statement,
            )
        except ConcurrentUpdate:
            continue
        return


def facts(snapshot: Snapshot) -> int:
    return sum(text.count("\nFact ") for text in topics(snapshot))


def topics(snapshot: Snapshot) -> list[str]:
    return [snapshot.read(path) for path in snapshot.authored() if path.startswith("topics/")]


def counted(snapshot: Snapshot) -> int:
    """What core says that there are."""
    found = re.search(r"(\d+) facts", snapshot.read(RelPath("core.md")))
    return int(found[1]) if found else 0


def look(snapshot: Snapshot) -> tuple[int, int]:
    return facts(snapshot), counted(snapshot)


def child(work: Callable[[], None]) -> int:
    """A process that does the work and exits with 0, or with 1 where that fails."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def write_all(root: Path, writer: int, each: int) -> None:
    workspace = updates.open_workspace(root)
    for number in range(each):
        remember(workspace, writer, number)


def read_until_killed(root: Path) -> None:
    """Ends, with an error, only when it sees a half update."""
    workspace = updates.open_workspace(root)
    while True:
        found, told = workspace.reading(look)
        assert found == told


@dataclass(frozen=True, slots=True)
class Crowd:
    """What is there after everybody wrote."""

    lost: int
    """Acknowledged updates whose fact, id or count is not there, and facts that nobody wrote."""
    twice: int
    """Facts, or ids, that are there more than once."""
    torn: int
    """Readers that saw half an update, writers that failed, and problems that `validate` finds."""
    seconds: float


def crowd(root: Path, each: int) -> Crowd:
    """Eight processes make `each` updates, while two read all the time."""
    updates.open_workspace(root)
    began = time.monotonic()
    readers = [child(lambda: read_until_killed(root)) for _ in range(2)]
    writers = [child(lambda n=n: write_all(root, n, each)) for n in range(WRITERS)]  # type: ignore[misc]
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in writers)
    seconds = time.monotonic() - began
    for pid in readers:
        os.kill(pid, signal.SIGKILL)
    seen = [os.waitpid(pid, 0)[1] for pid in readers]
    failed += sum(not os.WIFSIGNALED(s) or os.WTERMSIG(s) != signal.SIGKILL for s in seen)
    workspace = updates.open_workspace(root)
    snapshot = workspace.snapshot()
    text = "\n".join(topics(snapshot))
    found = Counter(re.findall(r"Fact (\d+-\d+)\.", text))
    ids = Counter(re.findall(r" \^([0-9a-f]{8})$", text, re.MULTILINE))
    expected = {f"{writer}-{number}" for writer in range(WRITERS) for number in range(each)}
    unlike = [abs(len(expected) - count) for count in (*look(snapshot), len(ids))]
    return Crowd(
        lost=len(expected ^ found.keys()) + sum(unlike),
        twice=sum(count > 1 for count in (*found.values(), *ids.values())),
        torn=failed + len(validate(workspace)),
        seconds=seconds,
    )


@pytest.mark.timeout(600)
def test_a_crowd_of_writers_loses_nothing_and_readers_never_see_half_an_update(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = crowd(tmp_path / "memory", UPDATES)
    with capsys.disabled():
        print(f"\n{WRITERS} writers, {WRITERS * UPDATES} updates: {seen.seconds:.1f} s")
    assert (seen.lost, seen.twice, seen.torn) == (0, 0, 0)


class Stopping(disk.Disk):
    """Between the first and the second file of memory that is installed, calls `meanwhile`."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.meanwhile = meanwhile
        self.installed = 0

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        if target.suffix == ".md":
            self.installed += 1
            if self.installed == 1:
                self.meanwhile()


def test_a_reader_waits_while_an_update_is_being_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "memory"
    writer, reader = updates.open_workspace(root), updates.open_workspace(root)
    remember(writer, 0, 0)
    waiting = threading.Event()
    pending = journal.pending
    seen: list[tuple[int, int]] = []
    thread = threading.Thread(target=lambda: seen.append(reader.reading(look)))

    def noticed(layout: Layout) -> bool:
        answer = pending(layout)
        if answer and threading.current_thread() is thread:
            waiting.set()
        return answer

    def meanwhile() -> None:
        thread.start()
        assert waiting.wait(120)
        assert seen == []

    monkeypatch.setattr(journal, "pending", noticed)
    monkeypatch.setattr(disk, "current", Stopping(meanwhile))
    remember(writer, 0, 1)
    thread.join(120)
    assert seen == [(2, 2)]


def test_without_the_look_at_the_journal_a_reader_sees_half_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the tests above can fail: what they prove rests on that look alone."""
    root = tmp_path / "memory"
    writer, reader = updates.open_workspace(root), updates.open_workspace(root)
    remember(writer, 0, 0)
    seen: list[tuple[int, int]] = []

    def meanwhile() -> None:
        with monkeypatch.context() as blind:
            blind.setattr(journal, "pending", lambda _: False)
            blind.setattr(journal, "generation", lambda _: (0, 0))
            seen.append(reader.reading(look))

    monkeypatch.setattr(disk, "current", Stopping(meanwhile))
    remember(writer, 0, 1)
    assert seen[0] in ((2, 1), (1, 2))


def test_a_writer_killed_while_it_installs_delays_the_next_by_less_than_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "memory"
    remember(updates.open_workspace(root), 0, 0)

    def act(place: Path) -> None:
        remember(updates.open_workspace(place), 0, 1)

    crash.killed(act, root, _first_installation(act, root, tmp_path), crash.die_after)
    assert journal.pending(Layout.of(root))

    monkeypatch.setattr(journal, "locked", partial(journal.locked, timeout=1.0))
    workspace = updates.open_workspace(root)
    remember(workspace, 0, 2)
    assert look(workspace.snapshot()) == (3, 3)


def _first_installation(act: Callable[[Path], None], root: Path, tmp_path: Path) -> int:
    """The step of the second rename: the first one is the commit point."""
    trial = crash.Scenario(root, act, act, lambda _: "before").copy(tmp_path / "trial")
    steps = crash.steps_of(act, trial)
    return [number for number, step in enumerate(steps) if step == "rename"][1]
