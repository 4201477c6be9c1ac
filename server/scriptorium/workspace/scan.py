"""Finds out from the file system's own records which files may have changed; reads those that did.

Owns `Signature`, by which an unchanged file is known without reading it, and the care that this
needs: a file written within the clock's grain of our reading it could change again and look the
same, so it gets no signature and is read again the next time (as Git does with racy index entries).

Symlinks are never followed, only regular files are opened, hidden names are passed over in silence.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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


@dataclass(slots=True)
class Scan:
    """What a walk over a tree found."""

    changed: dict[RelPath, Signature] = field(default_factory=dict)
    """The Markdown files that are not as known, among those in the directories that were listed."""
    seen: int = 0
    """How many of the known files there are, changed or not, in these directories."""
    directories: dict[str, Signature] = field(default_factory=dict)
    """Every directory there is, listed or not."""
    kept: set[str] = field(default_factory=set)
    """Directories that were not listed because they are unchanged: their files are as before."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """(directory, reason): what lies below is unknown, which is not the same as gone."""
    odd: list[tuple[str, str]] = field(default_factory=list)
    """(path, what it is): names that look like memory and are no regular file."""


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


def scan(
    root: Path, top: str, known: Mapping[RelPath, Signature], unchanged: Mapping[str, Signature]
) -> Scan:
    """The Markdown files below `top` that are not as `known`.

    Directories whose signature is as in `unchanged` are not listed: it tells of files made, renamed
    and deleted there, not of edits in place.
    """
    found = Scan()
    base = str(root)
    waiting = [top]
    children = _children(unchanged)
    while waiting:
        directory = waiting.pop()
        try:
            status = os.lstat(f"{base}/{directory}")
            if not stat.S_ISDIR(status.st_mode):
                found.odd.append((directory, _kind(status.st_mode)))
                continue
            found.directories[directory] = now = signature(status)
            if unchanged.get(directory) == now:
                found.kept.add(directory)
                waiting += children.get(directory, ())
            else:
                waiting += _list(base, directory, known, found)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.directories[directory] = UNLISTED
            found.unreadable.append((directory, _reason(error)))
    return found


def gone(root: Path, top: str, known: Mapping[RelPath, Signature], found: Scan) -> list[RelPath]:
    """The known files below `top` that are no longer there, after a scan has `found` the rest."""
    if found.seen == len(known) or (found.kept and found.kept == found.directories.keys()):
        return []
    there = scan(root, top, {}, {})
    hidden = tuple(f"{directory}/" for directory, _ in there.unreadable)
    below = f"{top}/"
    return [
        path
        for path in known
        if path.startswith(below) and path not in there.changed and not path.startswith(hidden)
    ]


def look(root: Path, path: str) -> Signature | None:
    """The signature of one regular file; None when there is none. Raises OSError."""
    try:
        status = os.lstat(f"{root}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{_kind(status.st_mode)}, not a regular file")
    return signature(status)


def obstacle(root: Path, path: str) -> str | None:
    """The part of `path` where something stands that is in the way of a file there; None:
    nothing.
    """
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        part = "/".join(parts[:count])
        try:
            mode = os.lstat(f"{root}/{part}").st_mode
        except FileNotFoundError:
            return None
        except OSError:
            return part
        if not (stat.S_ISREG(mode) if count == len(parts) else stat.S_ISDIR(mode)):
            return part
    return None


def names(root: Path, directory: str) -> list[str]:
    """The names in a directory; none when it is missing or cannot be read."""
    try:
        return [entry.name for entry in (root / directory).iterdir()]
    except OSError:
        return []


def installed(root: Path, path: str, now_ns: int) -> Signature:
    """The signature of a file that was just put in place; UNSETTLED where that is in doubt."""
    try:
        seen = look(root, path)
    except OSError:
        return UNSETTLED
    return UNSETTLED if seen is None else settled(seen, now_ns)


def read(root: Path, path: str, now_ns: int) -> tuple[bytes, Signature] | None:
    """The bytes of a regular file and the signature by which they are known; None if it is gone.

    The signature is UNSETTLED when the file was being written, or could be written again unseen.
    Raises OSError when the file is there and cannot be read, is a symlink, or is no regular file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(f"{root}/{path}", flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(fd, "rb") as file:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(f"{_kind(before.st_mode)}, not a regular file")
        content = file.read()
        after = signature(os.fstat(fd))
    whole = after == signature(before) and after[0] == len(content)
    return content, settled(after, now_ns) if whole else UNSETTLED


def _list(base: str, directory: str, known: Mapping[RelPath, Signature], found: Scan) -> list[str]:
    """Adds the directory's files to `found`; gives the directories in it."""
    below: list[str] = []
    with os.scandir(f"{base}/{directory}") as entries:
        for entry in entries:
            name = entry.name
            path = RelPath(f"{directory}/{name}")
            if name[0] == ".":
                continue
            if name.endswith(".md"):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                # Written out: this runs for every file of memory, before each answer.
                now = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
                if known.get(path) == now:
                    found.seen += 1
                elif _is_new(path, status.st_mode, below, found):
                    found.changed[path] = now
                    found.seen += path in known
            elif entry.is_dir(follow_symlinks=False):
                below.append(path)
            elif entry.is_symlink():
                found.odd.append((path, "a symbolic link"))
    return below


def _is_new(path: RelPath, mode: int, below: list[str], found: Scan) -> bool:
    """Whether a name that ends in `.md` is a file, which is then not as it was known."""
    if stat.S_ISREG(mode):
        return True
    if stat.S_ISDIR(mode):
        below.append(path)
    else:
        found.odd.append((path, _kind(mode)))
    return False


def _children(directories: Mapping[str, Signature]) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {}
    for directory in directories:
        children.setdefault(directory.rpartition("/")[0], []).append(directory)
    return children


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe"}
    kinds |= {stat.S_IFREG: "a file"}
    kinds |= {stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "no regular file")


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
