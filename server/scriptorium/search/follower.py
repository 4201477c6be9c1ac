"""Keeps one workspace's collection in step with its files, and its cache file in step with the
collection.

Safe for threads. What a search gets is of one moment. The cache is written when enough has changed
since it was written, beside the searches and not before them; when a source was erased, at once, so
that no erased word stays behind. A workspace that cannot be written to is searched all the same.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from scriptorium.search import compact
from scriptorium.search.collection import Collection, followed
from scriptorium.workspace.workspace import Workspace

_FEW = 256
_SHARE = 16
"""The cache is written anew when more units than _FEW, and than one in _SHARE, have changed."""


class Follower:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._current: Collection | None = None
        self._storing: threading.Thread | None = None

    def current(self) -> Collection:
        """The collection of the workspace as it is on disk now."""
        with self._lock:
            before = self._current or compact.stored(self._workspace.layout)
            now = self._workspace.reading(lambda snapshot: followed(before, snapshot))
            self._current = now
            # A cache with another catalog's numbers would be compared file by file at each start.
            due = _is_due(now) or (now.epoch != before.epoch and len(now.alive) > _FEW)
            if now.erased or (due and not len(before.alive)):
                self._current = _kept(self._workspace, now)
            elif due and not (self._storing and self._storing.is_alive()):
                self._storing = threading.Thread(target=self._store, args=(now,))
                self._storing.start()
            return self._current

    def settle(self) -> None:
        """No cache is being written any more."""
        if storing := self._storing:
            storing.join()

    def _store(self, known: Collection) -> None:
        kept = _kept(self._workspace, known)
        with self._lock:
            if self._current is known:  # else what changed meanwhile is only in the other one
                self._current = kept


def _is_due(known: Collection) -> bool:
    return known.changed > max(_FEW, len(known.columns.unit_document) // _SHARE)


def _kept(workspace: Workspace, known: Collection) -> Collection:
    """The collection, compacted and stored: as read from its file, which needs less memory."""
    small = compact.compacted(known)
    with suppress(OSError):
        compact.store(workspace.layout, small)
        loaded = compact.stored(workspace.layout)
        if (loaded.epoch, loaded.sequence) == (small.epoch, small.sequence):
            return loaded
    return small
