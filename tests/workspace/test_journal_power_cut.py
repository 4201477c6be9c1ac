"""After a power cut: what the disk lost comes back, and what people wrote stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from scriptorium.workspace import generation, journal, layout
from scriptorium.workspace.digests import digest
from scriptorium.workspace.journal import Change
from scriptorium.workspace.layout import Layout

TOPIC = "topics/a.md"
NEW = "topics/new/b.md"


@pytest.fixture
def place(tmp_path: Path) -> Layout:
    """A workspace whose last two updates are installed, and not known to be on the disk."""
    made = layout.create(tmp_path / "memory", ignore=False)
    with journal.locked(made):
        journal.commit(made, [Change(TOPIC, None, b"first")])
        journal.commit(
            made, [Change(TOPIC, digest(b"first"), b"second"), Change(NEW, None, b"created")]
        )
    return made


@pytest.fixture
def reboot(place: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine starts anew after the updates."""
    for module in (journal, generation):
        monkeypatch.setattr(module, "boot_id", lambda: "another-boot")


def lose(place: Layout, path: str, content: bytes | None) -> None:
    """The file, or its absence, is what the disk held before the update, with an older time."""
    file = place.root / path
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
        os.utime(file, ns=(1, 1))
    for directory in file.parents[: path.count("/")]:
        os.utime(directory, ns=(1, 1))


def later(place: Layout, *paths: str) -> None:
    """What a person did at these places was done a while after the update."""
    now = time.time_ns() + 10**9
    for path in paths:
        os.utime(place.root / path, ns=(now, now))


def start(place: Layout) -> journal.Recovery:
    with journal.locked(place):
        return journal.recover(place)


@pytest.mark.parametrize(
    "lost",
    [b"first", None, b"", b"sec", b"sec\0\0\0"],
    ids=["old content", "no file", "empty", "cut", "holes"],
)
@pytest.mark.usefixtures("reboot")
def test_what_the_disk_lost_is_put_back(place: Layout, lost: bytes | None) -> None:
    lose(place, TOPIC, lost)
    lose(place, NEW, None)
    assert journal.interrupted(place)
    assert start(place) == journal.Recovery(replayed=True)
    assert not journal.interrupted(place)
    assert layout.read_bytes(place, TOPIC) == b"second"
    assert layout.read_bytes(place, NEW) == b"created"
    assert start(place) == journal.Recovery()


@pytest.mark.parametrize("text", [b"by hand", b"first", b"", b"sec"])
@pytest.mark.usefixtures("reboot")
def test_an_edit_made_after_the_update_stays(place: Layout, text: bytes) -> None:
    (place.root / TOPIC).write_bytes(text)
    later(place, TOPIC)
    assert start(place) == journal.Recovery()
    assert layout.read_bytes(place, TOPIC) == text


@pytest.mark.usefixtures("reboot")
def test_an_edit_with_an_old_time_stays(place: Layout) -> None:
    lose(place, TOPIC, b"copied here with its own time")
    assert start(place) == journal.Recovery()
    assert layout.read_bytes(place, TOPIC) == b"copied here with its own time"


@pytest.mark.usefixtures("reboot")
def test_a_file_deleted_by_hand_after_the_update_stays_deleted(place: Layout) -> None:
    (place.root / TOPIC).unlink()
    (place.root / NEW).unlink()
    (place.root / NEW).parent.rmdir()
    later(place, "topics")
    assert start(place) == journal.Recovery()
    assert layout.read_bytes(place, TOPIC) is None
    assert layout.read_bytes(place, NEW) is None


def test_without_a_reboot_no_file_is_looked_at(place: Layout) -> None:
    lose(place, TOPIC, b"first")
    assert not journal.interrupted(place)
    assert start(place) == journal.Recovery()
    assert layout.read_bytes(place, TOPIC) == b"first"


def test_where_runs_of_the_machine_cannot_be_told_apart_each_start_looks(
    place: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "boot_id", lambda: "")
    lose(place, TOPIC, b"first")
    assert start(place).replayed
    assert layout.read_bytes(place, TOPIC) == b"second"


@pytest.mark.usefixtures("reboot")
def test_a_pending_update_is_installed_over_a_torn_file_without_a_conflict(place: Layout) -> None:
    with journal.locked(place):
        newest = max(place.installed.iterdir())
    newest.rename(place.journal)
    lose(place, TOPIC, b"sec\0\0\0")
    assert start(place) == journal.Recovery(replayed=True)
    assert layout.read_bytes(place, TOPIC) == b"second"


@pytest.mark.usefixtures("reboot")
def test_an_older_lost_update_is_repaired_before_a_pending_one_is_finished(place: Layout) -> None:
    newest = max(place.installed.iterdir())
    newest.rename(place.journal)
    lose(place, TOPIC, None)
    lose(place, NEW, None)
    assert start(place) == journal.Recovery(replayed=True)
    assert layout.read_bytes(place, TOPIC) == b"second"


@pytest.mark.usefixtures("reboot")
def test_an_installed_journal_that_is_damaged_costs_nothing(place: Layout) -> None:
    for file in place.installed.iterdir():
        file.write_bytes(b"garbage")
    assert start(place) == journal.Recovery()
    assert journal.generation(place)[0] == 2
