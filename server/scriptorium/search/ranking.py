"""From scores of units to documents in the order that a person would call right.

The better score first. Of equal ones the block before the source, the newer before the older. A
block that holds every word of the query which a source holds that it cites, stands before that
source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scriptorium.search.arrays import Array
from scriptorium.search.collection import Collection
from scriptorium.search.units import Shown


@dataclass(frozen=True, slots=True)
class Placed:
    document: int
    score: float


def best(collection: Collection, scores: Array, allowed: Array, most: int) -> list[Placed]:
    """The `most` best documents, each once, by their best allowed unit."""
    places = np.flatnonzero(allowed & collection.unit_alive)
    if not len(places):
        return []
    values = np.round(scores[places], 9)
    wanted = most
    while True:
        chosen = _upper(values, wanted)
        ranked = _ordered(collection, places[chosen], values[chosen])
        if len(ranked) >= most or len(chosen) == len(places):
            return ranked[:most]
        wanted *= 4  # many units of few documents


def _upper(values: Array, wanted: int) -> Array:
    """Where the `wanted` highest values are, and all that equal the last of them."""
    if len(values) <= wanted:
        return np.arange(len(values))
    least = np.partition(values, len(values) - wanted)[len(values) - wanted]
    return np.flatnonzero(values >= least)


def _ordered(collection: Collection, places: Array, values: Array) -> list[Placed]:
    columns = collection.columns
    documents = columns.unit_document[places]
    order = np.lexsort(
        (-documents, -columns.document_newest[documents], columns.document_kind[documents], -values)
    )
    scored: dict[int, float] = {}
    for document, value in zip(documents[order].tolist(), values[order].tolist(), strict=True):
        scored.setdefault(document, value)
    return [Placed(document, score) for document, score in scored.items()]


def blocks_first(
    collection: Collection, ranked: list[Placed], own: Array, shown: Mapping[int, Shown]
) -> list[Placed]:
    """`ranked` with every block before the sources that it cites and that hold no word beyond its
    own.

    A block that moves up takes over the score of the source it stands for.
    """
    matched = _matched(collection, [placed.document for placed in ranked], own)
    source_of: dict[str, int] = {}
    result: list[Placed] = []
    for placed in ranked:
        if collection.kind(placed.document) == "source":
            source_of[shown[placed.document].id] = placed.document
            result.append(placed)
            continue
        held = matched[placed.document]
        sources = shown[placed.document].sources
        cited = {source_of[source] for source in sources if source in source_of}
        beaten = {document for document in cited if not matched[document] & ~held}
        first = next((n for n, other in enumerate(result) if other.document in beaten), None)
        if first is None:
            result.append(placed)
        else:
            result.insert(first, Placed(placed.document, result[first].score))
    return result


def _matched(collection: Collection, documents: list[int], own: Array) -> dict[int, int]:
    """For each document the bits of the query's terms that stand in any of its units."""
    matched: dict[int, int] = {}
    unit_document, first = collection.columns.unit_document, collection.columns.document_first
    for document in documents:
        unit, bits = int(first[document]), 0
        while unit < len(unit_document) and unit_document[unit] == document:
            bits |= int(own[unit])
            unit += 1
        matched[document] = bits
    return matched
