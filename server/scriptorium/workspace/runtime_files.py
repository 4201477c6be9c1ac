"""Files below the runtime directory that are outside of any update: caches, logs, capture's own.

Promises: a file that is written shows a reader the old content or the new; an appended line never
merges with what a killed writer left of another one; with `sync` either is on the medium when the
call returns. The temporaries lie in `staging/`, which the next writer of memory clears: what a
killed one leaves there does not last. Needs no lock, and never touches memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from scriptorium.workspace import disk
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.replacement import replace
from scriptorium.workspace.storage import temp_beside

_ATTEMPTS = 20
"""Of a write whose temporary may be cleared away by writers of memory, one after the other."""


def write_runtime(layout: Layout, name: str, data: bytes, *, sync: bool = False) -> None:
    """The file below the runtime directory has the content, whole or not at all. Raises OSError."""
    target = layout.path(layout.runtime_path(name))
    _with_folders(
        (layout.staging, target.parent),
        lambda: replace(target, data, temp_beside(layout.staging / target.name), sync=sync),
    )


def append_runtime(layout: Layout, name: str, lines: bytes, *, sync: bool = False) -> None:
    """The lines end the file below the runtime directory, as lines of its own. Raises OSError."""
    target = layout.path(layout.runtime_path(name))
    fd = _with_folders((target.parent,), lambda: disk.current.append(target))
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        cut = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        disk.current.write(fd, (b"\n" if cut else b"") + lines.rstrip(b"\n") + b"\n")
        if sync:
            disk.current.fsync(fd)
    finally:
        os.close(fd)


def _with_folders[T](folders: tuple[Path, ...], work: Callable[[], T]) -> T:
    """What `work` gives, the folders being made where that is what it lacks."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except FileNotFoundError:  # or a recovery took the temporary for litter
            for folder in folders:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return work()
