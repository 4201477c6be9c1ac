"""Postings: for each term the units in which it stands, and how often, as sorted arrays.

A term is known by a 64-bit hash alone, so an index loads without reading a word. A segment never
changes; an update adds a small one, and small ones are merged so that a query meets few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from scriptorium.search.arrays import Array


@lru_cache(maxsize=50_000)
def term_key(term: str) -> int:
    """The 64-bit identity of a term, the same in every process."""
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    terms: Array
    """uint64, sorted, each once."""
    starts: Array
    """int64, one more than terms: where each term's postings begin, and the end."""
    units: Array
    """int32."""
    counts: Array
    """float32: how often, a term of a heading or a time counting less than once."""

    def of(self, key: int) -> tuple[Array, Array] | None:
        """(units, counts) of one term, or None where nothing has it."""
        place = int(np.searchsorted(self.terms, np.uint64(key)))
        if place == len(self.terms) or int(self.terms[place]) != key:
            return None
        part = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return self.units[part], self.counts[part]

    def __len__(self) -> int:
        return len(self.units)


def segment(rows: Iterable[tuple[int, Mapping[int, float]]]) -> Segment:
    """The segment of units with their counted terms."""
    terms: list[int] = []
    units: list[int] = []
    counts: list[float] = []
    for unit, counted in rows:
        terms += counted
        units += [unit] * len(counted)
        counts += counted.values()
    return _sorted(
        np.array(terms, np.uint64), np.array(units, np.int32), np.array(counts, np.float32)
    )


def merged(segments: Sequence[Segment], renumbered: Array | None = None) -> Segment:
    """One segment for several; `renumbered` gives each unit's new number, -1 to drop it."""
    terms = np.concatenate([np.repeat(s.terms, np.diff(s.starts)) for s in segments])
    units = np.concatenate([s.units for s in segments])
    counts = np.concatenate([s.counts for s in segments])
    if renumbered is not None:
        units = renumbered[units]
        kept = units >= 0
        terms, units, counts = terms[kept], units[kept], counts[kept]
    return _sorted(terms, units, counts)


def added(segments: tuple[Segment, ...], new: Segment) -> tuple[Segment, ...]:
    """The segments with `new` behind them; those of about a size are merged, but never the first.

    So there are at most about log2 of the postings in number, and each posting is moved about as
    often.
    """
    if not len(new):
        return segments
    if not segments:
        return (new,)
    first, *rest = segments
    rest.append(new)
    while len(rest) > 1 and len(rest[-2]) < 2 * len(rest[-1]):
        rest[-2:] = [merged(rest[-2:])]
    return (first, *rest)


def _sorted(terms: Array, units: Array, counts: Array) -> Segment:
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    begins = np.flatnonzero(np.append(True, terms[1:] != terms[:-1])) if len(terms) else order
    return Segment(
        terms=terms[begins],
        starts=np.append(begins, len(terms)).astype(np.int64),
        units=units[order].astype(np.int32),
        counts=counts[order].astype(np.float32),
    )
