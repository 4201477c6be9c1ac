"""Puts the files of a committed update in place, one by one, each by a temporary and a rename.

Every step is idempotent, so that a killed installation is simply done again. A file that a person
changed meanwhile is kept beside as `<name>.conflict-<time>`; nothing that someone wrote is lost.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from scriptorium.errors import PathOutsideWorkspace
from scriptorium.workspace import disk
from scriptorium.workspace.digests import digest_of
from scriptorium.workspace.layout import CORE, Layout
from scriptorium.workspace.record import JournalEntry
from scriptorium.workspace.replacement import replace
from scriptorium.workspace.storage import TEMP_PREFIX, temp_beside

type Signature = tuple[int, int, int, int] | None
"""What tells without reading whether a file is still the same one; None where there is none."""

_KEPT_DIRECTORIES = 1
"""Directories this deep (`topics`, `sources`, `timeline`) stay when they are empty."""


def is_irreplaceable(path: str) -> bool:
    """Whether the file holds what people or sources said, and is not rebuilt from anything else."""
    return path == CORE or path.startswith(("topics/", "sources/"))


def signature(place: Path) -> Signature:
    """The file's inode, size and times in ns. Raises OSError."""
    info = disk.current.stat(place)
    return info and (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def install(
    layout: Layout, entry: JournalEntry, expected: Signature = None, *, rebooted: bool = False
) -> str | None:
    """The file is as the update wants it; the path of the copy kept of a person's edit, if one was.

    `expected` spares the reading where the file is known to be still as the update found it. With
    `rebooted`, a file that is a part of our own content counts as torn by the power cut, not as
    edited. Raises OSError; done again it has the same result.
    """
    content = entry.content
    place = layout.root / entry.path
    kept = None if content is None else _clear_the_way(layout, entry.path)
    if content is None and not _is_reachable(layout, entry.path):
        return None
    if expected is None or signature(place) != expected:
        there = _look(place)
        if there == entry.after:
            return kept
        if is_irreplaceable(entry.path) and there is not None and there != entry.before:
            torn = rebooted and content is not None and is_torn(place, content)
            kept = kept if torn else _keep_aside(layout, entry.path)
    if content is not None:
        replace(place, content, temp_beside(place))
    else:
        with suppress(FileNotFoundError):
            disk.current.unlink(place)
    return kept


def is_torn(place: Path, content: bytes) -> bool:
    """Whether the file is what a power cut can leave of `content`: a part of it, or holes in it."""
    there = disk.current.read(place)
    if there is None or len(there) > len(content):
        return False
    return all(a in (0, b) for a, b in zip(there, content, strict=False))


def remove_empty_directories(layout: Layout, paths: Iterable[str]) -> None:
    """Directories that the deletion of `paths` left empty are gone, but for the top-level ones."""
    for path in paths:
        parts = path.split("/")[:-1]
        while len(parts) > _KEPT_DIRECTORIES:
            try:
                disk.current.rmdir(layout.root.joinpath(*parts))
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    break
                raise
            parts.pop()


def remove_litter(directories: Iterable[Path]) -> None:
    """No temporary of a killed writer is left in the directories."""
    for directory in directories:
        for name in disk.current.listing(directory):
            if name.startswith(TEMP_PREFIX):
                with suppress(FileNotFoundError):
                    disk.current.unlink(directory / name)


def _look(place: Path) -> str | None:
    """The digest of what is there, None for nothing, the empty string for the unreadable."""
    try:
        content = disk.current.read(place)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ELOOP, errno.ENXIO):
            return ""
        raise
    return digest_of(content)


def _is_reachable(layout: Layout, path: str) -> bool:
    """Whether the path leads to a file without a link on the way: else none of ours is there."""
    try:
        place = layout.path(path)
    except PathOutsideWorkspace:
        return False
    info = disk.current.stat(place)
    return info is not None and not stat.S_ISDIR(info.st_mode)


def _clear_the_way(layout: Layout, path: str) -> str | None:
    """Real directories lead to the file, and none is in its place; what was there is kept aside."""
    parts = path.split("/")
    kept = None
    for depth in range(1, len(parts) + 1):
        place = layout.root.joinpath(*parts[:depth])
        info = disk.current.stat(place)
        last = depth == len(parts)
        if info is not None and stat.S_ISDIR(info.st_mode) is last:
            kept = _keep_aside(layout, "/".join(parts[:depth]))
            info = None
        if info is None and not last:
            with suppress(FileExistsError):
                disk.current.mkdir(place)
    return kept


def _keep_aside(layout: Layout, path: str) -> str:
    """What is at the path now bears another name beside it. The time in the name is its own."""
    place = layout.root / path
    changed = datetime.fromtimestamp(place.lstat().st_mtime, UTC)
    name = f"{path}.conflict-{changed:%Y%m%dT%H%M%SZ}"
    unique, count = name, 1
    while disk.current.stat(layout.root / unique) is not None:
        count += 1
        unique = f"{name}-{count}"
    disk.current.rename(place, layout.root / unique)
    return unique
