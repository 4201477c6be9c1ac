"""Reciprocal rank fusion: one order out of two, by ranks alone, for scores of two kinds do not
compare.

An entry at rank r of a ranking gains 1 / (60 + r). Cormack, Clarke and Büttcher, "Reciprocal Rank
Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009; 60 is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_K = 60


@dataclass(frozen=True, slots=True)
class Ranks:
    """An entry's rank, from 1, in each ranking; None where it is not in it."""

    bm25: int | None
    embedding: int | None


@dataclass(frozen=True, slots=True)
class Fused:
    entry: int
    score: float
    ranks: Ranks


def fused(bm25: Sequence[int], embedding: Sequence[int]) -> list[Fused]:
    """The entries of both rankings, best first; of equal ones the better in BM25 first."""
    first = {entry: rank for rank, entry in enumerate(bm25, 1)}
    second = {entry: rank for rank, entry in enumerate(embedding, 1)}
    found = [
        Fused(entry, _gain(first.get(entry)) + _gain(second.get(entry)), ranks)
        for entry in dict.fromkeys((*bm25, *embedding))
        for ranks in (Ranks(first.get(entry), second.get(entry)),)
    ]
    return sorted(found, key=lambda one: -one.score)


def _gain(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / (_K + rank)
