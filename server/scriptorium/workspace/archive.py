"""The sources of an update: their ids, and the files that hold them afterwards.

Promises: the same batch sent again gives the same ids and changes no file; what a source file holds
stays its beginning, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scriptorium.errors import InvalidArgument
from scriptorium.format import ids, paths, sources
from scriptorium.format.model import RelPath, SourceId, SourceRecord
from scriptorium.format.times import normalise_time

MOST_SOURCES = 100
MOST_CONTENT = 1 << 20
"""Bytes of UTF-8 in all contents of one update."""

_LABEL = re.compile(r"new-source-[^\W_](?:[\w-]*[^\W_])?")


@dataclass(frozen=True, slots=True)
class SourceInput:
    """One verbatim message that comes with an update."""

    label: str
    """`new-source-<name>`, by which the update cites it."""
    role: str
    content: str
    observed_at: str | None
    """ISO 8601; None when it is not known."""
    id: SourceId | None = None
    """The message's own id; without one it gets the id of its place in the batch."""


def check(inputs: Sequence[SourceInput]) -> None:
    """The sources are within the limits and their labels tell them apart. Raises
    InvalidArgument.
    """
    if len(inputs) > MOST_SOURCES:
        raise InvalidArgument(
            f"An update takes at most {MOST_SOURCES} sources, not {len(inputs)}. Split it."
        )
    size = sum(len(s.content.encode("utf-8", "surrogatepass")) for s in inputs)
    if size > MOST_CONTENT:
        raise InvalidArgument(
            f"The sources hold {size} bytes of content, more than {MOST_CONTENT}. Send fewer."
        )
    seen: set[str] = set()
    for source in inputs:
        if not _LABEL.fullmatch(source.label):
            raise InvalidArgument(
                f"The label {paths.show(source.label)!r} is not of the form new-source-<name>"
                " (letters and digits of any script, with - and _ between)."
            )
        if source.label in seen:
            raise InvalidArgument(f"Two sources have the label {source.label}. Name each once.")
        seen.add(source.label)
        sources.check_role(source.role)


def records(provider: str, inputs: Sequence[SourceInput]) -> dict[str, SourceRecord]:
    """The record of each label. Raises InvalidArgument for a time that is none."""
    batch = [s for s in inputs if s.id is None]
    named = ids.batch(provider, [sources.Message(s.role, s.content, s.observed_at) for s in batch])
    own = {s.label: id_ for s, id_ in zip(batch, named, strict=True)}
    return {
        s.label: SourceRecord(
            s.id or own[s.label],
            s.role,
            normalise_time(s.observed_at) if s.observed_at else None,
            s.content,
        )
        for s in inputs
    }


def archived(
    records_: Mapping[str, SourceRecord], read: Callable[[RelPath], bytes | None]
) -> dict[RelPath, bytes]:
    """The new content of every source file that the records change."""
    threads: dict[RelPath, list[SourceRecord]] = {}
    for record in records_.values():
        threads.setdefault(sources.thread_path(record.id), []).append(record)
    changed = {}
    for path, thread in threads.items():
        before = read(path) or b""
        # Bytes that are no UTF-8 are a person's doing, and come back as they were.
        text = sources.append(before.decode("utf-8", "surrogateescape"), thread)
        after = text.encode("utf-8", "surrogateescape")
        if after != before:
            changed[path] = after
    return changed
