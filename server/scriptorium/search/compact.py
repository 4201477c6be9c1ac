"""A collection without its dead rows, and its file in the workspace's cache.

The file is a cache: it may be missing, old, or written by another version or process, and is then
built anew. Whoever writes it writes all of it (`journal.write_runtime`), so a reader never meets
half.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from scriptorium.search import arrays, postings
from scriptorium.search.arrays import Array, Stored
from scriptorium.search.collection import Collection, empty
from scriptorium.search.columns import Columns, Records
from scriptorium.search.postings import Segment
from scriptorium.workspace import journal
from scriptorium.workspace.layout import Layout

NAME = "cache/search.arrays"
_FORMAT = "4"
"""To be raised with every change to what terms, units or columns mean."""


def compacted(collection: Collection) -> Collection:
    """The same living documents in one segment, numbered anew."""
    old = collection.columns
    kept_documents = np.flatnonzero(collection.alive)
    kept_units = np.flatnonzero(collection.unit_alive)
    document_number = _renumbered(len(collection.alive), kept_documents)
    unit_number = _renumbered(len(old.unit_document), kept_units)
    used = np.unique(old.document_path[kept_documents])
    path_number = _renumbered(len(collection.paths), used)
    spans = np.flatnonzero(unit_number[old.span_unit] >= 0)
    columns = Columns(
        document_path=path_number[old.document_path[kept_documents]],
        document_kind=old.document_kind[kept_documents],
        document_newest=old.document_newest[kept_documents],
        document_print=old.document_print[kept_documents],
        document_first=unit_number[old.document_first[kept_documents]],
        unit_document=document_number[old.unit_document[kept_units]],
        unit_own=old.unit_own[kept_units],
        unit_size=old.unit_size[kept_units],
        unit_before=unit_number[old.unit_before[kept_units]],
        unit_after=unit_number[old.unit_after[kept_units]],
        unit_digest=old.unit_digest[kept_units],
        span_unit=unit_number[old.span_unit[spans]],
        span_first=old.span_first[spans],
        span_last=old.span_last[spans],
    )
    segments, names = collection.segments, tuple(collection.paths)
    return Collection(
        epoch=collection.epoch,
        sequence=collection.sequence,
        languages=collection.languages,
        paths={names[old]: new for new, old in enumerate(used.tolist())},
        columns=columns,
        alive=np.ones(len(kept_documents), bool),
        records=_packed(collection.records, kept_documents),
        segments=(postings.merged(segments, unit_number),) if segments else (),
    )


def stored(layout: Layout) -> Collection:
    """The collection in the workspace's cache; the empty one where there is no good file."""
    found = arrays.load(layout.runtime_dir / NAME)
    if found is None or found.labels.get("format") != _FORMAT:
        return empty()
    try:
        return _from(found)
    except (KeyError, ValueError):
        return empty()


def store(layout: Layout, collection: Collection) -> None:
    """The workspace's cache holds the collection, which must be compacted. Raises OSError."""
    segment = collection.segments[0] if collection.segments else postings.segment(())
    columns = {f.name: getattr(collection.columns, f.name) for f in fields(Columns)}
    postings_arrays = {f.name: getattr(segment, f.name) for f in fields(Segment)}
    records = {"records": collection.records.data, "record_starts": collection.records.starts}
    data = arrays.pack(
        Stored(
            labels={
                "format": _FORMAT,
                "epoch": collection.epoch,
                "sequence": str(collection.sequence),
            },
            lists={
                "paths": tuple(collection.paths),
                "languages": tuple(sorted(collection.languages)),
            },
            arrays={**columns, **postings_arrays, **records},
        )
    )
    journal.write_runtime(layout, NAME, data)


def _from(found: Stored) -> Collection:
    columns = Columns(**{f.name: found.arrays[f.name] for f in fields(Columns)})
    segment = Segment(**{f.name: found.arrays[f.name] for f in fields(Segment)})
    return Collection(
        epoch=found.labels["epoch"],
        sequence=int(found.labels["sequence"]),
        languages=frozenset(found.lists["languages"]),
        paths={path: number for number, path in enumerate(found.lists["paths"])},
        columns=columns,
        alive=np.ones(len(columns.document_path), bool),
        records=Records(found.arrays["records"], found.arrays["record_starts"]),
        segments=(segment,) if len(segment) else (),
    )


def _renumbered(size: int, kept: Array) -> Array:
    """For each old number the new one, -1 for the dropped; index -1 stays -1."""
    numbers = np.full(size + 1, -1, np.int32)
    numbers[kept] = np.arange(len(kept))
    return numbers


def _packed(records: Records, kept: Array) -> Records:
    parts = [records[document] for document in kept.tolist()]
    starts = np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64)
    return Records(np.frombuffer(b"".join(parts), np.uint8), starts)
