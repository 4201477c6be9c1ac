"""The columns of a collection: what is kept of entries and of units, one array for each.

An entry's units follow each other. Rows are only ever added; a change of a kept row is made in a
copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scriptorium.search.arrays import Array
from scriptorium.search.units import Counted, Entry, Kind

KINDS: tuple[Kind, ...] = ("block", "source")


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The arrays, as they are stored."""

    entry_path: Array
    """int32, one an entry: its place in `paths`."""
    entry_kind: Array
    """uint8: its place in KINDS."""
    entry_newest: Array
    """int64: when it last held, in seconds to order by; 0 where that is unknown."""
    entry_print: Array
    """uint64: its fingerprint."""
    entry_first: Array
    """int32: its first unit; the others follow it."""
    unit_entry: Array
    """int32, one a unit."""
    unit_own: Array
    """float32: its length without its neighbours."""
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
    """What answers show of entries, as bytes: the stored ones in one array, later ones beside."""

    data: Array
    """uint8."""
    starts: Array
    """int64, one more than the stored entries."""
    later: tuple[bytes, ...] = ()

    def __getitem__(self, entry: int) -> bytes:
        stored = len(self.starts) - 1
        if entry >= stored:
            return self.later[entry - stored]
        return bytes(self.data[int(self.starts[entry]) : int(self.starts[entry + 1])])


def none() -> Columns:
    """The columns of no entry."""

    def of(dtype: type, *shape: int) -> Array:
        return np.zeros((0, *shape), dtype)

    number = np.int32
    return Columns(
        entry_path=of(number),
        entry_kind=of(np.uint8),
        entry_newest=of(np.int64),
        entry_print=of(np.uint64),
        entry_first=of(number),
        unit_entry=of(number),
        unit_own=of(np.float32),
        unit_before=of(number),
        unit_after=of(number),
        unit_digest=of(np.uint64, 2),
        span_unit=of(number),
        span_first=of(number),
        span_last=of(number),
    )


def extended(
    columns: Columns, came: Sequence[Entry], counted: Sequence[Counted], path_of: Sequence[int]
) -> Columns:
    """The columns with the new entries' rows behind them; fresh arrays, to be written to."""
    first_unit = len(columns.unit_entry)
    sizes = [len(entry.units) for entry in counted]
    firsts = first_unit + np.append(0, np.cumsum(sizes)).astype(np.int64)[:-1]
    added = [unit for entry in counted for unit in entry.units]
    numbers = np.arange(first_unit, first_unit + len(added))
    entries = len(columns.entry_path) + np.repeat(np.arange(len(came)), sizes)
    within = np.append(False, entries[1:] == entries[:-1])[: len(added)]
    spans = [(n, *span) for n, unit in enumerate(added, first_unit) for span in unit.spans]
    rows = np.array(spans, np.int32).reshape(-1, 3)

    def with_rows(column: Array, more: object) -> Array:
        new = np.asarray(more, column.dtype).reshape(-1, *column.shape[1:])
        return np.concatenate([column, new])

    return Columns(
        entry_path=with_rows(columns.entry_path, path_of),
        entry_kind=with_rows(columns.entry_kind, [KINDS.index(entry.kind) for entry in came]),
        entry_newest=with_rows(columns.entry_newest, [entry.newest for entry in came]),
        entry_print=with_rows(columns.entry_print, [entry.fingerprint for entry in came]),
        entry_first=with_rows(columns.entry_first, firsts),
        unit_entry=with_rows(columns.unit_entry, entries),
        unit_own=with_rows(columns.unit_own, [unit.size for unit in added]),
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
