"""What of a unit, and of what stands around it, an embedding is made of.

A claim is embedded with its heading path. A message is embedded with the message before and the one
after it, as far as they fit: an answer such as "Yes, in May" means little without its question. The
key of a vector is made of the texts' hashes, so only what is new is ever sent.
"""

from __future__ import annotations

import numpy as np

from scriptorium.search.arrays import Array
from scriptorium.search.bm25 import FADE
from scriptorium.search.collection import Collection

MOST = 4000
"""Characters that are sent of one text."""
_BESIDE = 500
"""Characters of a neighbour: the end of the one before, the beginning of the one after."""


def keys(collection: Collection) -> Array:
    """uint64, two for each unit: the identity of the text that `text` gives."""
    columns = collection.columns
    own = columns.unit_digest
    padded = np.concatenate([own, np.zeros((1, 2), np.uint64)])
    is_message = (columns.document_kind[columns.unit_document] == 1)[:, None]
    before = np.where(is_message, padded[columns.unit_before], np.uint64(0))
    after = np.where(is_message, padded[columns.unit_after], np.uint64(0))
    # Odd factors keep the 128 bits of each and tell the three places apart.
    return np.asarray(
        own * np.uint64(0x9E3779B97F4A7C15)
        + before * np.uint64(0xC2B2AE3D27D4EB4F)
        + after * np.uint64(0x165667B19E3779F9)
    )


def averaged(collection: Collection, similarity: Array, known: Array) -> Array:
    """Each unit's similarity averaged with its neighbours', these at half the weight, where known.

    One step, for `text` already reaches one step: the noise of single vectors evens out.
    """
    padded = np.append(np.where(known, similarity, 0.0), 0.0)
    there = np.append(known, False).astype(np.float64)
    columns = collection.columns
    total, weight = padded[:-1].copy(), there[:-1].copy()
    for neighbour in (columns.unit_before, columns.unit_after):
        total += FADE * padded[neighbour]
        weight += FADE * there[neighbour]
    return np.asarray(total / np.maximum(weight, 1.0))


def text(collection: Collection, unit: int) -> str:
    """What is sent for a unit."""
    columns = collection.columns
    own = _text(collection, unit)[:MOST]
    if collection.kind(int(columns.unit_document[unit])) == "block":
        return own
    before, after = int(columns.unit_before[unit]), int(columns.unit_after[unit])
    parts = [own]
    if before >= 0:
        parts.insert(0, _text(collection, before)[-_BESIDE:])
    if after >= 0:
        parts.append(_text(collection, after)[:_BESIDE])
    return "\n".join(parts)


def _text(collection: Collection, unit: int) -> str:
    document = int(collection.columns.unit_document[unit])
    texts = collection.shown(document).embedding_texts()
    return texts[unit - int(collection.columns.document_first[document])]
