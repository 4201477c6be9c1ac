"""By what an unchanged file is known without reading it, and the care that this needs.

A file written within the clock's grain of our reading it could change again and look the same; so
it gets no signature and is read again the next time (as Git does with racy index entries).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping

from scriptorium.format.model import RelPath

type Signature = tuple[int, int, int, int]
"""Size, mtime and ctime in nanoseconds, inode."""
UNSETTLED: Signature = (-1, 0, 0, 0)
"""Equal to no file's signature: read it again."""
UNLISTED: Signature = (-2, 0, 0, 0)
"""The signature of a directory whose files are not known."""

_GRAIN_NS = 20_000_000
"""Longer than a kernel tick, which is the grain of time stamps on the usual file systems."""
_COARSE_GRAIN_NS = 2_000_000_000
"""FAT and some network file systems keep whole (even) seconds."""
_NONE: Mapping[str, Signature] = {}


def signature(status: os.stat_result) -> Signature:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def settled(found: Signature, now_ns: int) -> Signature:
    """`found`, if a later change of the file cannot leave it the same; else UNSETTLED."""
    size, mtime, ctime, _ = found
    if size < 0:
        return found
    coarse = mtime % 1_000_000_000 == 0 and ctime % 1_000_000_000 == 0
    grain = _COARSE_GRAIN_NS if coarse else _GRAIN_NS
    return found if max(mtime, ctime) < now_ns - grain else UNSETTLED


class Signatures(MutableMapping[RelPath, Signature]):
    """The signatures of files by path, and by directory: a directory's files are looked at
    together.
    """

    def __init__(self) -> None:
        self._directories: dict[str, dict[str, Signature]] = {}
        self._size = 0

    def within(self, directory: str) -> Mapping[str, Signature]:
        """The signatures of the files in a directory (not of those in directories in it), by
        name.
        """
        return self._directories.get(directory, _NONE)

    def __getitem__(self, path: RelPath) -> Signature:
        directory, _, name = path.rpartition("/")
        return self._directories[directory][name]

    def __setitem__(self, path: RelPath, signature: Signature) -> None:
        directory, _, name = path.rpartition("/")
        names = self._directories.setdefault(directory, {})
        self._size += name not in names
        names[name] = signature

    def __delitem__(self, path: RelPath) -> None:
        directory, _, name = path.rpartition("/")
        del self._directories[directory][name]
        self._size -= 1

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[RelPath]:
        for directory, names in self._directories.items():
            below = f"{directory}/" if directory else ""
            yield from (RelPath(below + name) for name in names)
