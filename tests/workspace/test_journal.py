"""What a commit does to files, and what it refuses."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from tests.workspace import crash

from scriptorium.errors import ConcurrentUpdate, InternalError, PathOutsideWorkspace
from scriptorium.workspace import disk, install, installed, journal, layout, record
from scriptorium.workspace.boot import boot_id
from scriptorium.workspace.digests import digest
from scriptorium.workspace.journal import Change
from scriptorium.workspace.layout import Layout


@pytest.fixture
def place(tmp_path: Path) -> Layout:
    return layout.create(tmp_path / "memory", ignore=False)


def write(place: Layout, texts: dict[str, str | None]) -> tuple[str, ...]:
    """The texts are committed on top of what is there."""
    with journal.locked(place):
        journal.recover(place)
        return journal.commit(place, [change(place, path, text) for path, text in texts.items()])


def change(place: Layout, path: str, text: str | None) -> Change:
    there = layout.read_bytes(place, path)
    return Change(
        path,
        None if there is None else digest(there),
        None if text is None else text.encode(),
    )


def text_of(place: Layout, path: str) -> str:
    return (place.root / path).read_text(encoding="utf-8")


def test_a_commit_costs_two_syncs(place: Layout) -> None:
    write(place, {"topics/a.md": "one"})
    saboteur = crash.Saboteur()
    with crash.sabotaged(saboteur):
        write(place, {f"topics/{number}.md": "x" for number in range(6)})
    syncs = [step for step in saboteur.steps if "sync" in step]
    assert syncs == ["fsync", "sync_dir"]


def test_installed_files_are_synced_together_and_their_journals_dropped(place: Layout) -> None:
    saboteur = crash.Saboteur()
    with crash.sabotaged(saboteur):
        for number in range(installed.MOST):
            write(place, {"topics/a.md": str(number)})
    assert saboteur.steps.count("sync_file") == 1
    assert [one.boot for one in installed.entries(place)] == [""]


def test_the_generation_moves_with_every_commit_and_survives_the_dropping(place: Layout) -> None:
    seen = [journal.generation(place)]
    for number in range(2 * installed.MOST):
        write(place, {"topics/a.md": str(number)})
        seen.append(journal.generation(place))
    assert len(set(seen)) == len(seen)


def test_a_commit_without_a_change_does_nothing(place: Layout) -> None:
    before = journal.generation(place)
    write(place, {"core.md": text_of(place, "core.md"), "topics/none.md": None})
    assert journal.generation(place) == before


def test_an_existing_file_keeps_its_mode_and_a_new_one_gets_the_umask(place: Layout) -> None:
    (place.root / "core.md").chmod(0o604)
    old = os.umask(0o077)
    try:
        write(place, {"core.md": "new", "topics/new.md": "new"})
    finally:
        os.umask(old)
    assert stat.S_IMODE((place.root / "core.md").stat().st_mode) == 0o604
    assert stat.S_IMODE((place.root / "topics" / "new.md").stat().st_mode) == 0o600


def test_directories_come_and_go_with_their_files_but_top_level_ones_stay(place: Layout) -> None:
    write(place, {"topics/a/b/c.md": "x"})
    assert text_of(place, "topics/a/b/c.md") == "x"
    write(place, {"topics/a/b/c.md": None})
    assert list((place.root / "topics").iterdir()) == []


def test_a_file_may_change_the_case_of_its_name(place: Layout) -> None:
    write(place, {"topics/Name.md": "x"})
    write(place, {"topics/Name.md": None, "topics/name.md": "x"})
    assert [path.name for path in (place.root / "topics").iterdir()] == ["name.md"]


def test_a_file_that_changed_since_it_was_read_is_refused(place: Layout) -> None:
    stale = [change(place, "topics/a.md", "new"), change(place, "core.md", "new")]
    (place.root / "core.md").write_text("by hand", encoding="utf-8")
    with journal.locked(place), pytest.raises(ConcurrentUpdate) as refused:
        journal.commit(place, stale)
    assert refused.value.path == "core.md"
    assert refused.value.details["changed_files"] == ["core.md"]
    assert text_of(place, "core.md") == "by hand"
    assert not (place.root / "topics" / "a.md").exists()


def test_a_generated_file_is_replaced_whatever_it_is(place: Layout) -> None:
    (place.root / "relations.json").write_text("by hand", encoding="utf-8")
    with journal.locked(place):
        conflicts = journal.commit(place, [Change("relations.json", None, b"{}")])
    assert text_of(place, "relations.json") == "{}"
    assert conflicts == ()


def test_an_edit_in_the_moment_of_the_installation_is_kept_beside(
    place: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(disk.Disk):
        def sync_dir(self, path: Path) -> None:
            (place.root / "core.md").write_text("by hand", encoding="utf-8")
            super().sync_dir(path)

    monkeypatch.setattr(disk, "current", Interrupted())
    (kept,) = write(place, {"core.md": "ours"})
    assert kept.startswith("core.md.conflict-")
    assert (text_of(place, "core.md"), text_of(place, kept)) == ("ours", "by hand")


def test_a_symlink_on_the_way_refuses_the_commit(place: Layout, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (place.root / "topics" / "out").symlink_to(tmp_path / "outside")
    with journal.locked(place), pytest.raises(PathOutsideWorkspace):
        journal.commit(place, [Change("topics/out/a.md", None, b"x")])
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("name", ["journal", "write.lock", "installed/1", "staging/x"])
def test_the_journals_own_files_cannot_be_part_of_an_update(place: Layout, name: str) -> None:
    with journal.locked(place), pytest.raises(InternalError):
        journal.commit(place, [Change(place.runtime_path(name), None, b"x")])


def test_an_error_after_the_commit_point_says_that_the_update_is_committed(place: Layout) -> None:
    steps = crash.steps_of(lambda _: None, place.root)
    assert steps == []
    full = _full_from_the_first_rename()
    with crash.sabotaged(full), pytest.raises(InternalError) as told:
        write(place, {"core.md": "ours"})
    assert told.value.details["memory_committed"] is True
    assert str(place.root) not in told.value.message
    assert journal.pending_contents(place) == {"core.md": b"ours"}

    with journal.locked(place):
        assert journal.recover(place).replayed
    assert text_of(place, "core.md") == "ours"


def _full_from_the_first_rename() -> crash.Saboteur:
    saboteur = crash.Saboteur(0, crash.failing(28), lasting=True)
    counted = saboteur._is_harmed
    saboteur._is_harmed = (  # type: ignore[method-assign]
        lambda number, name: "rename" in saboteur.steps[:-1] and counted(number, name)
    )
    return saboteur


def test_a_pending_update_must_be_recovered_before_the_next(place: Layout) -> None:
    place.journal.write_bytes(record.encode(record.Record("boot", ())))
    with journal.locked(place), pytest.raises(InternalError):
        journal.commit(place, [Change("topics/a.md", None, b"x")])


@pytest.mark.parametrize("cut", [0, 10, 90, -1])
def test_a_torn_journal_is_discarded(place: Layout, cut: int) -> None:
    whole = record.encode(
        record.Record("boot", (record.JournalEntry("core.md", None, digest(b"x"), b"x"),))
    )
    place.journal.write_bytes(whole[:cut])
    core = text_of(place, "core.md")
    with journal.locked(place):
        assert journal.recover(place) == journal.Recovery()
    assert not journal.pending(place)
    assert text_of(place, "core.md") == core


def test_a_journal_of_a_newer_version_is_kept_and_named(place: Layout) -> None:
    place.journal.write_bytes(b"scriptorium-journal 9 abc\nwhatever")
    with journal.locked(place), pytest.raises(InternalError):
        journal.recover(place)
    assert journal.pending(place)


def test_litter_of_a_killed_writer_is_removed(place: Layout) -> None:
    write(place, {"topics/a.md": "x"})
    entry = record.JournalEntry("topics/a.md", digest(b"x"), digest(b"y"), b"y")
    place.journal.write_bytes(record.encode(record.Record(boot_id(), (entry,))))
    for directory in (place.staging, place.root / "topics"):
        (directory / f"{journal.TEMP_PREFIX}1-abc").write_bytes(b"half")
    with journal.locked(place):
        journal.recover(place)
    assert crash.litter(place.root) == []
    assert text_of(place, "topics/a.md") == "y"


def test_a_folder_or_a_link_where_a_committed_file_belongs_is_moved_aside(
    place: Layout, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    entries = tuple(
        record.JournalEntry(path, None, digest(b"x"), b"x")
        for path in ("topics/a/b.md", "topics/c.md")
    )
    place.journal.write_bytes(record.encode(record.Record(boot_id(), entries)))
    (place.root / "topics" / "a").symlink_to(tmp_path / "outside")
    (place.root / "topics" / "c.md").mkdir()
    with journal.locked(place):
        conflicts = journal.recover(place).conflicts
    assert text_of(place, "topics/a/b.md") == text_of(place, "topics/c.md") == "x"
    assert list((tmp_path / "outside").iterdir()) == []
    assert [path.split(".conflict-")[0] for path in conflicts] == ["topics/a", "topics/c.md"]


def test_a_committed_deletion_leaves_a_folder_or_a_link_that_came_in_its_place(
    place: Layout, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.md").write_text("old", encoding="utf-8")
    (place.root / "topics" / "a").symlink_to(tmp_path / "outside")
    (place.root / "topics" / "c.md").mkdir()
    entries = tuple(
        record.JournalEntry(path, digest(b"old"), None, None)
        for path in ("topics/a/b.md", "topics/c.md", "topics/d/gone.md")
    )
    place.journal.write_bytes(record.encode(record.Record(boot_id(), entries)))
    with journal.locked(place):
        assert journal.recover(place) == journal.Recovery(replayed=True)
    assert (tmp_path / "outside" / "b.md").exists()
    assert {path.name for path in (place.root / "topics").iterdir()} == {"a", "c.md"}


def test_a_file_edited_after_the_crash_that_was_to_be_deleted_is_kept_aside(place: Layout) -> None:
    write(place, {"topics/a.md": "old"})
    entry = record.JournalEntry("topics/a.md", digest(b"old"), None, None)
    place.journal.write_bytes(record.encode(record.Record(boot_id(), (entry,))))
    (place.root / "topics" / "a.md").write_text("by hand", encoding="utf-8")
    with journal.locked(place):
        (kept,) = journal.recover(place).conflicts
    assert text_of(place, kept) == "by hand"
    assert not (place.root / "topics" / "a.md").exists()


def test_the_runtime_directory_may_vanish_between_updates(place: Layout) -> None:
    write(place, {"topics/a.md": "old"})
    shutil.rmtree(place.runtime_dir)
    write(place, {"topics/a.md": "new"})
    assert text_of(place, "topics/a.md") == "new"


def test_runtime_files_are_written_whole_and_appended_by_lines(place: Layout) -> None:
    journal.write_runtime(place, "cache/deep/x.bin", b"abc")
    journal.write_runtime(place, "cache/deep/x.bin", b"de")
    assert (place.cache / "deep" / "x.bin").read_bytes() == b"de"

    place.ingest_jsonl.write_bytes(b'{"torn')
    journal.append_runtime(place, "ingest.jsonl", b'{"a": 1}\n')
    journal.append_runtime(place, "ingest.jsonl", b'{"b": 2}')
    assert place.ingest_jsonl.read_bytes() == b'{"torn\n{"a": 1}\n{"b": 2}\n'
    assert list(place.staging.iterdir()) == []


def test_a_runtime_file_is_written_though_a_recovery_takes_its_temporary(
    place: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Swept(disk.Disk):
        """Before the first rename another process recovers the workspace."""

        swept = False

        def rename(self, source: Path, target: Path) -> None:
            if not self.swept:
                self.swept = True
                install.remove_litter([place.staging])
            super().rename(source, target)

    monkeypatch.setattr(disk, "current", Swept())
    journal.write_runtime(place, "ingest/pending.jsonl", b"{}\n", sync=True)
    assert (place.runtime_dir / "ingest" / "pending.jsonl").read_bytes() == b"{}\n"
    assert list(place.staging.iterdir()) == []


def test_a_record_is_read_back_as_it_was_written() -> None:
    entries = (
        record.JournalEntry("topics/名.md", None, digest(b"a\nb"), b"a\nb"),
        record.JournalEntry("core.md", digest(b""), None, None),
        record.JournalEntry("x", None, digest(b""), b""),
    )
    written = record.Record("boot", entries, {"message": "ünï"})
    assert record.decode(record.encode(written)) == written


def test_a_file_with_holes_of_ours_is_torn_and_another_text_is_not(tmp_path: Path) -> None:
    torn = tmp_path / "x"
    for content, answer in ((b"", True), (b"ab\0\0e", True), (b"abc", True), (b"abX", False)):
        torn.write_bytes(content)
        assert install.is_torn(torn, b"abcdef") is answer
