"""The text of a journal: one update, whole, in one file. Pure.

    scriptorium-journal 1 <sha256 of everything after this line>\\n
    {"boot": …, "meta": {…}, "changes": [{"path", "before", "after", "size"}, …]}\\n
    <the new contents, one after the other>

The checksum makes a torn journal recognisable. `before` and `after` are SHA-256 digests in hex,
null for a file that is not there; a deletion has no content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from scriptorium.workspace.digests import digest

_MAGIC = b"scriptorium-journal "
_VERSION = b"1"


class TornJournalError(Exception):
    """The journal is incomplete or damaged: its update was never committed."""


class UnknownJournalError(Exception):
    """The journal is of a version that this program cannot read."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One file of an update: its digests before and after, and its new content (None: deleted)."""

    path: str
    before: str | None
    after: str | None
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """One update. `boot` names the run of the machine in which it was written; empty if unknown."""

    boot: str
    entries: tuple[JournalEntry, ...]
    meta: Mapping[str, str] = field(default_factory=dict)


def encode(record: Record) -> bytes:
    """The bytes of the journal; `decode` gives the record back."""
    head = {
        "boot": record.boot,
        "meta": dict(record.meta),
        "changes": [
            {
                "path": entry.path,
                "before": entry.before,
                "after": entry.after,
                "size": None if entry.content is None else len(entry.content),
            }
            for entry in record.entries
        ],
    }
    contents = [entry.content for entry in record.entries if entry.content is not None]
    body = b"".join([json.dumps(head).encode("ascii"), b"\n", *contents])
    return b"%s%s %s\n%s" % (_MAGIC, _VERSION, digest(body).encode("ascii"), body)


def paths(data: bytes) -> list[str]:
    """The files of a journal, whose contents are not looked at; none where it is unreadable."""
    first, _, rest = data.partition(b"\n")
    if not first.startswith(_MAGIC + _VERSION + b" "):
        return []
    try:
        return [change["path"] for change in json.loads(rest[: rest.find(b"\n")])["changes"]]
    except (ValueError, KeyError, TypeError):
        return []


def decode(data: bytes) -> Record:
    """The record that `encode` wrote. Raises TornJournalError and UnknownJournalError."""
    line, newline, body = data.partition(b"\n")
    words = line.split(b" ")
    if not newline or not line.startswith(_MAGIC) or len(words) != 3:
        raise TornJournalError
    if words[1] != _VERSION:
        raise UnknownJournalError(words[1].decode("ascii", "replace"))
    if words[2] != digest(body).encode("ascii"):
        raise TornJournalError
    head, _, contents = body.partition(b"\n")
    parsed = json.loads(head)
    entries: list[JournalEntry] = []
    start = 0
    for change in parsed["changes"]:
        size = change["size"]
        content = None if size is None else contents[start : start + size]
        start += size or 0
        entries.append(JournalEntry(change["path"], change["before"], change["after"], content))
    return Record(parsed["boot"], tuple(entries), parsed["meta"])
