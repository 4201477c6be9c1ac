"""Small writes below the runtime directory, outside of any update: caches, the ledger, logs.

Need no lock, and never touch memory.
"""

from __future__ import annotations

import os

from scriptorium.workspace import disk
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.replacement import replace
from scriptorium.workspace.storage import temp_beside

_ATTEMPTS = 5


def write_runtime(layout: Layout, name: str, data: bytes) -> None:
    """The file below the runtime directory has the content, whole or not at all; not synced.

    For caches and the like; needs no lock. Raises OSError.
    """
    target = layout.path(layout.runtime_path(name))
    for attempt in range(_ATTEMPTS):
        try:
            replace(target, data, temp_beside(layout.staging / target.name))
        except FileNotFoundError:
            # A directory is missing, or a recovery took our temporary for litter.
            if attempt == _ATTEMPTS - 1:
                raise
            for directory in (layout.staging, target.parent):
                directory.mkdir(parents=True, exist_ok=True)
        else:
            return


def append_runtime(layout: Layout, name: str, line: bytes) -> None:
    """The line ends the file below the runtime directory, on a line of its own. Raises OSError."""
    target = layout.path(layout.runtime_path(name))
    fd = disk.current.append(target)
    try:
        size = os.fstat(fd).st_size
        cut = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        disk.current.write(fd, (b"\n" if cut else b"") + line.rstrip(b"\n") + b"\n")
    finally:
        os.close(fd)
