"""The search caches without what was forgotten: called once files no longer hold it.

The collection of units is made anew. Of the vectors, which cost a model's time, those stay whose
text is still there.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from scriptorium.search import arrays, context
from scriptorium.search.arrays import Stored
from scriptorium.search.follower import Follower
from scriptorium.workspace import disk, journal
from scriptorium.workspace.memory import Workspace

_CATALOG = "catalog.sqlite"


def purge(workspace: Workspace) -> None:
    """No file of the search's holds a text that memory does not. Raises OSError."""
    layout = workspace.layout
    names = disk.current.listing(layout.cache)
    vectors = [name for name in names if name.startswith("vectors-") and name.endswith(".arrays")]
    for name in names:
        if name not in vectors and not name.startswith(_CATALOG):
            with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
                disk.current.unlink(layout.cache / name)
    if vectors:
        follower = Follower(workspace)
        known = follower.current()
        follower.settle()
        live = context.keys(known)[known.unit_alive]
        for name in vectors:
            _keep(workspace, name, live)


def _keep(workspace: Workspace, name: str, live: arrays.Array) -> None:
    """The vector file has the rows of these keys only; one that cannot be read is removed."""
    place = workspace.layout.cache / name
    found = arrays.load(place)
    keys = found.arrays.get("keys") if found else None
    vectors = found.arrays.get("vectors") if found else None
    if found is None or keys is None or vectors is None or len(keys) != len(vectors):
        disk.current.unlink(place)
        return
    wanted = {tuple(key) for key in live.tolist()}
    kept = np.array([tuple(key) in wanted for key in keys.tolist()], bool)
    rest = {"keys": keys[kept], "vectors": vectors[kept]}
    journal.write_runtime(
        workspace.layout, f"cache/{name}", arrays.pack(Stored(found.labels, found.lists, rest))
    )
