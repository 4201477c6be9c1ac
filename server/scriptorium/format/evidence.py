"""Footnote definitions that are evidence: `[^e-…]: Time: …; Sources: …`.

Owns the form of a definition and says what is wrong with one. Promises to find what can be found in
a broken definition. It must not ask whether a source exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from scriptorium.format import inline
from scriptorium.format.lines import DEFINITION
from scriptorium.format.model import Block, Evidence, EvidenceId, SourceRef, Topic
from scriptorium.format.times import is_time

type Fault = Literal["evidence-format", "evidence-time", "evidence-without-source"]

_TIME = re.compile(r"\s*+Time\s*+:\s*+(`?)([^`;]*+)\1\s*+(?:;|$)")
_SOURCES = re.compile(r"\s*+Sources\s*+:")
_BARE = re.compile(r"[^\s,;\[\]()`<>]*[^\s,;\[\]()`<>.:]")
_LABEL = re.compile(r"\[([^\s\[\]^]++)\]")
_COMMA = re.compile(r"\s*+,\s*+")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a definition says, and what is wrong with its form."""

    time: str | None
    sources: tuple[SourceRef, ...]
    faults: tuple[Fault, ...]


def evidence(text: str, line: int) -> Evidence:
    """The evidence that a definition gives; `text` is the definition as it stands in the file."""
    found = DEFINITION.search(text)
    label = EvidenceId(found[1]) if found else EvidenceId("")
    reading = read(text)
    return Evidence(label, reading.time, reading.sources, line, text)


def cited(topic: Topic, block: Block) -> tuple[Evidence, ...]:
    """The definitions that a block of the topic cites, in the order of its citations."""
    defined = {evidence.id: evidence for evidence in topic.evidence}
    names = dict.fromkeys(name for claim in block.claims for name in claim.evidence)
    return tuple(defined[name] for name in names if name in defined)


@lru_cache(maxsize=512)  # an update meets each definition of its files several times
def read(text: str) -> Reading:
    """Time, sources and faults of a definition."""
    found = DEFINITION.search(text)
    said = text[found.end() :] if found else text
    time = _TIME.match(said)
    if time is None:
        return Reading(None, (), ("evidence-format",))
    faults: list[Fault] = []
    when = time[2].strip()
    if "Sources" in when:
        return Reading(None, (), ("evidence-format",))
    if not is_time(when):
        faults.append("evidence-time")
    sources = _SOURCES.match(said, time.end())
    if sources is None:
        rest = said[time.end() :].strip()
        faults.append("evidence-format" if rest else "evidence-without-source")
        return Reading(when if is_time(when) else None, (), tuple(faults))
    refs, complete = _references(said[sources.end() :])
    if not complete:
        faults.append("evidence-format")
    elif not refs:
        faults.append("evidence-without-source")
    return Reading(when if is_time(when) else None, refs, tuple(faults))


def _references(text: str) -> tuple[tuple[SourceRef, ...], bool]:
    """The sources of a comma-separated list, and whether it is nothing but that."""
    masked = inline.mask(text)
    links = {span.start: span for span in inline.spans(text, masked)}
    refs: list[SourceRef] = []
    at = len(text) - len(text.lstrip())
    while at < len(text):
        if link := links.get(at):
            name = inline.plain_label(text[link.start + 1 : link.middle])
            refs.append(SourceRef(name, inline.decode(link.target)))
            at = link.end
        elif bare := _BARE.match(masked, at) or _LABEL.match(masked, at):
            refs.append(SourceRef(bare[bare.lastindex or 0], None))
            at = bare.end()
        else:
            return tuple(refs), False
        comma = _COMMA.match(text, at)
        if comma is None:
            return tuple(refs), not text[at:].strip()
        at = comma.end()
    return tuple(refs), not refs
