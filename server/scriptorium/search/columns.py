"""The columns of a collection: what is kept of documents and of units, one array for each.

A document's units follow each other. Rows are only ever added; a change of a kept row is made in a
copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scriptorium.search.arrays import Array
from scriptorium.search.units import Counted, Document, Kind

KINDS: tuple[Kind, ...] = ("block", "source")


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The arrays, as they are stored."""

    document_path: Array
    """int32, one a document: its place in `paths`."""
    document_kind: Array
    """uint8: its place in KINDS."""
    document_newest: Array
    """int64: when it last held, in seconds to order by; 0 where that is unknown."""
    document_print: Array
    """uint64: its fingerprint."""
    document_first: Array
    """int32: its first unit; the others follow it."""
    unit_document: Array
    """int32, one a unit."""
    unit_own: Array
    """float32: its length without its neighbours."""
    unit_size: Array
    """float32: its length with theirs, as BM25 counts it."""
    unit_before: Array
    unit_after: Array
    """int32: its neighbour in the thread or the block, -1 for none."""
    unit_digest: Array
    """uint64, two a unit: what its embedding is found by."""
    span_unit: Array
    span_first: Array
    span_last: Array
    """int32: a unit held from one day to another; several rows a unit, or none."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """What answers show of documents, as bytes: the stored ones in one array, later ones beside."""

    data: Array
    """uint8."""
    starts: Array
    """int64, one more than the stored documents."""
    later: tuple[bytes, ...] = ()

    def __getitem__(self, document: int) -> bytes:
        stored = len(self.starts) - 1
        if document >= stored:
            return self.later[document - stored]
        return bytes(self.data[int(self.starts[document]) : int(self.starts[document + 1])])


def none() -> Columns:
    """The columns of no document."""

    def of(dtype: type, *shape: int) -> Array:
        return np.zeros((0, *shape), dtype)

    number = np.int32
    return Columns(
        document_path=of(number),
        document_kind=of(np.uint8),
        document_newest=of(np.int64),
        document_print=of(np.uint64),
        document_first=of(number),
        unit_document=of(number),
        unit_own=of(np.float32),
        unit_size=of(np.float32),
        unit_before=of(number),
        unit_after=of(number),
        unit_digest=of(np.uint64, 2),
        span_unit=of(number),
        span_first=of(number),
        span_last=of(number),
    )


def extended(
    columns: Columns, came: Sequence[Document], counted: Sequence[Counted], path_of: Sequence[int]
) -> Columns:
    """The columns with the new documents' rows behind them; fresh arrays, to be written to."""
    first_unit = len(columns.unit_document)
    sizes = [len(each.units) for each in counted]
    firsts = first_unit + np.append(0, np.cumsum(sizes)).astype(np.int64)[:-1]
    added = [unit for each in counted for unit in each.units]
    numbers = np.arange(first_unit, first_unit + len(added))
    documents = len(columns.document_path) + np.repeat(np.arange(len(came)), sizes)
    within = np.append(False, documents[1:] == documents[:-1])[: len(added)]
    spans = [(n, *span) for n, unit in enumerate(added, first_unit) for span in unit.spans]
    rows = np.array(spans, np.int32).reshape(-1, 3)

    def with_rows(column: Array, more: object) -> Array:
        new = np.asarray(more, column.dtype).reshape(-1, *column.shape[1:])
        return np.concatenate([column, new])

    return Columns(
        document_path=with_rows(columns.document_path, path_of),
        document_kind=with_rows(columns.document_kind, [KINDS.index(each.kind) for each in came]),
        document_newest=with_rows(columns.document_newest, [each.newest for each in came]),
        document_print=with_rows(columns.document_print, [each.fingerprint for each in came]),
        document_first=with_rows(columns.document_first, firsts),
        unit_document=with_rows(columns.unit_document, documents),
        unit_own=with_rows(columns.unit_own, [unit.size for unit in added]),
        unit_size=with_rows(columns.unit_size, [unit.size for unit in added]),
        unit_before=with_rows(columns.unit_before, np.where(within, numbers - 1, -1)),
        unit_after=with_rows(
            columns.unit_after,
            np.where(np.append(within[1:], False)[: len(added)], numbers + 1, -1),
        ),
        unit_digest=with_rows(columns.unit_digest, [unit.digest for unit in added]),
        span_unit=with_rows(columns.span_unit, rows[:, 0]),
        span_first=with_rows(columns.span_first, rows[:, 1]),
        span_last=with_rows(columns.span_last, rows[:, 2]),
    )
