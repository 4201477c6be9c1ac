"""Where a workspace's files lie, and how an empty one is made."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scriptorium.errors import PathOutsideWorkspace
from scriptorium.workspace import disk, layout
from scriptorium.workspace.layout import Layout


def test_a_new_workspace_has_its_directories_and_is_private(tmp_path: Path) -> None:
    made = layout.create(tmp_path / "deep" / "memory", ignore=True)

    assert {path.name for path in made.root.iterdir()} == {
        ".gitignore",
        ".scriptorium",
        "core.md",
        "sources",
        "topics",
    }
    assert stat.S_IMODE(made.root.stat().st_mode) == 0o700
    assert (made.root / ".gitignore").read_bytes() == b"*\n"


def test_without_ignore_no_gitignore_is_made(tmp_path: Path) -> None:
    made = layout.create(tmp_path / "memory", ignore=False)
    assert not (made.root / ".gitignore").exists()


def test_what_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    made = layout.create(tmp_path, ignore=False)
    (tmp_path / "core.md").write_text("mine\n", encoding="utf-8")
    (tmp_path / "topics").rmdir()

    layout.create(tmp_path, ignore=True)

    assert (tmp_path / "core.md").read_text(encoding="utf-8") == "mine\n"
    assert (tmp_path / "topics").is_dir()
    assert not (tmp_path / ".gitignore").exists()
    assert made == Layout.of(tmp_path)


def test_files_get_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        layout.create(tmp_path / "memory", ignore=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "memory" / "core.md").stat().st_mode) == 0o640


def test_the_former_runtime_directory_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / ".nativemem").mkdir()
    made = layout.create(tmp_path, ignore=False)
    assert made.runtime == ".nativemem"
    assert made.journal == tmp_path / ".nativemem" / "journal"
    assert not (tmp_path / ".scriptorium").exists()


@pytest.mark.parametrize(
    "rel", ["", "/etc/passwd", "../x", "topics/../../x", "a//b", "./a", "a\0b"]
)
def test_a_path_that_could_leave_the_workspace_is_refused(tmp_path: Path, rel: str) -> None:
    with pytest.raises(PathOutsideWorkspace):
        Layout.of(tmp_path).path(rel)


def test_a_symlink_anywhere_on_the_way_is_refused(tmp_path: Path) -> None:
    made = layout.create(tmp_path / "memory", ignore=False)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("secret", encoding="utf-8")
    (made.root / "topics" / "out").symlink_to(tmp_path / "outside")
    (made.root / "topics" / "a.md").symlink_to(tmp_path / "outside" / "a.md")
    (made.root / "topics" / "dangling.md").symlink_to(tmp_path / "nowhere")

    for rel in ("topics/out/a.md", "topics/out/new.md", "topics/a.md", "topics/dangling.md"):
        with pytest.raises(PathOutsideWorkspace) as refused:
            layout.read_bytes(made, rel)
        assert refused.value.path == rel


def test_a_workspace_reached_through_a_symlink_is_the_same_workspace(tmp_path: Path) -> None:
    made = layout.create(tmp_path / "memory", ignore=False)
    (tmp_path / "link").symlink_to(made.root)
    assert Layout.of(tmp_path / "link") == made


def test_only_a_missing_file_reads_as_none(tmp_path: Path) -> None:
    made = layout.create(tmp_path, ignore=False)
    os.mkfifo(tmp_path / "topics" / "pipe.md")

    assert layout.read_bytes(made, "topics/none.md") is None
    assert layout.read_bytes(made, "core.md/below.md") is None
    for rel in ("topics", "topics/pipe.md"):
        with pytest.raises(IsADirectoryError):
            layout.read_bytes(made, rel)


def test_reading_what_is_no_file_leaves_nothing_open(tmp_path: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(IsADirectoryError):
            disk.current.read(tmp_path)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_directory_is_a_workspace_once_it_holds_memory(tmp_path: Path) -> None:
    assert not layout.is_workspace(tmp_path)
    (tmp_path / "topics").mkdir()
    assert layout.is_workspace(tmp_path)
