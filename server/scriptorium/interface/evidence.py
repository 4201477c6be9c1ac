"""What a block rests on: its footnotes, and the words of the sources that they name.

Promises that a missing source is shown as missing, never left out in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scriptorium.errors import Json
from scriptorium.format import ids
from scriptorium.format.model import Evidence, SourceId, SourceRecord, SourceRef
from scriptorium.interface import envelope
from scriptorium.interface.memory import Found, Memory


@dataclass(frozen=True, slots=True)
class Shown:
    """Evidence as an answer shows it."""

    records: Sequence[Json]
    truncated: bool
    """Whether definitions are left out, or contents cut."""


@dataclass(frozen=True, slots=True)
class Words:
    """A source that an evidence definition names; `record` is None where it does not exist."""

    id: str
    path: str | None
    record: SourceRecord | None


def words(found: Found, evidence: Evidence) -> tuple[Words, ...]:
    """The sources that one definition names, with what was said in them."""
    return tuple(_words(found, ref) for ref in evidence.sources)


def shown(memory: Memory, found: Found, cites: Sequence[Evidence], room: int) -> Shown:
    """The evidence as records of at most `room` bytes; long contents share what there is."""
    sources = sum(len(evidence.sources) for evidence in cites)
    share = max(200, (room - 400 * sources - 100 * len(cites)) // max(1, sources))
    records: list[dict[str, Json]] = []
    cut = False
    for evidence in cites:
        said = words(found, evidence)
        cut = cut or any(_is_long(source, share) for source in said)
        sources_shown = [_source(memory, found, source, share) for source in said]
        records.append({"id": evidence.id, "time": evidence.time, "sources": sources_shown})
    taken = envelope.take(records, room)
    return Shown(taken, cut or len(taken) < len(records))


def _source(memory: Memory, found: Found, source: Words, share: int) -> dict[str, Json]:
    if source.record is None or source.path is None:
        return {"id": source.id, "path": None, "missing": True}
    shown: dict[str, Json] = {
        "id": source.id,
        "path": memory.qualify(found.layer, source.path),
        "role": source.record.role,
        "observed_at": source.record.observed_at,
        "content": envelope.clip(source.record.content, share),
    }
    if _is_long(source, share):
        shown["truncated"] = True
        shown["heading"] = ids.anchor(source.record.id)
    return shown


def _is_long(source: Words, share: int) -> bool:
    return source.record is not None and envelope.size(source.record.content) - 2 > share


def _words(found: Found, ref: SourceRef) -> Words:
    source = found.snapshot.source_named(found.path, ref)
    record = found.snapshot.source(source)
    where = found.snapshot.source_path(SourceId(source)) if record else None
    return Words(source, where, record)
