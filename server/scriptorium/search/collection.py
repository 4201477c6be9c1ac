"""The searched state of a workspace as columns, and how it follows the workspace.

A `Collection` never changes: `followed` gives the next one, at the cost of the files that changed,
and shares the rest; so a search reads one moment and needs no lock. Documents that are gone stay as
dead rows until `compacted` leaves them out.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from scriptorium.format.model import RelPath, SourceRecord, Topic
from scriptorium.search import bm25, columns, postings, units
from scriptorium.search.arrays import Array
from scriptorium.search.columns import KINDS, Columns, Records, extended
from scriptorium.search.postings import Segment
from scriptorium.search.units import Document, Kind, Shown

_AT_ONCE = 128
"""Files whose words are counted together: of all at once, a first index would fill the memory."""


class Delta(Protocol):
    @property
    def sequence(self) -> int: ...
    @property
    def changed(self) -> tuple[RelPath, ...]: ...
    @property
    def removed(self) -> tuple[RelPath, ...]: ...


class Snapshot(Protocol):
    """What search reads of a workspace's snapshot."""

    @property
    def epoch(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    def changes_since(self, sequence: int) -> Delta: ...
    def topic(self, path: RelPath) -> Topic | None: ...
    def sources_of(self, path: RelPath) -> list[SourceRecord]: ...
    def source(self, source: str) -> SourceRecord | None: ...


@dataclass(frozen=True, eq=False)
class Collection:
    epoch: str
    sequence: int
    languages: frozenset[str]
    """The languages in which Latin words were stemmed."""
    paths: Mapping[str, int]
    """Every path with its number, in the order of the numbers."""
    columns: Columns
    alive: Array
    """bool, one a document."""
    records: Records
    segments: tuple[Segment, ...]
    changed: int = 0
    """Units that came or went since it was stored."""
    erased: bool = field(default=False)
    """Whether a source went since: what was stored still holds its words."""

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.paths)

    @cached_property
    def unit_alive(self) -> Array:
        return self.alive[self.columns.unit_document]

    @cached_property
    def field(self) -> bm25.Field:
        columns = self.columns
        size = columns.unit_size.astype(np.float64)
        before, after = np.append(columns.unit_before, -1), np.append(columns.unit_after, -1)
        return bm25.Field(self.segments, self.unit_alive, size, before, after)

    def kind(self, document: int) -> Kind:
        return KINDS[int(self.columns.document_kind[document])]

    def path(self, document: int) -> str:
        return self._names[int(self.columns.document_path[document])]

    def shown(self, document: int) -> Shown:
        return units.decoded(self.records[document])

    def in_paths(self, wanted: Container[str]) -> Array:
        """A bool for each unit: whether its document lies in one of the paths."""
        named = np.array([path in wanted for path in self.paths], bool)
        return named[self.columns.document_path][self.columns.unit_document]

    def in_days(self, first: int, last: int) -> Array:
        """A bool for each unit: whether one of its own times overlaps the days."""
        columns = self.columns
        held = np.zeros(len(columns.unit_document), bool)
        overlaps = (columns.span_first <= last) & (columns.span_last >= first)
        held[columns.span_unit[overlaps]] = True
        return held


def empty() -> Collection:
    """The collection of nothing, from which every other is made."""
    return Collection(
        epoch="",
        sequence=0,
        languages=frozenset(),
        paths={},
        columns=columns.none(),
        alive=np.zeros(0, bool),
        records=Records(np.zeros(0, np.uint8), np.zeros(1, np.int64)),
        segments=(),
    )


def followed(collection: Collection, snapshot: Snapshot) -> Collection:
    """The collection as the snapshot has it; the same object when nothing has changed."""
    fresh = snapshot.epoch != collection.epoch
    if not fresh and snapshot.sequence == collection.sequence:
        return collection
    delta = snapshot.changes_since(0 if fresh else collection.sequence)
    gone = set(map(str, delta.removed))
    if fresh:  # its numbers mean nothing here, but documents that are as before are kept
        gone |= set(collection.paths).difference(delta.changed)
    for at in range(0, max(1, len(delta.changed)), _AT_ONCE):
        work = _Work(collection)
        for path in gone:
            work.replace(path, ())
        for path in delta.changed[at : at + _AT_ONCE]:
            work.replace(path, _documents(snapshot, path))
        collection, gone = work.result(snapshot.epoch, delta.sequence), set()
    return collection


def _documents(snapshot: Snapshot, path: RelPath) -> Iterable[Document]:
    if path.startswith("sources/"):
        return units.of_sources(snapshot.sources_of(path))
    topic = snapshot.topic(path) if path.startswith("topics/") else None
    return units.of_topic(topic) if topic else ()


class _Work:
    """A collection in the making: documents that came and went, and threads to be joined."""

    def __init__(self, base: Collection) -> None:
        self._base = base
        self._alive = base.alive.copy()
        self._new_paths: dict[str, int] = {}
        self._came: list[Document] = []
        self._path_of: list[int] = []
        self._threads: list[list[int]] = []
        self._went = 0
        self._erased = base.erased

    def replace(self, path: str, documents: Iterable[Document]) -> None:
        """The path holds these documents and no others."""
        known = self._known(path)
        order: list[int] = []
        is_thread = path.startswith("sources/")
        for document in documents:
            same = known.get(document.fingerprint)
            order.append(same.pop() if same else self._add(path, document))
        for number in [number for same in known.values() for number in same]:
            self._alive[number] = False
            self._went += 1
            self._erased = self._erased or is_thread
        if is_thread and order:
            self._threads.append(order)

    def result(self, epoch: str, sequence: int) -> Collection:
        base = self._base
        counted = [each.counted() for each in self._came]
        added = [unit for each in counted for unit in each.units]
        columns = extended(base.columns, self._came, counted, self._path_of)
        self._join(columns)
        self._measure(columns)
        first = len(base.columns.unit_document)
        new = postings.segment((number, unit.terms) for number, unit in enumerate(added, first))
        return Collection(
            epoch=epoch,
            sequence=sequence,
            languages=base.languages.union(each.language for each in counted if each.language),
            paths={**base.paths, **self._new_paths} if self._new_paths else base.paths,
            columns=columns,
            alive=np.append(self._alive, np.ones(len(self._came), bool)),
            records=replace(
                base.records, later=(*base.records.later, *(e.encoded() for e in self._came))
            ),
            segments=postings.added(base.segments, new),
            changed=base.changed + len(added) + self._went,
            erased=self._erased,
        )

    def _known(self, path: str) -> dict[int, list[int]]:
        """The living documents of the path, last first, by fingerprint."""
        number = self._base.paths.get(path)
        if number is None:
            return {}
        here = np.flatnonzero((self._base.columns.document_path == number) & self._base.alive)
        known: dict[int, list[int]] = {}
        for document in here[::-1].tolist():
            known.setdefault(int(self._base.columns.document_print[document]), []).append(document)
        return known

    def _add(self, path: str, document: Document) -> int:
        if path not in self._new_paths and path not in self._base.paths:
            self._new_paths[path] = len(self._base.paths) + len(self._new_paths)
        self._came.append(document)
        number = self._base.paths.get(path)
        self._path_of.append(self._new_paths[path] if number is None else number)
        return len(self._base.alive) + len(self._came) - 1

    def _join(self, columns: Columns) -> None:
        """Makes the records of each touched thread neighbours in their order."""
        for chain in self._chains(columns):
            columns.unit_before[chain] = np.append(-1, chain[:-1])
            columns.unit_after[chain] = np.append(chain[1:], -1)

    def _measure(self, columns: Columns) -> None:
        """Gives the units that are new or have new neighbours their length."""
        new = np.arange(len(self._base.columns.unit_size), len(columns.unit_size))
        touched = np.unique(np.concatenate([new, *self._chains(columns)]))
        columns.unit_size[touched] = bm25.spread(
            columns.unit_own, columns.unit_before, columns.unit_after, touched
        )

    def _chains(self, columns: Columns) -> list[Array]:
        """The units of each touched thread, in order."""
        return [columns.document_first[np.array(thread)] for thread in self._threads]
