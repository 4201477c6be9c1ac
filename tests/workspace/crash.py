"""A harness that stops or fails a writer at every single step it takes on the disk.

The steps are found by counting the calls that go through `disk.current` in an undisturbed run. A
killed writer is a forked child that sends itself SIGKILL, so that nothing can tidy up after it.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from scriptorium.errors import ScriptoriumError
from scriptorium.workspace import disk

ERRORS = {
    "ENOSPC": errno.ENOSPC,
    "EACCES": errno.EACCES,
    "EIO": errno.EIO,
    "EROFS": errno.EROFS,
}
READING = {"read", "stat", "listing"}

type Harm = Callable[[Callable[[], object], tuple[object, ...]], object]
type Outcome = Literal["acknowledged", "refused", "committed", "killed"]
type State = Literal["before", "after"]


class Unsynced(disk.Disk):
    """Syncs are steps like any other, but nothing waits for the medium: a killed process loses none
    of what it handed to the kernel. What the power takes is another harness's matter.
    """

    def fsync(self, fd: int) -> None:
        """Nothing is waited for."""


class Saboteur:
    """Stands in for the disk: counts the steps and does `harm` at one of them, or from it on."""

    def __init__(
        self, at: int | None = None, harm: Harm | None = None, *, lasting: bool = False
    ) -> None:
        self.steps: list[str] = []
        self._real = Unsynced()
        self._at = at
        self._harm = harm
        self._lasting = lasting

    def __getattr__(self, name: str) -> Callable[..., object]:
        real = getattr(self._real, name)

        def step(*arguments: object) -> object:
            number = len(self.steps)
            self.steps.append(name)
            if self._harm is not None and self._is_harmed(number, name):
                return self._harm(lambda: real(*arguments), (name, *arguments))
            return real(*arguments)

        return step

    def _is_harmed(self, number: int, name: str) -> bool:
        if self._at is None or not self._lasting:
            return number == self._at
        return number >= self._at and name not in READING


@contextmanager
def sabotaged(saboteur: Saboteur) -> Iterator[Saboteur]:
    """All steps go through the saboteur."""
    honest = disk.current
    disk.current = cast("disk.Disk", saboteur)
    try:
        yield saboteur
    finally:
        disk.current = honest


def die(_: Callable[[], object], __: tuple[object, ...]) -> object:
    """Killed before the step."""
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def die_after(real: Callable[[], object], __: tuple[object, ...]) -> object:
    """Killed after the step."""
    real()
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def die_within(real: Callable[[], object], call: tuple[object, ...]) -> object:
    """Killed in the middle of a write; before any other step."""
    if call[0] == "write":
        fd, data = cast("int", call[1]), cast("bytes", call[2])
        os.write(fd, data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def failing(number: int) -> Harm:
    """The step fails with the error; a write fails half done."""

    def harm(_: Callable[[], object], call: tuple[object, ...]) -> object:
        if call[0] == "write":
            fd, data = cast("int", call[1]), cast("bytes", call[2])
            os.write(fd, data[: len(data) // 2])
        raise OSError(number, os.strerror(number))

    return harm


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is done to a workspace, and how the result is judged."""

    template: Path
    """A workspace to copy for each run."""
    act: Callable[[Path], None]
    """The update; its return is the acknowledgement."""
    next_start: Callable[[Path], None]
    """What the next start does."""
    state: Callable[[Path], State]
    """Judges the workspace after the next start; asserts that it is nothing in between."""

    def copy(self, place: Path) -> Path:
        """A fresh copy of the template at the place."""
        if place.exists():
            shutil.rmtree(place)
        shutil.copytree(self.template, place)
        return place


def steps_of(act: Callable[[Path], None], root: Path) -> list[str]:
    """The steps of an undisturbed run, by counting."""
    with sabotaged(Saboteur()) as counted:
        act(root)
    return counted.steps


def killed(act: Callable[[Path], None], root: Path, at: int, harm: Harm) -> bool:
    """Whether the child that acts was killed at the step (False: it ended first)."""
    pid = os.fork()
    if pid == 0:
        try:
            with sabotaged(Saboteur(at, harm)):
                act(root)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def attempted(act: Callable[[Path], None], root: Path, saboteur: Saboteur) -> Outcome:
    """What the caller of the update was told."""
    try:
        with sabotaged(saboteur):
            act(root)
    except ScriptoriumError as error:
        return "committed" if error.details.get("memory_committed") else "refused"
    return "acknowledged"


@dataclass(slots=True)
class Matrix:
    """The table of steps and outcomes, and every outcome that breaks a promise."""

    steps: list[str] = field(default_factory=list)
    cells: dict[tuple[int, str], str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def note(self, step: int, way: str, outcome: Outcome, state: State, litter: list[str]) -> None:
        self.cells[step, way] = "all" if state == "after" else "none"
        promised = {"acknowledged": "after", "committed": "after", "refused": "before"}
        if promised.get(outcome, state) != state:
            self.broken.append(f"{way} at step {step}: {outcome}, but the state is {state}")
        if litter:
            self.broken.append(f"{way} at step {step}: litter {litter}")

    def table(self, title: str) -> str:
        """Rows: kinds of steps; columns: what was done there; cells: how often all and none."""
        ways = list(dict.fromkeys(way for _, way in self.cells))
        rows = [
            f"{title}: {len(self.steps)} steps, {len(self.cells)} runs (update all there / none)"
        ]
        rows.append(f"{'step':<12}{'count':>6} " + " ".join(f"{way:>12}" for way in ways))
        for kind, count in Counter(self.steps).items():
            rows.append(f"{kind:<12}{count:>6} " + " ".join(self._cell(kind, way) for way in ways))
        rows.append(
            f"{'total':<12}{len(self.steps):>6} " + " ".join(self._cell(None, w) for w in ways)
        )
        rows.append(f"promises broken: {len(self.broken)}")
        return "\n".join(rows)

    def _cell(self, kind: str | None, way: str) -> str:
        states = [
            self.cells[number, way]
            for number, step in enumerate(self.steps)
            if kind in (None, step) and (number, way) in self.cells
        ]
        count = Counter(states)
        return (f"{count['all']} / {count['none']}" if states else "-").rjust(12)


def run_matrix(scenario: Scenario, place: Path, *, rotate: bool = False) -> Matrix:
    """Every step killed before, within and after, and failed in every way; each in a fresh copy.

    A step that only reads leaves the disk as it was, and cannot meet a full or read-only one: it is
    killed before, and fails with EACCES and EIO. With `rotate` a reading step fails in one of the
    two ways in turn, and no step is killed after it (which is before the next).
    """
    matrix = Matrix(steps_of(scenario.act, scenario.copy(place)))
    kills = {"kill before": die, "kill within": die_within, "kill after": die_after}
    for number, step in enumerate(matrix.steps):
        reading = step in READING
        ways = [name for name in ERRORS if not reading or name in ("EACCES", "EIO")]
        for way, harm in kills.items():
            if _applies(way, step, rotate=rotate):
                root = scenario.copy(place)
                assert killed(scenario.act, root, number, harm), f"step {number} was not reached"
                _judge(matrix, scenario, root, number, way, "killed")
        for name in [ways[number % 2]] if rotate and reading else ways:
            root = scenario.copy(place)
            told = attempted(scenario.act, root, Saboteur(number, failing(ERRORS[name])))
            _judge(matrix, scenario, root, number, name, told)
        if not reading and not rotate:
            root = scenario.copy(place)
            full = Saboteur(number, failing(errno.ENOSPC), lasting=True)
            told = attempted(scenario.act, root, full)
            _judge(matrix, scenario, root, number, "full on", told)
    return matrix


def _applies(way: str, step: str, *, rotate: bool) -> bool:
    match way:
        case "kill within":
            return step == "write"
        case "kill after":
            return step not in READING and not rotate
        case _:
            return True


def _judge(
    matrix: Matrix, scenario: Scenario, root: Path, number: int, way: str, told: Outcome
) -> None:
    with sabotaged(Saboteur()):
        scenario.next_start(root)
    matrix.note(number, way, told, scenario.state(root), litter(root))


def litter(root: Path) -> list[str]:
    """Temporary files anywhere, and what else a writer should not leave behind."""
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.name.startswith(".scriptorium-tmp-") or path.name == "journal"
    )


def files(root: Path) -> dict[str, str]:
    """Every file outside the runtime directory, with its text."""
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in root.rglob("*")
        if path.is_file() and ".scriptorium" not in path.parts
    }
