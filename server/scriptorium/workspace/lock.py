"""The write lock of a workspace: one writer at a time, in this process and in all others.

The kernel frees it the instant its holder dies. The lock file is never deleted: a second holder
could then lock a new file of the same name while the first still holds the old one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from scriptorium.errors import ConcurrentUpdate, InternalError
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.storage import advice

WAIT = 5.0
"""Seconds that a writer waits for another one."""
_POLL = 0.01


@contextmanager
def locked(layout: Layout, *, timeout: float = WAIT) -> Iterator[None]:
    """The body runs as the only writer of the workspace.

    Waits `timeout` seconds at most, then raises ConcurrentUpdate. Raises InternalError where the
    lock file cannot be made, as on a read-only file system. Not reentrant: a thread that holds
    the lock and asks again waits in vain.
    """
    lock = FileLock(
        layout.lock,
        timeout=timeout,
        poll_interval=_POLL,
        thread_local=False,
        fallback_to_soft=False,
        preserve_lock_file=True,
    )
    try:
        lock.acquire()
    except Timeout:
        raise _held(layout.lock, timeout) from None
    except (OSError, NotImplementedError) as error:
        raise InternalError(
            f"Nothing changed: the write lock cannot be taken: {advice(error)}"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _held(path: Path, waited: float) -> ConcurrentUpdate:
    pid = _holder(path)
    who = f"process {pid}" if pid else "another session, or `scriptorium ingest`,"
    return ConcurrentUpdate(
        f"The workspace's write lock is held: {who} has been writing for {waited:g} s."
        " Nothing changed; send the same update again.",
        details={"lock_held": True, "holder_pid": pid},
    )


def _holder(path: Path) -> int | None:
    """The process that holds the lock, where the kernel tells (Linux, the same PID namespace)."""
    try:
        info = path.stat()
        table = Path("/proc/locks").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    file = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    for line in table.splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[5] == file and fields[4].isdigit():
            return int(fields[4]) or None
    return None
