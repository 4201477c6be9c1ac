"""Reciprocal rank fusion: one order out of two, by ranks alone, for scores of two kinds do not
compare.

A document at rank r of a ranking gains 1 / (60 + r). Cormack, Clarke and Büttcher, "Reciprocal Rank
Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009; 60 is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_K = 60


@dataclass(frozen=True, slots=True)
class Ranks:
    """A document's rank, from 1, in each ranking; None where it is not in it."""

    bm25: int | None
    embedding: int | None


@dataclass(frozen=True, slots=True)
class Fused:
    document: int
    score: float
    ranks: Ranks


def fused(bm25: Sequence[int], embedding: Sequence[int]) -> list[Fused]:
    """The documents of both rankings, best first; of equal ones the better in BM25 first."""
    first = {document: rank for rank, document in enumerate(bm25, 1)}
    second = {document: rank for rank, document in enumerate(embedding, 1)}
    found = [
        Fused(document, _gain(first.get(document)) + _gain(second.get(document)), ranks)
        for document in dict.fromkeys((*bm25, *embedding))
        for ranks in (Ranks(first.get(document), second.get(document)),)
    ]
    return sorted(found, key=lambda one: -one.score)


def _gain(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / (_K + rank)
