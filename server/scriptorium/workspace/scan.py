"""Finds out from the file system's own records which files may have changed; reads those that did.

Symlinks are never followed, only regular files are opened, hidden names are passed over in silence.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scriptorium.format.model import RelPath
from scriptorium.workspace.signatures import (
    UNLISTED,
    UNSETTLED,
    Signature,
    Signatures,
    settled,
    signature,
)

_CONFLICT = re.compile(r".+\.conflict-\d{8}T\d{6}Z(?:-\d+)?")


@dataclass(slots=True)
class Scan:
    """What a walk over a tree found."""

    changed: dict[RelPath, Signature] = field(default_factory=dict)
    """The Markdown files that are not as known, among those that were looked at."""
    seen: int = 0
    """How many of the known files there are, changed or not, among those that were looked at."""
    directories: dict[str, Signature] = field(default_factory=dict)
    """Every directory there is, listed or not."""
    kept: set[str] = field(default_factory=set)
    """Directories that were not listed because they are unchanged: their files are as before."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """(directory, reason): what lies below is unknown, which is not the same as gone."""
    odd: list[tuple[str, str]] = field(default_factory=list)
    """(path, what it is): names that look like memory and are no regular file."""
    conflicts: list[str] = field(default_factory=list)
    """The copies that an installation kept of what a person had changed meanwhile."""


def scan(
    root: Path,
    top: str,
    known: Signatures,
    unchanged: Mapping[str, Signature],
    *,
    in_place: bool = False,
) -> Scan:
    """The Markdown files below `top` that are not as `known`.

    Directories whose signature is as in `unchanged` are not listed: it tells of files made, renamed
    and deleted there. Of edits in place it does not tell: with `in_place`, the known files of these
    directories are looked at all the same.
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
                if in_place:
                    _look_again(base, directory, known.within(directory), found)
            else:
                waiting += _list(base, directory, known.within(directory), found)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.directories[directory] = UNLISTED
            found.unreadable.append((directory, _reason(error)))
    return found


def gone(root: Path, top: str, known: Signatures, found: Scan) -> list[RelPath]:
    """The known files below `top` that are no longer there, after a scan has `found` the rest."""
    if found.seen == len(known) or (found.kept and found.kept == found.directories.keys()):
        return []
    there = scan(root, top, Signatures(), {})
    hidden = tuple(f"{directory}/" for directory, _ in there.unreadable)
    below = f"{top}/"
    return [
        path
        for path in known
        if path.startswith(below) and path not in there.changed and not path.startswith(hidden)
    ]


def is_conflict(name: str) -> bool:
    """Whether an installation gave the name to what was in its way."""
    return _CONFLICT.fullmatch(name) is not None


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


def _list(base: str, directory: str, known: Mapping[str, Signature], found: Scan) -> list[str]:
    """Adds the directory's files to `found`; gives the directories in it."""
    below: list[str] = []
    with _opened(f"{base}/{directory}") as fd, os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            if name.endswith(".md"):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                now = signature(status)
                if known.get(name) == now:
                    found.seen += 1
                elif _is_new(f"{directory}/{name}", status.st_mode, below, found):
                    found.changed[RelPath(f"{directory}/{name}")] = now
                    found.seen += name in known
            elif is_conflict(name):
                found.conflicts.append(f"{directory}/{name}")
            elif entry.is_dir(follow_symlinks=False):
                below.append(f"{directory}/{name}")
            elif entry.is_symlink():
                found.odd.append((f"{directory}/{name}", "a symbolic link"))
    return below


def _look_again(base: str, directory: str, known: Mapping[str, Signature], found: Scan) -> None:
    """Adds those of the directory's known files to `found` that were edited in place."""
    if not known:
        return
    with _opened(f"{base}/{directory}") as fd:
        for name, before in known.items():
            try:
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue  # deleted in this moment: the directory will tell
            found.seen += 1
            # Written out: this runs for every file of memory, before each answer.
            now = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            if now != before:
                found.changed[RelPath(f"{directory}/{name}")] = now


@contextmanager
def _opened(directory: str) -> Iterator[int]:
    """A descriptor of the directory, which spares the kernel the way to each of its files."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_new(path: str, mode: int, below: list[str], found: Scan) -> bool:
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
