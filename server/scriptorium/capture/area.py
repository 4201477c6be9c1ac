"""Capture's own files, `ingest/` below a workspace's runtime directory, and its two locks.

Promises: an appended line is on the medium when `append` returns, and a torn last line of a killed
writer never merges with the next one; `replace` shows a reader the old content or the new. What
belongs to a memory transaction is not written here: it goes through `Update.runtime`.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scriptorium.workspace import disk
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.storage import temp_beside

DIRECTORY = "ingest"
_POLL = 0.005


def place(layout: Layout, name: str) -> Path:
    """Where a file of capture's lies; the name may lead through a folder."""
    return layout.runtime_dir / DIRECTORY / name


def read(path: Path) -> bytes:
    """The file's bytes; none where there is no such file. Raises OSError."""
    return disk.current.read(path) or b""


def append(path: Path, lines: bytes, *, durable: bool = True) -> None:
    """`lines`, which ends in a newline, is the end of the file, as lines of its own."""
    _make_parents(path)
    fd = disk.current.append(path)
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        disk.current.write(fd, b"\n" + lines if torn else lines)
        if durable:
            disk.current.fsync(fd)
    finally:
        os.close(fd)


def replace(path: Path, content: bytes, *, durable: bool = True) -> None:
    """The file holds `content`; at no moment did it hold a part of it."""
    _make_parents(path)
    temp = temp_beside(path)
    try:
        fd = disk.current.create(temp, 0o600)
        try:
            disk.current.write(fd, content)
            if durable:
                disk.current.fsync(fd)
        finally:
            os.close(fd)
        disk.current.rename(temp, path)
    except OSError:
        with suppress(OSError):
            disk.current.unlink(temp)
        raise


def remove(path: Path) -> None:
    """There is no such file."""
    with suppress(FileNotFoundError):
        disk.current.unlink(path)


@contextmanager
def pool_lock(layout: Layout, *, wait: float = 30.0) -> Iterator[bool]:
    """The body runs as the only one that changes the pool; False if that took over `wait` s."""
    with _locked(place(layout, "pool.lock"), wait, time.sleep) as held:
        yield held


@contextmanager
def writer_lock(layout: Layout) -> Iterator[bool]:
    """The body runs as the only ingest that writes; False at once while another one does."""
    with _locked(place(layout, "writer.lock"), 0.0, time.sleep) as held:
        yield held


@contextmanager
def _locked(path: Path, wait: float, sleep: Callable[[float], None]) -> Iterator[bool]:
    # The kernel frees the lock the instant its holder dies; the file itself is never deleted.
    _make_parents(path)
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield _take(fd, wait, sleep)
    finally:
        os.close(fd)


def _take(fd: int, wait: float, sleep: Callable[[float], None]) -> bool:
    left = wait
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left <= 0:
                return False
            sleep(_POLL)
            left -= _POLL
        else:
            return True


def _make_parents(path: Path) -> None:
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
