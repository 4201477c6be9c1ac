"""BM25 as in `rank_bm25`, over postings. The only importer of rank_bm25.

The formula, its parameters and its IDF are BM25Okapi's; the counting is ours. Scores are equal to
the library's wherever its IDF is sound. Two things are added:

- the repair of the IDF. BM25Okapi gives log((N-n+½)/(n+½)) to a term that n of N units hold: 0 for
  one unit of two, and for more than half of them a share of the average IDF, which in a small
  corpus is negative and elsewhere ranks a word of half the units above a rarer one. Here no term
  falls below ε·log(1 + (N-n+½)/(n+½)), with the library's ε = ¼: positive, and falling in n like
  the formula itself.
- context. A term counts in a unit's neighbours too, half as much with each step away, up to three
  steps; the unit's length grows by its neighbours' lengths at the same weights. So a neighbour has
  half the count of the unit that holds the word, and at least half its length: the unit that holds
  the word stays ahead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rank_bm25 import BM25Okapi

from scriptorium.search.arrays import Array
from scriptorium.search.postings import Segment

REACH = 3
"""Steps along a thread or a block over which context counts."""
FADE = 0.5
"""What is left of a term's weight after each step."""
MOST_TERMS = 64
"""Terms of a query that are looked up; of a pasted page, which has more, the rarest."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The units that are scored, as columns."""

    segments: Sequence[Segment]
    alive: Array
    """bool, one a unit: the dead hold no term."""
    size: Array
    """float64, one a unit: length with context."""
    before: Array
    after: Array
    """int32, one more than units: the neighbour of each, -1 for none; the last one is -1."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    total: Array
    """float64, one a unit; above 0 exactly where the unit or its context has a term."""
    own: Array
    """uint64, one a unit: a bit for each term of the query that stands in the unit itself."""
    near: Array
    """uint64, one a unit: a bit for each word of the query that stands in it or its context."""

    def hits(self) -> Array:
        """bool, one a unit: it has a term itself, or its context has two words of the query.

        Where a thread is about what was asked, its answers count though they repeat none of the
        words; a single word that is found beside a unit says too little about it.
        """
        several = (self.near & (self.near - np.uint64(1))) != 0
        return np.asarray((self.own != 0) | ((self.near != 0) & several))


class Wanted(NamedTuple):
    """A term of a query, by its key, and which word of the query it speaks for (None: for none)."""

    key: int
    word: int | None = None


class Okapi(BM25Okapi):  # type: ignore[misc]  # rank_bm25 has no types
    """BM25Okapi over units that were counted before, for the terms of one query."""

    def __init__(self, sizes: Array, holders: Mapping[int, int]) -> None:
        """`sizes`: each unit's length; `holders`: how many units hold each term, at least 1."""
        super().__init__((sizes, holders))

    def _initialize(self, corpus: tuple[Array, Mapping[int, int]]) -> Mapping[int, int]:
        sizes, holders = corpus
        self.corpus_size = len(sizes)
        self.avgdl = float(sizes.mean())
        return holders

    def _calc_idf(self, nd: Mapping[int, int]) -> None:
        super()._calc_idf(nd)
        for term, holders in nd.items():
            odds = (self.corpus_size - holders + 0.5) / (holders + 0.5)
            floor = self.epsilon * math.log1p(odds)
            if math.log(odds) < floor:
                self.idf[term] = floor

    def norms(self, sizes: Array) -> Array:
        """What the length of each unit adds to the count of a term in the formula's denominator."""
        return np.asarray(self.k1 * (1 - self.b + self.b * sizes / self.avgdl))

    def weigh(self, term: int, counts: Array, norms: Array) -> Array:
        """The score of one term in units that hold it `counts` times."""
        return np.asarray(counts * (self.idf[term] * (self.k1 + 1)) / (counts + norms))


def spread(values: Array, before: Array, after: Array, units: Array) -> Array:
    """The values of `units` with their neighbours' values, each step away at half the weight."""
    total = values[units].astype(np.float64)
    for neighbour in (before, after):
        places, reached, weight = np.arange(len(units)), units, 1.0
        for _ in range(REACH):
            reached, weight = neighbour[reached], weight * FADE
            inside = reached >= 0
            places, reached = places[inside], reached[inside]
            total[places] += weight * values[reached]
    return total


def score(field: Field, query: Sequence[Wanted]) -> Scores:
    """The scores of all units; a term that the query repeats counts again."""
    size = len(field.alive)
    scores = Scores(np.zeros(size), np.zeros(size, np.uint64), np.zeros(size, np.uint64))
    found = _found(field, query)
    if found:
        living = field.size if field.alive.all() else field.size[field.alive]
        okapi = Okapi(living, {key: len(units) for key, (units, _) in found.items()})
        _add(scores, field, query, found, okapi)
    return scores


def _add(
    scores: Scores,
    field: Field,
    query: Sequence[Wanted],
    found: Mapping[int, tuple[Array, Array]],
    okapi: Okapi,
) -> None:
    norms = okapi.norms(field.size)
    weights = np.zeros(len(norms))
    repeated = Counter(wanted.key for wanted in query)
    word_of = {wanted.key: wanted.word for wanted in reversed(query)}
    bits = {word: 1 << nth for nth, word in enumerate(dict.fromkeys(word_of[key] for key in found))}
    for nth, (key, (units, counts)) in enumerate(found.items()):
        places = _scatter(weights, units, counts, field)
        gained = okapi.weigh(key, weights[places], norms[places]) * repeated[key]
        # A unit that several steps reach stands in `places` repeatedly, each time with one and the
        # same sum, and is assigned it, not added to again.
        scores.total[places] = scores.total[places] + gained
        scores.own[units] |= np.uint64(1 << nth)
        if word_of[key] is not None:
            scores.near[places] |= np.uint64(bits[word_of[key]])
        weights[places] = 0.0


def _found(field: Field, query: Sequence[Wanted]) -> dict[int, tuple[Array, Array]]:
    """The living postings of the query's terms: the rarest MOST_TERMS, in the query's order."""
    found: dict[int, tuple[Array, Array]] = {}
    whole = bool(field.alive.all())
    for key in dict.fromkeys(wanted.key for wanted in query):
        parts = [part for segment in field.segments if (part := segment.of(key))]
        if not parts:
            continue
        units = np.concatenate([units for units, _ in parts])
        counts = np.concatenate([counts for _, counts in parts])
        if not whole:
            living = field.alive[units]
            units, counts = units[living], counts[living]
        if len(units):
            found[key] = (units, counts)
    if len(found) > MOST_TERMS:
        rarest = set(sorted(found, key=lambda key: len(found[key][0]))[:MOST_TERMS])
        found = {key: postings for key, postings in found.items() if key in rarest}
    return found


def _scatter(weights: Array, units: Array, counts: Array, field: Field) -> Array:
    """Adds the counts to the units and, fading, to their neighbours; returns the places touched."""
    weights[units] += counts
    touched = [units]
    for neighbour in (field.before, field.after):
        reached, faded = units, counts
        for _ in range(REACH):
            reached = neighbour[reached]
            inside = reached >= 0
            reached, faded = reached[inside], faded[inside] * FADE
            if not len(reached):
                break
            weights[reached] += faded
            touched.append(reached)
    return np.concatenate(touched)
