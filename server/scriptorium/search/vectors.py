"""The vectors of a workspace's units: made once for each text and model, kept in the cache.

A search never waits for many: a thread makes what is missing, in batches, and the search answers
with what there is and says how far it is. What was made is kept even if the rest fails. Vectors of
another model or length lie in a file of their own, which is never dropped because something failed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from scriptorium.errors import EmbeddingUnavailable
from scriptorium.search import arrays, context, embedding
from scriptorium.search.arrays import Array, Stored
from scriptorium.search.collection import Collection
from scriptorium.search.embedding import Endpoint
from scriptorium.workspace import journal
from scriptorium.workspace.layout import Layout

_PATIENCE = 2.0
"""Seconds that a search waits for missing vectors: enough for what one update brings."""
_BATCH_SECONDS = 60.0
_SAVE_EVERY = 10.0
_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    total: int
    error: str | None
    """Why no more are being made; None while they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    similarity: Array
    """float64, one a unit: the cosine to the query; without meaning where it is not known."""
    known: Array
    """bool, one a unit."""
    partial: Progress | None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Keys (uint64, two a row) in the order of the first half, and their unit vectors (float32)."""

    keys: Array
    vectors: Array

    def rows(self, keys: Array) -> Array:
        """The row of each key, -1 where there is none."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.keys[:, 0], keys[:, 0]), len(self.keys) - 1)
        return np.where((self.keys[at] == keys).all(axis=1), at, -1)

    def joined(self, other: Table) -> Table:
        """Both tables' rows, each key once."""
        new = self.rows(other.keys) < 0
        keys = np.concatenate([self.keys, other.keys[new]])
        order = np.argsort(keys[:, 0], kind="stable")
        vectors = np.concatenate([self.vectors, other.vectors[new]])
        return Table(keys[order], vectors[order])

    def only(self, keys: Array) -> Table:
        """The rows of these keys."""
        kept = np.unique(self.rows(keys))
        kept = kept[kept >= 0]
        return Table(self.keys[kept], self.vectors[kept])


class Vectors:
    """The vector tables of one workspace; any number of threads may use it."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._guard = threading.Lock()
        self._tables: dict[str, Table] = {}
        self._fillers: dict[str, _Filler] = {}

    def scores(self, collection: Collection, query: str, endpoint: Endpoint) -> Meaning:
        """How near each unit is to the query in meaning, as far as its vector is known.

        Raises EmbeddingUnavailable when the query gets no vector, or no unit has one and none can
        be made.
        """
        asked = embedding.embed(endpoint, [query[: context.MOST]], seconds=embedding.QUERY_SECONDS)
        vector = _normal(np.array(asked, np.float32))[0]
        name = _file(endpoint.model, len(vector))
        keys = context.keys(collection)
        error = self._fill(name, collection, keys, endpoint)
        with self._guard:
            table = self._tables[name]
        rows = table.rows(keys)
        known = (rows >= 0) & collection.unit_alive
        similarity = np.zeros(len(rows))
        if known.any():
            similarity[known] = (table.vectors @ vector)[rows[known]]
            similarity = context.averaged(collection, similarity, known)
        done, total = int(known.sum()), int(collection.unit_alive.sum())
        if error and total and not done:
            raise EmbeddingUnavailable(error)
        return Meaning(similarity, known, Progress(done, total, error) if done < total else None)

    def settle(self) -> None:
        """No vectors are being made any more."""
        for filler in list(self._fillers.values()):
            filler.join()

    def _fill(
        self, name: str, collection: Collection, keys: Array, endpoint: Endpoint
    ) -> str | None:
        """Makes what is missing, or has it made; returns why it cannot be, if that is known."""
        with self._guard:
            if name not in self._tables:
                self._tables[name] = _loaded(self._layout, name)
            missing = np.flatnonzero((self._tables[name].rows(keys) < 0) & collection.unit_alive)
            if not len(missing):
                return None
            filler = self._fillers.get(name)
            if filler is None or not filler.is_alive():
                job = _Job(name, collection, keys, missing, endpoint)
                filler = _Filler(self, job)
                self._fillers[name] = filler
                filler.start()
        filler.join(_PATIENCE)
        return filler.error

    def add(self, name: str, table: Table) -> None:
        """The rows are known from now on."""
        with self._guard:
            self._tables[name] = self._tables[name].joined(table)

    def save(self, name: str, live: Array) -> None:
        """The cache file has all rows known here or there, less the dead when these prevail."""
        with self._guard:
            table = self._tables[name]
        there = _loaded(self._layout, name)
        if there.vectors.shape[1:] == table.vectors.shape[1:]:
            table = table.joined(there)
        if len(table.keys) > 2 * len(live):
            table = table.only(live)
        with suppress(OSError):
            journal.write_runtime(self._layout, name, _packed(table))


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    name: str
    collection: Collection
    keys: Array
    missing: Array
    """The units that have no vector."""
    endpoint: Endpoint


class _Filler(threading.Thread):
    """Makes the missing vectors of one collection."""

    def __init__(self, vectors: Vectors, job: _Job) -> None:
        super().__init__(name="scriptorium-vectors", daemon=True)
        self.error: str | None = None
        self._vectors = vectors
        self._job = job

    def run(self) -> None:
        saved = time.monotonic()
        unsaved = False
        try:
            for units in self._batches():
                texts = [context.text(self._job.collection, unit) for unit in units.tolist()]
                made = embedding.embed(self._job.endpoint, texts, seconds=_BATCH_SECONDS)
                table = self._table(self._job.keys[units], np.array(made, np.float32))
                self._vectors.add(self._job.name, table)
                unsaved = True
                if time.monotonic() - saved > _SAVE_EVERY:
                    self._vectors.save(self._job.name, self._job.keys)
                    saved, unsaved = time.monotonic(), False
        except EmbeddingUnavailable as error:
            self.error = error.message
        if unsaved:
            self._vectors.save(self._job.name, self._job.keys)

    def _batches(self) -> Iterator[Array]:
        """The missing units, each text once, the newest first: they are asked for most."""
        _, first = np.unique(self._job.keys[self._job.missing], axis=0, return_index=True)
        units = self._job.missing[np.sort(first)][::-1]
        for start in range(0, len(units), embedding.BATCH):
            yield units[start : start + embedding.BATCH]

    def _table(self, keys: Array, made: Array) -> Table:
        if _file(self._job.endpoint.model, made.shape[1]) != self._job.name:
            raise EmbeddingUnavailable(
                f"The embedding endpoint {self._job.endpoint.shown} gives vectors of different"
                f" lengths for {self._job.endpoint.model}. Check embedding.model."
            )
        order = np.argsort(keys[:, 0], kind="stable")
        return Table(keys[order], _normal(made)[order])


def _normal(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-30), np.float32)


def _file(model: str, length: int) -> str:
    return f"cache/vectors-{_model_hash(model)}-{length}.arrays"


def _model_hash(model: str) -> str:
    return blake2b(model.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _loaded(layout: Layout, name: str) -> Table:
    length = int(name.rsplit("-", 1)[1].split(".", maxsplit=1)[0])
    found = arrays.load(layout.runtime_dir / name)
    if found and found.labels.get("format") == _FORMAT:
        keys, vectors = found.arrays.get("keys"), found.arrays.get("vectors")
        if keys is not None and vectors is not None and vectors.shape == (len(keys), length):
            return Table(keys, vectors)
    return Table(np.zeros((0, 2), np.uint64), np.zeros((0, length), np.float32))


def _packed(table: Table) -> bytes:
    labels = {"format": _FORMAT}
    return arrays.pack(Stored(labels, {}, {"keys": table.keys, "vectors": table.vectors}))
