"""The memory that a server or a command serves: its layers, and what reads and writes them.

Owns nothing on disk. Promises that a layer which cannot be opened or read costs that layer only,
that paths are qualified exactly when there is more than one layer, and that search is loaded on
first use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scriptorium.errors import InvalidArgument, Json, ScriptoriumError
from scriptorium.format import paths
from scriptorium.format.model import RelPath
from scriptorium.interface.config import GitMode
from scriptorium.interface.folded import FoldedTexts
from scriptorium.search import scope
from scriptorium.workspace import journal
from scriptorium.workspace import layers as layering
from scriptorium.workspace.layers import Layers
from scriptorium.workspace.listing import FileInfo
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.workspace import Workspace

if TYPE_CHECKING:
    from scriptorium.search.embedding import Endpoint
    from scriptorium.search.index import Index

VIEWS = ("timeline", "recent_events", "relations")
"""The kinds of files that are views; the path of each begins with its kind."""
_LOG = "server.log"
_LOG_BYTES = 1 << 20
"""Size at which the log begins anew."""


@dataclass(frozen=True, slots=True)
class Found:
    """A path in one layer, and the layer as it stands."""

    layer: str
    snapshot: Snapshot
    path: RelPath
    shown: str
    """The path as answers write it: qualified when there is more than one layer."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Every readable layer as it stands at one moment."""

    layers: Mapping[str, Snapshot]
    failures: Mapping[str, str]
    """Why a layer is left out."""
    revision: str
    """Combined when there is more than one layer."""


@dataclass(slots=True)
class Memory:
    """Layers of memory with the settings that every call shares. Safe to use from many threads."""

    layers: Layers[Workspace]
    git: GitMode = "auto"
    endpoint: Endpoint | None = None
    folded: FoldedTexts = field(default_factory=FoldedTexts)
    _indexes: dict[str, Index] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def layered(self) -> bool:
        """Whether answers qualify paths: more than one layer was asked for."""
        return not self.layers.single

    def workspace(self, layer: str) -> Workspace:
        return self.layers.get(layer)

    def snapshots(self) -> Snapshots:
        """A consistent snapshot of each layer that can be read."""
        found: dict[str, Snapshot] = {}
        failures = dict(self.layers.failures)
        for name, workspace in self.layers.opened.items():
            try:
                found[name] = workspace.snapshot()
            except OSError as error:
                failures[name] = _unreadable(error)
        return Snapshots(found, failures, self._revision(found))

    def reading[T](self, work: Callable[[Snapshots], T]) -> T:
        """What `work` makes of the snapshots, none of whose layers shows half an update.

        `work` is called again when a file changes while it reads.
        """
        return self._reading(tuple(self.layers.opened), {}, dict(self.layers.failures), work)

    def qualify(self, layer: str, path: str) -> str:
        return self.layers.qualify(layer, path)

    @contextmanager
    def within(self, layer: str | None) -> Iterator[None]:
        """What is raised of a layer's files names their paths as answers write them.

        None: of no layer in particular, so paths stay bare.
        """
        try:
            yield
        except ScriptoriumError as error:
            if layer is not None and self.layered:
                error.path = None if error.path is None else self.qualify(layer, error.path)
                for name, value in error.details.items():
                    error.details[name] = self._qualified(layer, name, value)
            raise

    def reach(self, there: Snapshots, prefix: str) -> tuple[Sequence[tuple[str, Snapshot]], str]:
        """The layers that a prefix reaches, and the prefix within each.

        Raises InvalidArgument for a layer that does not exist, InternalError for one that failed.
        """
        layer, rest = self.layers.split(prefix)
        return [item for item in there.layers.items() if layer in (None, item[0])], rest

    def find(self, there: Snapshots, path: str) -> Found:
        """The layer and path that a path names; a bare one is looked up in each layer.

        Raises InvalidArgument, PathOutsideWorkspace, InternalError.
        """
        layer, rest = self.layers.split(path)
        with self.within(layer):
            rel = paths.existing_path(rest)
        hits = [
            Found(name, snapshot, rel, self.qualify(name, rel))
            for name, snapshot in there.layers.items()
            if layer in (None, name) and snapshot.exists(rel)
        ]
        if len(hits) == 1:
            return hits[0]
        if hits:
            named = ", ".join(hit.shown for hit in hits)
            raise InvalidArgument(f"{path} is in several layers: choose one of {named}.", path=path)
        missing = "".join(
            f" Layer {name} is left out: {why}" for name, why in there.failures.items()
        )
        raise InvalidArgument(
            f"There is no file {path[:300]!r} in memory; memory_list shows what there is.{missing}",
            path=path,
        )

    def locate_block(self, there: Snapshots, block_id: str) -> str | None:
        """The path, as answers write it, of the topic that holds a block."""
        for name, snapshot in there.layers.items():
            where = snapshot.locate_block(block_id)
            if where is not None:
                return self.qualify(name, where)
        return None

    def index(self, layer: str) -> Index:
        from scriptorium.search.index import Index  # noqa: PLC0415 - loaded on the first search

        with self._guard:
            if layer not in self._indexes:
                self._indexes[layer] = Index(self.layers.get(layer))
            return self._indexes[layer]

    def log(self, text: str) -> None:
        """The text is at the end of `server.log` in the first layer's runtime folder.

        A log that has grown too long begins anew. Raises OSError, and LookupError without a layer.
        """
        workspace = next(iter(self.layers.opened.values()), None)
        if workspace is None:
            raise LookupError("there is no layer to log in")
        layout, data = workspace.layout, text.encode("utf-8", "replace")
        log = layout.runtime_dir / _LOG
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            journal.write_runtime(layout, _LOG, data)
        else:
            journal.append_runtime(layout, _LOG, data)

    def _reading[T](
        self,
        names: Sequence[str],
        snapshots: Mapping[str, Snapshot],
        failures: Mapping[str, str],
        work: Callable[[Snapshots], T],
    ) -> T:
        """Takes one layer's snapshot and goes on with the rest inside it."""
        if not names:
            return work(Snapshots(snapshots, failures, self._revision(snapshots)))
        name, *rest = names
        taken = False

        def within(snapshot: Snapshot) -> T:
            nonlocal taken
            taken = True
            return self._reading(rest, {**snapshots, name: snapshot}, failures, work)

        try:
            return self.layers.opened[name].reading(within)
        except OSError as error:
            if taken:
                raise
            return self._reading(rest, snapshots, {**failures, name: _unreadable(error)}, work)

    def _qualified(self, layer: str, name: str, value: Json) -> Json:
        """A detail of an error: a path by its name, or records that have one."""
        if isinstance(value, str):
            return self.qualify(layer, value) if name in ("path", "changed_files") else value
        if isinstance(value, Mapping):
            return {key: self._qualified(layer, key, item) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [self._qualified(layer, name, item) for item in value]
        return value

    def _revision(self, snapshots: Mapping[str, Snapshot]) -> str:
        if self.layered:
            return layering.combined_revision({n: s.revision for n, s in snapshots.items()})
        return next((str(snapshot.revision) for snapshot in snapshots.values()), "")


def _unreadable(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or type(error).__name__}"


def files_under(snapshot: Snapshot, prefix: str, *, derived: bool = True) -> list[FileInfo]:
    """The files below a prefix, which means here what it means to search: `work/` is enough."""
    files = snapshot.files(derived=derived)
    kept = scope.within(prefix, [info.path for info in files])
    return files if kept is None else [info for info in files if info.path in kept]
