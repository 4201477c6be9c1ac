"""The search caches without what was forgotten: called once files no longer hold it.

The collection of units is made anew. Of the vectors, which cost a model's time, those stay whose
text is still there.
"""

from __future__ import annotations

from contextlib import suppress

from scriptorium.search import context, vectors
from scriptorium.search.follower import Follower
from scriptorium.workspace import disk
from scriptorium.workspace.layout import CATALOG
from scriptorium.workspace.workspace import Workspace


def purge(workspace: Workspace) -> None:
    """No file of the search's holds a text that memory does not. Raises OSError."""
    cache = workspace.layout.cache
    names = disk.current.listing(cache)
    tables = [name for name in names if vectors.FILE.fullmatch(name)]
    for name in names:
        if name not in tables and not name.startswith(CATALOG):
            with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
                disk.current.unlink(cache / name)
    if tables:
        follower = Follower(workspace)
        known = follower.current()
        follower.settle()
        live = context.keys(known)[known.unit_alive]
        for name in tables:
            vectors.retain(workspace.layout, name, live)
