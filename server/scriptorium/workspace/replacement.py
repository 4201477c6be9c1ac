"""A file gets its new content in one instant: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from scriptorium.workspace import disk


def replace(target: Path, content: bytes, temp: Path, *, sync: bool = False) -> None:
    """The target has the content, and the mode that it had before; `sync`: the content is on disk.

    `temp` is a new name on the same file system. Raises OSError; then the target is untouched, and
    the temporary is gone if the disk allows.
    """
    try:
        old = disk.current.stat(target)
        fd = disk.current.create(temp)
        try:
            disk.current.write(fd, content)
            _keep_mode(fd, old)
            if sync:
                disk.current.fsync(fd)
        finally:
            os.close(fd)
        disk.current.rename(temp, target)
    except OSError:
        with suppress(OSError):
            disk.current.unlink(temp)
        raise


def _keep_mode(fd: int, old: os.stat_result | None) -> None:
    if old is None or not stat.S_ISREG(old.st_mode):
        return
    mode = stat.S_IMODE(old.st_mode)
    if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
        disk.current.chmod(fd, mode)
