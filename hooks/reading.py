"""The beginning of a file that somebody else wrote.

A memory may come with a project from anywhere, so nothing is read through a symlink, and neither a
pipe nor an endless device can hold the session up. Never raises. Python 3.8, standard library only.
"""

from __future__ import annotations

import os
import stat


def beginning(path: str, limit: int = 65536) -> bytes:
    """At most `limit` bytes of a regular file; none where there is no such file."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(limit) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except (OSError, ValueError):  # the second for a NUL in the path
        return b""


def text(path: str, limit: int = 65536) -> str:
    return beginning(path, limit).decode("utf-8-sig", "replace")
