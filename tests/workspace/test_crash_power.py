"""The power fails at every step: what was not synced is lost or torn, the latest names are lost.

The model of the disk: changes of names (creations, renames, deletions) reach it in their order,
so that it holds those of the first steps; content reaches it for certain only by a sync, else a
file is empty, cut or has holes. An update is done again step by step on such a disk, and the
machine starts anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from tests.workspace import crash, test_crash
from tests.workspace.crash import Scenario

from scriptorium.workspace import disk, journal

scenario = test_crash.scenario

type Step = tuple[str, tuple[object, ...], object]


class Recorder:
    """Stands in for the disk: does every step, and remembers those that change something."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._real = disk.Disk()

    def __getattr__(self, name: str) -> Callable[..., object]:
        real = getattr(self._real, name)
        if name in crash.READING:
            return cast("Callable[..., object]", real)

        def step(*arguments: object) -> object:
            result = real(*arguments)
            self.steps.append((name, arguments, result))
            return result

        return step


class Medium:
    """A copy of a workspace on which the first steps of a recorded update are done again."""

    def __init__(self, root: Path, recorded_at: Path) -> None:
        self.root = root
        self.recorded_at = recorded_at
        self.unsynced = {
            path for path in root.rglob("*") if path.suffix in (".md", ".json", ".jsonl")
        }
        self._open: dict[object, tuple[int, Path]] = {}
        self._disk = disk.Disk()

    def do(self, steps: list[Step]) -> None:
        """The steps are done here, with the files that were open then as they were opened."""
        for name, arguments, result in steps:
            if name in ("write", "chmod", "fsync"):
                fd, path = self._open[arguments[0]]
                getattr(self._disk, name)(fd, *arguments[1:])
                self.unsynced -= {path} if name == "fsync" else set()
            else:
                places = [self._moved(argument) for argument in arguments]
                made = getattr(self._disk, name)(*places)
                self._track(name, places, result, made)
        for fd, _ in self._open.values():
            os.close(fd)

    def _track(self, name: str, places: list[Path], recorded: object, made: int) -> None:
        match name:
            case "create":
                if recorded in self._open:  # the number of a file that was closed since
                    os.close(self._open[recorded][0])
                self._open[recorded] = (made, places[0])
                self.unsynced.add(places[0])
            case "sync_file":
                self.unsynced.discard(places[0])
            case "rename":
                self.unsynced.discard(places[1])
                if places[0] in self.unsynced:
                    self.unsynced.add(places[1])

    def _moved(self, argument: object) -> Path:
        assert isinstance(argument, Path)
        return self.root / argument.relative_to(self.recorded_at)

    def fail(self, tear: Callable[[bytes], bytes]) -> None:
        """The power is cut: what was never synced is torn, its times as they were."""
        for path in self.unsynced:
            if path.is_file():
                info = path.stat()
                path.write_bytes(tear(path.read_bytes()))
                os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


@pytest.mark.parametrize(
    "tear", [lambda _: b"", lambda data: data[:3] + bytes(len(data[3:]))], ids=["empty", "holes"]
)
def test_an_update_is_there_or_not_after_the_power_fails_at_any_step(
    scenario: Scenario,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tear: Callable[[bytes], bytes],
) -> None:
    place = tmp_path / "run"
    recorder = Recorder()
    with monkeypatch.context() as recording:
        recording.setattr(disk, "current", cast("disk.Disk", recorder))
        test_crash.update(scenario.copy(place))
    names = [name for name, _, _ in recorder.steps]
    durable = names.index("sync_dir")
    assert names[durable - 1] == "rename"
    monkeypatch.setattr(journal, "boot_id", lambda: "another-boot")

    states = []
    for count in range(len(names) + 1):
        medium = Medium(scenario.copy(tmp_path / "medium"), place)
        medium.do(recorder.steps[:count])
        medium.fail(tear)
        scenario.next_start(medium.root)
        states.append(scenario.state(medium.root))
        assert crash.litter(medium.root) == []

    assert states == ["before"] * durable + ["after"] * (len(states) - durable)
