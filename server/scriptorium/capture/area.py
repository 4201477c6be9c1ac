"""Capture's own files, `ingest/` below a workspace's runtime directory, and its two locks.

They are written with `runtime_files`; what belongs to a memory transaction goes through
`Update.runtime`.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scriptorium.workspace import disk
from scriptorium.workspace.layout import Layout

DIRECTORY = "ingest"
_POLL = 0.005


def named(name: str) -> str:
    """What a file of capture's is called below the runtime directory, as `runtime_files` takes it;
    the name may lead through a folder.
    """
    return f"{DIRECTORY}/{name}"


def place(layout: Layout, name: str) -> Path:
    """Where a file of capture's lies."""
    return layout.runtime_dir / named(name)


def read(path: Path) -> bytes:
    """The file's bytes; none where there is no such file. Raises OSError."""
    return disk.current.read(path) or b""


def remove(path: Path) -> None:
    """There is no such file."""
    with suppress(FileNotFoundError):
        disk.current.unlink(path)


@contextmanager
def pool_lock(layout: Layout, *, wait: float = 30.0) -> Iterator[bool]:
    """The body runs as the only one that changes the pool; False if that took over `wait` s."""
    with _locked(place(layout, "pool.lock"), wait) as held:
        yield held


@contextmanager
def writer_lock(layout: Layout) -> Iterator[bool]:
    """The body runs as the only ingest that writes; False at once while another one does."""
    with _locked(place(layout, "writer.lock"), 0.0) as held:
        yield held


@contextmanager
def _locked(path: Path, wait: float) -> Iterator[bool]:
    # The kernel frees the lock the instant its holder dies; the file itself is never deleted.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield _take(fd, wait)
    finally:
        os.close(fd)


def _take(fd: int, wait: float) -> bool:
    left = wait
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left <= 0:
                return False
            time.sleep(_POLL)
            left -= _POLL
        else:
            return True
