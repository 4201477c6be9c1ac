"""One source file from two: what two machines appended to the same thread, joined by records.

Lines are never merged. Git's own union of two appended runs puts a record's heading into the midst
of another record where both hold the same lines, and so words into another message's mouth.

Promises: every record of either side is there once, each side's order is kept, and the result is
the same whichever side is called ours. A record that either side erased is erased. A section that
cannot be read is carried along as it stands. Does no I/O and never raises.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from scriptorium.format import sources
from scriptorium.format.times import moment

type _Key = tuple[str, int]
"""A section's heading, and how many of the same name stand before it."""

_UNKNOWN = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Section:
    """The text from one `## ` line to the next."""

    key: _Key
    text: str
    """Without blank lines at the end."""
    sound: bool
    erased: bool
    time: datetime

    @property
    def rank(self) -> tuple[bool, bool, str]:
        """Of two forms of one record the higher stays: an erased one, else one that can be read."""
        return (self.erased, self.sound, self.text)


def joined(ours: str, theirs: str) -> str:
    """The source file with the records of both."""
    if ours == theirs:
        return ours
    start, mine = _sections(ours)
    other_start, other = _sections(theirs)
    shared = {s.key for s in mine} & {s.key for s in other}
    here, there = _gaps(mine, shared), _gaps(other, shared)
    forms = {s.key: s for s in other}
    order = list(_by_time(here, there, None))
    for section in (s for s in mine if s.key in shared):
        order.append(max(section, forms[section.key], key=lambda form: form.rank))
        order += _by_time(here, there, section.key)
    return "\n".join([_start(start, other_start), *(f"{section.text}\n" for section in order)])


def _start(ours: str, theirs: str) -> str:
    """What stands before the records; the longer text where a person added to it."""
    return max(ours, theirs, key=lambda text: (len(text), text))


def _sections(text: str) -> tuple[str, list[_Section]]:
    """What stands before the first section, and the sections."""
    pieces: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.startswith("## "):
            pieces.append([])
        pieces[-1].append(line)
    count: dict[str, int] = {}
    sections = []
    for piece in pieces[1:]:
        heading = piece[0].rstrip("\r")
        number = count.get(heading, 0)
        count[heading] = number + 1
        sections.append(_section((heading, number), _trimmed(piece)))
    start = _trimmed(pieces[0])
    return f"{start}\n" if start else "", sections


def _trimmed(lines: Sequence[str]) -> str:
    end = len(lines)
    while end and not lines[end - 1].strip("\r"):
        end -= 1
    return "\n".join(lines[:end])


def _section(key: _Key, text: str) -> _Section:
    records, _ = sources.parse(text)
    quoted = any(line.startswith(">") for line in text.split("\n"))
    time = moment(records[0].observed_at) if records else None
    return _Section(key, text, bool(records), bool(records) and not quoted, time or _UNKNOWN)


def _gaps(sections: Sequence[_Section], shared: set[_Key]) -> dict[_Key | None, list[_Section]]:
    """The sections of one side alone, by the shared section that they follow."""
    gaps: dict[_Key | None, list[_Section]] = {}
    after: _Key | None = None
    for section in sections:
        if section.key in shared:
            after = section.key
        else:
            gaps.setdefault(after, []).append(section)
    return gaps


def _by_time(
    here: dict[_Key | None, list[_Section]],
    there: dict[_Key | None, list[_Section]],
    after: _Key | None,
) -> Iterable[_Section]:
    """Both sides' own sections in one place: the earlier message first, each side's order kept."""
    return heapq.merge(here.get(after, ()), there.get(after, ()), key=lambda s: (s.time, s.key))
