"""Snapshots: what they know, that they follow the files, and that they are of one moment."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

import pytest
from tests.workspace import updates

from scriptorium.errors import InternalError, InvalidArgument, PathOutsideWorkspace
from scriptorium.format.model import RelPath, Revision
from scriptorium.workspace import disk, journal
from scriptorium.workspace.catalog import Catalog, FileRow
from scriptorium.workspace.digests import digest
from scriptorium.workspace.journal import Change
from scriptorium.workspace.snapshot import Snapshot, SnapshotMoved
from scriptorium.workspace.transaction import rebuild_views
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace, WorkspaceUnreadable

HOME = RelPath("topics/home.md")
OFFICE = RelPath("topics/work/office.md")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two topics, one of which links to the other, and a source."""
    workspace = Workspace.open(tmp_path / "memory")
    updates.send(
        workspace,
        workspace.snapshot(),
        {
            HOME: "# Home\n" + updates.fact("home", "The user lives in Pudong."),
            OFFICE: "# Work\n\n## Office\n"
            + updates.fact("office", "Far from [home](../home.md#^new-block-home)."),
        },
        "I live in Pudong, far from the office.",
    )
    return workspace


def block(snapshot: Snapshot, path: RelPath) -> str:
    topic = snapshot.topic(path)
    assert topic is not None
    (found,) = topic.blocks
    assert found.id is not None
    return found.id


def test_a_new_workspace_is_complete_empty_and_hidden_from_git(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "memory")
    counts = workspace.snapshot().counts()
    assert (counts.topic_files, counts.blocks, counts.sources) == (0, 0, 0)
    assert (workspace.root / ".gitignore").read_text() == "*\n"
    assert workspace.snapshot().problems == ()


def test_a_missing_workspace_that_is_not_to_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Workspace.open(tmp_path / "memory", create=False)
    assert not (tmp_path / "memory").exists()


def test_a_snapshot_counts_lists_and_finds(workspace: Workspace) -> None:
    snapshot = workspace.snapshot()
    counts = snapshot.counts()
    assert (counts.topic_files, counts.blocks) == (2, 2)
    assert (counts.source_files, counts.sources, counts.relations) == (1, 1, 1)
    assert counts.timeline_files == 3
    assert counts.core_tokens > 0
    listed = {info.path: info for info in snapshot.files()}
    assert listed[OFFICE].headings == ("Work", "Office")
    assert listed[OFFICE].bytes == (workspace.root / OFFICE).stat().st_size
    assert {info.kind for info in listed.values()} == {
        "core",
        "topic",
        "source",
        "timeline",
        "recent_events",
        "relations",
    }
    assert {info.kind for info in snapshot.files(derived=False)} == {"core", "topic", "source"}
    home = block(snapshot, HOME)
    assert snapshot.locate_block(home) == HOME
    assert snapshot.backlinks(home) == [(OFFICE, 5)]


def test_a_source_is_found_by_its_id_and_by_its_anchor(workspace: Workspace) -> None:
    snapshot = workspace.snapshot()
    (info,) = [info for info in snapshot.files() if info.kind == "source"]
    (record,) = snapshot.sources_of(info.path)
    assert record.content == "I live in Pudong, far from the office."
    assert snapshot.source(record.id) == record
    assert snapshot.source_path(record.id) == info.path
    anchor = snapshot.read(info.path).split("## ")[1].split("\n")[0]
    assert snapshot.anchor_source(info.path, anchor) == record.id
    assert snapshot.anchor_source(info.path, "source-0000000000000000") is None
    assert snapshot.source("claude-code/none/none") is None


def test_what_is_not_there_is_told_as_such(workspace: Workspace) -> None:
    snapshot = workspace.snapshot()
    absent = RelPath("topics/absent.md")
    assert snapshot.topic(absent) is None
    assert snapshot.sources_of(absent) == []
    assert snapshot.locate_block("absent") is None
    assert not snapshot.exists(absent)
    with pytest.raises(InvalidArgument):
        snapshot.read(absent)


def test_nothing_is_read_through_a_symlink(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (workspace.root / "topics" / "out.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(PathOutsideWorkspace):
        workspace.snapshot().read(RelPath("topics/out.md"))


def test_the_revision_is_of_the_content_and_not_of_its_history(tmp_path: Path) -> None:
    texts = {"topics/a.md": "a\n", "topics/b/c.md": "c\n", "sources/x/y.md": "y\n"}
    revisions = set()
    for number, order in enumerate((list(texts), list(reversed(texts)))):
        workspace = Workspace.open(tmp_path / str(number))
        for path in order:
            (workspace.root / path).parent.mkdir(exist_ok=True)
            (workspace.root / path).write_text(texts[path])
            workspace.snapshot()
        revisions.add(workspace.snapshot().revision)
        (workspace.root / "timeline").mkdir()
        (workspace.root / "timeline" / "2026.md").write_text("no authored state")
        revisions.add(workspace.snapshot().revision)
    assert len(revisions) == 1
    (revision,) = revisions
    assert len(revision) == 32
    (workspace.root / "topics/a.md").rename(workspace.root / "topics/z.md")
    assert workspace.snapshot().revision != revision


def test_changes_are_told_since_a_number_and_since_a_revision(workspace: Workspace) -> None:
    first = workspace.snapshot()
    assert set(first.changes_since(0).changed) >= {HOME, OFFICE, "core.md"}
    (workspace.root / HOME).write_text("# Home\n")
    (workspace.root / OFFICE).unlink()
    second = workspace.snapshot()
    delta = second.changes_since(first.sequence)
    assert (delta.changed, delta.removed) == ((HOME,), (OFFICE,))
    assert second.changes_since(delta.sequence).changed == ()
    assert second.changed_since(first.revision) == [HOME, OFFICE]
    assert second.changed_since(second.revision) == []
    assert second.changed_since(Revision("0" * 32)) is None
    assert first.changes_since(0).removed == ()


def test_an_old_snapshot_keeps_what_it_knew(workspace: Workspace) -> None:
    old = workspace.snapshot()
    home = block(old, HOME)
    (workspace.root / HOME).unlink()
    new = workspace.snapshot()
    assert (old.locate_block(home), new.locate_block(home)) == (HOME, None)
    assert old.revision != new.revision


def test_reading_starts_over_when_a_file_changes_under_it(workspace: Workspace) -> None:
    seen: list[str] = []

    def work(snapshot: Snapshot) -> tuple[str, str]:
        if not seen:
            (workspace.root / OFFICE).write_text("# Second\n")
        seen.append(snapshot.revision)
        return snapshot.revision, snapshot.read(OFFICE)

    revision, text = workspace.reading(work)
    assert text == "# Second\n"
    assert revision == workspace.snapshot().revision
    assert len(seen) == 2


def test_reading_ends_although_a_file_never_stands_still(workspace: Workspace) -> None:
    calls: list[int] = []

    def work(snapshot: Snapshot) -> str:
        calls.append(1)
        (workspace.root / OFFICE).write_text(f"# {len(calls)}\n")
        return snapshot.read(OFFICE)

    assert workspace.reading(work) == f"# {len(calls)}\n"


def test_a_strict_read_refuses_content_of_another_moment(workspace: Workspace) -> None:
    def work(snapshot: Snapshot) -> str:
        (workspace.root / HOME).write_text("# Moved on\n")
        with pytest.raises(SnapshotMoved):
            snapshot.read(HOME)
        (workspace.root / HOME).unlink()
        with pytest.raises(SnapshotMoved):
            snapshot.read(HOME)
        return "done"

    assert workspace.reading(work) == "done"


def _stop_installing(*_: object, **__: object) -> None:
    raise OSError(28, "no space")


def test_a_reader_finishes_what_a_dead_writer_left(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"# Home\n"
    before = digest((workspace.root / HOME).read_bytes())
    with monkeypatch.context() as patched:
        patched.setattr("scriptorium.workspace.journal._install", _stop_installing)
        with journal.locked(workspace.layout), pytest.raises(InternalError):
            journal.commit(workspace.layout, [Change(HOME, before, content)])
    assert journal.pending(workspace.layout)
    assert workspace.snapshot().read(HOME) == "# Home\n"
    assert not journal.pending(workspace.layout)


def test_where_nothing_can_be_finished_the_journal_is_read_instead(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = workspace.snapshot()
    before = digest((workspace.root / HOME).read_bytes())
    gone = digest((workspace.root / OFFICE).read_bytes())
    changes = [Change(HOME, before, b"# Home\n"), Change(OFFICE, gone, None)]
    with monkeypatch.context() as patched:
        patched.setattr("scriptorium.workspace.journal._install", _stop_installing)
        with journal.locked(workspace.layout), pytest.raises(InternalError):
            journal.commit(workspace.layout, changes)
        snapshot = workspace.snapshot()
        assert snapshot.read(HOME) == "# Home\n"
        assert not snapshot.exists(OFFICE)
        assert snapshot.locate_block(block(old, OFFICE)) is None
        assert "unfinished-update" in {problem.rule for problem in snapshot.problems}
    finished = workspace.snapshot()
    assert finished.revision == snapshot.revision
    assert finished.problems == ()


@pytest.mark.parametrize("kind", ["folder", "newer version", "forbidden"])
def test_a_pending_journal_that_cannot_be_read_is_told_and_not_waited_for(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    journal_file = workspace.layout.journal
    if kind == "folder":
        journal_file.mkdir()
    else:
        journal_file.write_bytes(b"scriptorium-journal 9 abc\nwhatever")
    if kind == "forbidden":
        monkeypatch.setattr(disk, "current", Forbidding(journal_file))
    with pytest.raises(WorkspaceUnreadable) as told:
        workspace.snapshot()
    with pytest.raises(WorkspaceUnreadable):
        workspace.reading(lambda snapshot: snapshot.revision)
    expected = "newer version" if kind == "newer version" else ".scriptorium/journal"
    assert expected in told.value.message
    assert told.value.strerror in told.value.message


class Forbidding(disk.Disk):
    """The file may not be read, whoever asks."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self, path: Path) -> bytes | None:
        if path == self._file:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return super().read(path)


def test_a_torn_journal_that_cannot_be_removed_is_no_update_and_not_waited_for(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = workspace.snapshot().revision
    workspace.layout.journal.write_bytes(b"scriptorium-journal 1 abc\n{")
    tries = []

    def refused(_: object) -> None:
        tries.append(1)
        raise InternalError("the disk is read-only")

    monkeypatch.setattr(journal, "recover", refused)
    assert workspace.snapshot().revision == revision
    assert len(tries) == 1


def _full_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the catalog nor the one that is made in its place can be written to."""
    failures = iter((1, 2))
    real = Catalog.put_files

    def full(catalog: Catalog, rows: Iterable[FileRow]) -> None:
        if next(failures, None):
            raise sqlite3.OperationalError("database or disk is full")
        real(catalog, rows)

    monkeypatch.setattr(Catalog, "put_files", full)


def test_on_a_full_disk_validate_finds_what_a_committed_update_cites_in_its_journal(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("scriptorium.workspace.journal._install", _stop_installing)
        with pytest.raises(InternalError) as refused:
            updates.send(
                workspace,
                workspace.snapshot(),
                {"topics/job.md": "# Job\n" + updates.fact("job", "The user bakes.")},
                "I bake.",
            )
        assert refused.value.details["memory_committed"] is True
        _full_twice(patched)
        rules = {problem.rule for problem in validate(workspace)}
        assert workspace.snapshot().counts().sources == 2
    assert rules == {"unfinished-update", "stale-view"}
    rebuild_views(workspace)
    assert validate(workspace) == []


def test_what_a_power_cut_took_of_an_update_is_back_when_the_workspace_is_opened(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = workspace.root / HOME
    text, moment = home.read_bytes(), home.stat().st_mtime_ns
    home.write_bytes(b"")
    os.utime(home, ns=(moment, moment))
    monkeypatch.setattr("scriptorium.workspace.journal.boot_id", lambda: "another-run")
    monkeypatch.setattr("scriptorium.workspace.generation.boot_id", lambda: "another-run")

    with monkeypatch.context() as read_only:
        read_only.setattr(journal, "locked", _refuse_the_lock)
        assert Workspace.open(workspace.root).snapshot().read(HOME) == ""
    assert Workspace.open(workspace.root).snapshot().read_bytes(HOME) == text


def _refuse_the_lock(*_: object, **__: object) -> NoReturn:
    raise InternalError("the file system is read-only")


def test_a_reading_within_a_reading_is_of_the_same_moment(workspace: Workspace) -> None:
    def outer(snapshot: Snapshot) -> tuple[Snapshot, Snapshot]:
        (workspace.root / HOME).write_text("# Changed\n")
        return snapshot, workspace.reading(lambda inner: inner)

    one, other = workspace.reading(outer)
    assert one is other
    assert workspace.reading(lambda snapshot: snapshot.read(HOME)) == "# Changed\n"


def test_a_reading_within_a_reading_that_meets_a_change_starts_the_outer_one_over(
    workspace: Workspace,
) -> None:
    revisions: list[Revision] = []

    def outer(snapshot: Snapshot) -> str:
        revisions.append(snapshot.revision)
        if len(revisions) == 1:
            (workspace.root / HOME).write_text("# Changed\n")
        return workspace.reading(lambda inner: inner.read(HOME))

    assert workspace.reading(outer) == "# Changed\n"
    assert len(revisions) == 2


def test_a_snapshot_waits_until_an_installation_is_whole(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files change in one update; the reader comes when one of them is in place."""
    half, read = threading.Event(), threading.Event()
    real: Callable[[Path, Path], None] = disk.current.rename

    def slow(source: Path, target: Path) -> None:
        real(source, target)
        if target.name == "home.md":
            half.set()
            read.wait(0.05)

    monkeypatch.setattr(disk.current, "rename", slow)
    digests = [digest((workspace.root / path).read_bytes()) for path in (HOME, OFFICE)]
    changes = [Change(HOME, digests[0], b"# New\n"), Change(OFFICE, digests[1], b"# New\n")]

    def write() -> None:
        with journal.locked(workspace.layout):
            journal.commit(workspace.layout, changes)

    writer = threading.Thread(target=write)
    writer.start()
    assert half.wait(120)
    snapshot = workspace.snapshot()
    read.set()
    writer.join()
    assert [snapshot.read(HOME), snapshot.read(OFFICE)] == ["# New\n", "# New\n"]


def test_a_workspace_that_is_gone_is_no_empty_one(workspace: Workspace) -> None:
    elsewhere = workspace.root.rename(workspace.root.with_name("elsewhere"))
    with pytest.raises(WorkspaceUnreadable):
        workspace.snapshot()
    with pytest.raises(WorkspaceUnreadable), workspace.writing():
        pass
    assert not workspace.root.exists()
    elsewhere.rename(workspace.root)
    assert workspace.snapshot().exists(RelPath("core.md"))


def test_many_threads_may_read_while_one_writes(workspace: Workspace) -> None:
    errors: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(20):
                workspace.reading(lambda snapshot: [snapshot.read(p) for p in snapshot.authored()])
        except BaseException as error:  # noqa: BLE001 - reported by the test
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(5):
        snapshot = workspace.snapshot()
        text = snapshot.read(HOME) + updates.fact(f"f{number}", f"Fact {number}.")
        updates.send(workspace, snapshot, {HOME: text}, f"fact {number}")
    for thread in threads:
        thread.join()
    assert errors == []
    assert workspace.snapshot().counts().blocks == 7
