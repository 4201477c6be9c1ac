"""The vectors of a workspace's units: made once for each text and model, kept in the cache.

A search never waits for many: a thread makes what is missing, in batches, and the search answers
with what there is and says how far it is. What was made is kept even if the rest fails. Vectors of
another model or length lie in a file of their own, which is never dropped because something failed.
"""

from __future__ import annotations

import re
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
_SAVE_EVERY = 1.0
_SAVE_SHARE = 20
"""Seconds between two savings: at least the first, and so many times what the last one took."""
_JOIN_SHARE = 16
_FORMAT = "1"


FILE = re.compile(r"vectors-[0-9a-f]+-\d+\.arrays")
"""The names of the tables' files in the cache: a hash of the model, and a vector's length."""


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

    def known(self, name: str) -> int:
        """How many rows there are."""
        with self._guard:
            return len(self._tables[name].keys)

    def add(self, name: str, table: Table) -> None:
        """The rows are known from now on."""
        with self._guard:
            self._tables[name] = self._tables[name].joined(table)

    def save(self, name: str, live: Array) -> None:
        """The cache file has all rows known here or there, less the dead when these prevail."""
        with self._guard:
            known = table = self._tables[name]
        there = _loaded(self._layout, name)
        if there.vectors.shape[1:] == table.vectors.shape[1:]:
            table = table.joined(there)
        if len(table.keys) > 2 * len(live):
            table = table.only(live)
        with suppress(OSError):
            journal.write_runtime(self._layout, name, _packed(table))
            stored = _loaded(self._layout, name)
            with self._guard:
                if self._tables[name] is known and len(stored.keys) >= len(table.keys):
                    self._tables[name] = stored  # mapped: it takes no memory of its own


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
        job, due, unsaved = self._job, 0.0, False
        fresh = _none(job.name)
        try:
            for units in self._batches():
                texts = [context.text(job.collection, unit) for unit in units.tolist()]
                made = embedding.embed(job.endpoint, texts, seconds=_BATCH_SECONDS)
                fresh = fresh.joined(self._table(job.keys[units], np.array(made, np.float32)))
                if len(fresh.keys) < self._vectors.known(job.name) // _JOIN_SHARE:
                    continue  # joining copies the table: not for every batch
                self._vectors.add(job.name, fresh)
                fresh, unsaved = _none(job.name), True
                if (begin := time.monotonic()) > due:
                    self._vectors.save(job.name, job.keys)
                    took, unsaved = time.monotonic() - begin, False
                    due = begin + took + max(_SAVE_EVERY, _SAVE_SHARE * took)
        except EmbeddingUnavailable as error:
            self.error = error.message
        if unsaved or len(fresh.keys):
            self._vectors.add(job.name, fresh)
            self._vectors.save(job.name, job.keys)

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


def retain(layout: Layout, name: str, live: Array) -> None:
    """The table's file in the cache has rows of the keys `live` only; one that cannot be read has
    none. Raises OSError.
    """
    table = _loaded(layout, f"cache/{name}")
    journal.write_runtime(layout, f"cache/{name}", _packed(table.only(live)))


def _normal(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-30), np.float32)


def _file(model: str, length: int) -> str:
    return f"cache/vectors-{_model_hash(model)}-{length}.arrays"


def _model_hash(model: str) -> str:
    return blake2b(model.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _none(name: str) -> Table:
    return Table(np.zeros((0, 2), np.uint64), np.zeros((0, _length(name)), np.float32))


def _length(name: str) -> int:
    """The length of the vectors that a file of this name holds."""
    return int(name.removesuffix(".arrays").rpartition("-")[2])


def _loaded(layout: Layout, name: str) -> Table:
    length = _length(name)
    found = arrays.load(layout.runtime_dir / name)
    if found and found.labels.get("format") == _FORMAT:
        keys, vectors = found.arrays.get("keys"), found.arrays.get("vectors")
        if keys is not None and vectors is not None and vectors.shape == (len(keys), length):
            return Table(keys, vectors)
    return _none(name)


def _packed(table: Table) -> bytes:
    labels = {"format": _FORMAT}
    return arrays.pack(Stored(labels, {}, {"keys": table.keys, "vectors": table.vectors}))
