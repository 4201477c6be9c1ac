"""Where everything of a workspace lies. Owns the names; reads, and makes an empty workspace.

A path that it hands out never leads through a symlink, so nothing is read or written outside the
root. Existing content is never changed here: `journal` alone does that.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scriptorium.errors import InvalidArgument, PathOutsideWorkspace
from scriptorium.workspace import disk

RUNTIME = ".scriptorium"
FORMER_RUNTIME = ".nativemem"
CORE = "core.md"
CATALOG = "catalog.sqlite"
_RUNTIME_JSON = b'{"format": 1}\n'
FIRST_CORE = b"# Core memory\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """A workspace's root (absolute, symlinks resolved) and its runtime directory's name."""

    root: Path
    runtime: str

    @staticmethod
    def of(root: Path) -> Layout:
        """The layout of the directory, whether or not it exists; a `.nativemem` there is kept.

        Raises InvalidArgument as `real`.
        """
        top = real(root.expanduser())
        former = not (top / RUNTIME).is_dir() and (top / FORMER_RUNTIME).is_dir()
        return Layout(top, FORMER_RUNTIME if former else RUNTIME)

    @property
    def runtime_dir(self) -> Path:
        return self.root / self.runtime

    @property
    def runtime_json(self) -> Path:
        return self.runtime_dir / "runtime.json"

    @property
    def lock(self) -> Path:
        return self.runtime_dir / "write.lock"

    @property
    def journal(self) -> Path:
        """The update that is committed and being installed; there only while that lasts."""
        return self.runtime_dir / "journal"

    @property
    def installed(self) -> Path:
        """The journals of updates that are installed but perhaps not yet on the medium."""
        return self.runtime_dir / "installed"

    @property
    def staging(self) -> Path:
        return self.runtime_dir / "staging"

    @property
    def cache(self) -> Path:
        return self.runtime_dir / "cache"

    @property
    def catalog(self) -> Path:
        return self.cache / CATALOG

    @property
    def ingest_log(self) -> Path:
        return self.runtime_dir / "ingest.log"

    @property
    def ingest_jsonl(self) -> Path:
        return self.runtime_dir / "ingest.jsonl"

    def runtime_path(self, name: str) -> str:
        """The workspace path of a file below the runtime directory, as `Change.path` takes it."""
        return f"{self.runtime}/{name}"

    def path(self, rel: str) -> Path:
        """The file's place on disk.

        Raises PathOutsideWorkspace where the path is absolute, has a `..` or a NUL, or where any
        existing part of it is a symlink.
        """
        parts = rel.split("/")
        if not rel or "\0" in rel or not {"", ".", ".."}.isdisjoint(parts):
            raise PathOutsideWorkspace(
                f"{rel!r} is not a path inside the workspace: give a relative path without `..`.",
                path=rel,
            )
        place = str(self.root)
        for part in parts:
            place = f"{place}/{part}"
            try:
                mode = os.lstat(place).st_mode
            except (FileNotFoundError, NotADirectoryError):
                break
            if stat.S_ISLNK(mode):
                raise PathOutsideWorkspace(
                    f"{rel}: `{part}` is a symbolic link, and links are never followed."
                    " Put the file itself there.",
                    path=rel,
                )
        return self.root / rel


def real(root: Path) -> Path:
    """The directory's own path, whether or not it exists, without a link on the way.

    Raises InvalidArgument for links that lead in a circle.
    """
    try:
        root.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidArgument(
                f"{root}: links on the way lead in a circle. Remove one, or name another folder."
            ) from None
    return root.resolve()


def is_workspace(root: Path) -> bool:
    """Whether the directory holds memory already: a runtime directory, `topics/` or `core.md`."""
    return any((root / name).exists() for name in (RUNTIME, FORMER_RUNTIME, "topics", CORE))


def create(root: Path, *, ignore: bool) -> Layout:
    """A workspace is there and its directories are on disk; what existed is left as it is.

    A root that has to be made gets mode 0700. With `ignore`, a new workspace gets a `.gitignore`
    of `*`, and gets it first, so that Git never sees it without. Safe when several processes do
    it at once. Raises OSError.
    """
    fresh = not is_workspace(root)
    made = _make_root(root)
    layout = Layout.of(root)
    if ignore and fresh:
        _write_new(layout.root / ".gitignore", b"*\n")
    for directory in (
        layout.runtime_dir,
        layout.staging,
        layout.installed,
        layout.cache,
        layout.root / "topics",
        layout.root / "sources",
    ):
        with suppress(FileExistsError):
            disk.current.mkdir(directory)
    _write_new(layout.root / CORE, FIRST_CORE)
    _write_new(layout.runtime_json, _RUNTIME_JSON)
    _write_new(layout.runtime_dir / ".gitignore", b"*\n")  # `git add --all` passes it by
    for directory in (layout.runtime_dir, layout.root, *made):
        disk.current.sync_dir(directory)
    return layout


def read_bytes(layout: Layout, rel: str) -> bytes | None:
    """The file's bytes; None only where there is no such file.

    Raises PathOutsideWorkspace, and OSError for a file that exists but cannot be read (also a
    directory, a socket or a pipe).
    """
    return disk.current.read(layout.path(rel))


def _make_root(root: Path) -> list[Path]:
    """The root and its parents exist; the directories whose entries are new, to be synced."""
    missing: list[Path] = []
    place = root.expanduser().absolute()
    while not place.exists():
        missing.append(place)
        place = place.parent
    for directory in reversed(missing):
        with suppress(FileExistsError):
            disk.current.mkdir(directory, 0o700 if directory == missing[0] else 0o777)
    return [directory.parent for directory in missing]


def _write_new(path: Path, content: bytes) -> None:
    """The file exists; where it was missing it has `content`.

    Made under its own name, not renamed into place: of two processes that do this at once, the
    slower must not put the empty file over what the faster one has updated since.
    """
    with suppress(FileExistsError):
        fd = disk.current.create(path)
        try:
            disk.current.write(fd, content)
            disk.current.fsync(fd)
        finally:
            os.close(fd)
