"""The catalog is derived: whatever becomes of it, everything still works and says the same."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workspace import updates

from scriptorium.format.model import RelPath
from scriptorium.workspace import catalog_file, facts, signatures
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.transaction import rebuild_views
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

HOME = RelPath("topics/home.md")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace that was updated and is closed."""
    root = tmp_path / "memory"
    workspace = Workspace.open(root)
    remember(workspace, "one")
    workspace.close()
    return root


def remember(workspace: Workspace, name: str) -> None:
    snapshot = workspace.snapshot()
    text = updates.text_of(snapshot, HOME) or "# Home\n"
    updates.send(workspace, snapshot, {HOME: text + updates.fact(name, f"Fact {name}.")}, name)


def works(workspace: Workspace, blocks: int) -> None:
    """The workspace reads, updates and validates."""
    assert workspace.snapshot().counts().blocks == blocks
    remember(workspace, f"fact-{blocks}")
    assert workspace.snapshot().counts().blocks == blocks + 1
    assert validate(workspace) == []
    assert rebuild_views(workspace) == ()


def place(root: Path) -> Path:
    return Layout.of(root).cache / "catalog.sqlite"


def delete(file: Path) -> None:
    file.unlink()


def delete_the_directory(file: Path) -> None:
    shutil.rmtree(file.parent)


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path) -> None:
    os.truncate(file, 0)


def garble(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[100:] = bytes(len(data) - 100)
    file.write_bytes(data)


def no_database(file: Path) -> None:
    file.write_bytes(b"not a database, but long enough to be looked at as one" * 20)


def older(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 1")
        connection.execute("DROP TABLE views")
    connection.close()


def damage_a_row(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE files SET facts = x'00ff' WHERE path = ?", (HOME,))
    connection.close()


def lose_a_table(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE stale")
    connection.close()


def a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def a_symlink(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


HARMS: list[Callable[[Path], None]] = [
    delete,
    delete_the_directory,
    truncate,
    empty,
    garble,
    no_database,
    older,
    damage_a_row,
    lose_a_table,
    a_directory,
    a_symlink,
]


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_harmed_catalog_is_made_anew(root: Path, harm: Callable[[Path], None]) -> None:
    revision = Workspace.open(root).snapshot().revision
    harm(place(root))
    workspace = Workspace.open(root)
    assert workspace.snapshot().revision == revision
    works(workspace, 1)


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_catalog_may_be_harmed_under_a_running_process(
    root: Path, harm: Callable[[Path], None]
) -> None:
    workspace = Workspace.open(root)
    works(workspace, 1)
    harm(place(root))
    works(workspace, 2)
    works(Workspace.open(root), 3)


def test_a_lasting_lock_on_the_catalog_hinders_nobody(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_file, "_BUSY_SECONDS", 0.01)
    running = Workspace.open(root)
    holder = sqlite3.connect(place(root), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    works(running, 1)
    works(Workspace.open(root), 2)
    holder.execute("ROLLBACK")
    holder.close()
    works(Workspace.open(root), 3)


def test_a_cache_that_cannot_be_written_hinders_nobody(root: Path) -> None:
    cache = place(root).parent
    shutil.rmtree(cache)
    cache.write_text("a file where the directory should be")
    works(Workspace.open(root), 1)


def test_a_second_process_takes_over_what_the_first_found_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Workspace.open(root).snapshot()
    second = Workspace.open(root)

    def unwanted(*_: object) -> facts.Facts:
        raise AssertionError("a known file was read again")

    settle(root)
    Workspace.open(root).snapshot()
    monkeypatch.setattr("scriptorium.workspace.lookout.extract", unwanted)
    again = second.snapshot()
    assert (again.revision, again.epoch, again.sequence) == (
        first.revision,
        first.epoch,
        first.sequence,
    )


def test_processes_follow_each_other_through_updates_and_hand_edits(root: Path) -> None:
    one, other = Workspace.open(root), Workspace.open(root)
    remember(one, "a")
    remember(other, "b")
    (root / "topics" / "mine.md").write_text("# Mine\n")
    first = one.snapshot()
    second = other.snapshot()
    assert (first.sequence, first.revision) == (second.sequence, second.revision)
    assert first.counts() == second.counts()
    remember(one, "c")
    delta = other.snapshot().changes_since(first.sequence)
    assert HOME in delta.changed
    assert RelPath("topics/mine.md") not in delta.changed
    assert other.snapshot().changed_since(first.revision) is not None
    works(other, 4)


def test_a_new_catalog_is_another_epoch(root: Path) -> None:
    epoch = Workspace.open(root).snapshot().epoch
    assert Workspace.open(root).snapshot().epoch == epoch
    shutil.rmtree(place(root).parent)
    assert Workspace.open(root).snapshot().epoch != epoch


def settle(root: Path) -> None:
    """Every file is old enough to be known by its signature."""
    for path in root.rglob("*.md"):
        os.utime(path, ns=(1, 1_000_000_001))


def test_a_file_written_within_the_clock_grain_of_its_reading_is_read_again() -> None:
    now = 1_700_000_000_123_456_789
    fresh = (10, now - 1_000_000, now - 1_000_000, 7)
    old = (10, now - 3_000_000_000, now - 3_000_000_000, 7)
    assert signatures.settled(fresh, now) == signatures.UNSETTLED
    assert signatures.settled(old, now) == old
    coarse = 1_700_000_000_000_000_000
    assert (
        signatures.settled((10, coarse, coarse, 7), coarse + 1_500_000_000) == signatures.UNSETTLED
    )
    assert signatures.settled((10, coarse, old[2], 7), now + 100_000_000) != signatures.UNSETTLED


def test_an_edit_that_leaves_every_time_stamp_as_it_was_is_seen_when_it_came_at_once(
    root: Path,
) -> None:
    """Size and mtime equal, as an editor within one tick of the clock leaves them."""
    file = root / HOME
    workspace = Workspace.open(root)
    file.write_bytes(b"# Home A\n")
    before = workspace.snapshot()
    with file.open("r+b") as writer:
        writer.write(b"# Home B\n")
    stamp = file.stat().st_mtime_ns
    os.utime(file, ns=(stamp, stamp))
    assert workspace.snapshot().revision != before.revision
