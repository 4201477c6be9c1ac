"""What of a workspace is searched: documents (blocks and source records) and their units.

A block is one document, and each of its claims a unit; a source record is a document of one unit.
A document is known by a fingerprint of all that search keeps of it, so that a file which changed
costs only the documents which changed. Reads nothing but the values it is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

from scriptorium.format.model import Block, Evidence, SourceRecord, Topic
from scriptorium.search import dates
from scriptorium.search.postings import term_key
from scriptorium.search.tokenize import terms_and_language

type Kind = Literal["block", "source"]

LOWER = 0.5
"""The weight of a term in a heading or a time, beside 1 for the text itself."""
_DATED = 3
"""The terms of a full date. Each unit is as long as if it had one: were its own times counted, the
best dated of equal claims would be the longest and come last."""
KEPT = 4000
"""Characters of a source that search keeps and embeds; a longer one is read from its file."""

_LINK_TARGET = re.compile(r"\]\([^()\s]*\)")
_ID_AT_END = re.compile(r"[ \t]*(?:^|(?<=\s))\^[A-Za-z0-9-]+[ \t]*\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shown:
    """What an answer shows of a document."""

    id: str
    """The block's id (empty where a person wrote none) or the source's."""
    headings: tuple[str, ...]
    content: str | None
    """None where a source is too long to keep: it is read from its file."""
    times: tuple[str, ...]
    sources: tuple[str, ...]
    embedded: tuple[str, ...]
    """What an embedding of each unit is made of; empty where that is the content."""

    def embedding_texts(self) -> tuple[str, ...]:
        return self.embedded or (self.content or "",)


@dataclass(frozen=True, slots=True)
class Unit:
    terms: Mapping[int, float]
    size: float
    spans: tuple[tuple[int, int], ...]
    """Days, as ordinals, at which it held."""
    digest: tuple[int, int]
    """128 bits of a hash of the text that an embedding is made of."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A document ready to be indexed."""

    units: tuple[Unit, ...]
    language: str


@dataclass(frozen=True, slots=True)
class Document:
    kind: Kind
    shown: Shown
    texts: tuple[str, ...]
    """The text of each unit."""
    times: tuple[tuple[str, ...], ...]
    """The times of each unit."""
    fingerprint: int
    newest: int
    """When it last held, in seconds to order by; 0 where that is unknown."""

    def counted(self) -> Counted:
        """The units of the document, their words counted."""
        headings = _terms(" \n".join(self.shown.headings))
        embedded = self.shown.embedding_texts()
        units = []
        language = ""
        for text, times, source in zip(self.texts, self.times, embedded, strict=True):
            own, spoken = terms_and_language(text)
            language = language or spoken
            units.append(_unit(own, headings, times, source))
        return Counted(tuple(units), language)

    def encoded(self) -> bytes:
        """What `decoded` makes `shown` of again."""
        fields = (
            self.shown.id,
            self.shown.headings,
            self.shown.content,
            self.shown.times,
            self.shown.sources,
            self.shown.embedded,
        )
        return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> Shown:
    """The `shown` of a document from its bytes."""
    one, headings, content, times, sources, embedded = json.loads(
        data.decode("utf-8", "surrogatepass")
    )
    return Shown(one, tuple(headings), content, tuple(times), tuple(sources), tuple(embedded))


def of_topic(topic: Topic) -> Iterator[Document]:
    """The blocks of a topic, in order; those without an id too, for a person's notes are found."""
    evidence: dict[str, Evidence] = {each.id: each for each in topic.evidence}
    for block in topic.blocks:
        if document := _of_block(block, evidence):
            yield document


def of_sources(records: Iterable[SourceRecord]) -> Iterator[Document]:
    """The records of a thread, in order."""
    for record in records:
        time = (record.observed_at or "")[:10]
        times = (time,) if dates.span(time) else ()
        kept = record.content if len(record.content) <= KEPT else None
        embedded = () if kept is not None else (record.content[:KEPT],)
        shown = Shown(record.id, (), kept, times, (record.id,), embedded)
        fingerprint = _fingerprint("source", record.id, record.observed_at or "", record.content)
        newest = dates.instant(record.observed_at)
        yield Document("source", shown, (record.content,), (times,), fingerprint, newest)


def _of_block(block: Block, evidence: Mapping[str, Evidence]) -> Document | None:
    claims = [(claim.text, claim.evidence) for claim in block.claims]
    if block.trailing.strip():
        claims.append((block.trailing, ()))
    if not claims:
        return None
    cited = [[evidence[label] for label in labels if label in evidence] for _, labels in claims]
    texts = tuple(_LINK_TARGET.sub("]", text) for text, _ in claims)
    times = tuple(_distinct(found.time for found in group) for group in cited)
    path = " › ".join(block.headings)
    shown = Shown(
        block.id or "",
        block.headings,
        _readable(block),
        _distinct(time for unit in times for time in unit),
        _distinct(ref.id for group in cited for found in group for ref in found.sources),
        tuple(f"{path}: {text}"[:KEPT] for text in texts),
    )
    parts = (shown.id, *shown.headings, block.text, *shown.sources, *(" ".join(t) for t in times))
    newest = max(map(dates.instant, shown.times), default=0)
    return Document("block", shown, texts, times, _fingerprint("block", *parts), newest)


def _readable(block: Block) -> str:
    """The block's text without its citations and its id."""
    text = _ID_AT_END.sub("", block.text)
    for label in {label for claim in block.claims for label in claim.evidence}:
        text = text.replace(f"[^{label}]", "")
    return text.strip("\n")


@lru_cache(maxsize=4096)
def _terms(text: str) -> tuple[str, ...]:
    """The terms of a heading path or of times: many units have the same."""
    return tuple(terms_and_language(text)[0])


def _unit(own: list[str], headings: tuple[str, ...], times: tuple[str, ...], source: str) -> Unit:
    counted: dict[int, float] = {}
    for term in own:
        key = term_key(term)
        counted[key] = counted.get(key, 0.0) + 1.0
    for term in (*headings, *_terms(" ".join(times))):
        key = term_key(term)
        counted[key] = counted.get(key, 0.0) + LOWER
    spans = tuple(span for time in times if (span := dates.span(time)))
    size = len(own) + LOWER * (len(headings) + _DATED)
    return Unit(counted, size, spans, text_digest(source))


def text_digest(text: str) -> tuple[int, int]:
    """128 bits that stand for a text."""
    data = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")


def _fingerprint(*parts: str) -> int:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _distinct(times: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(time for time in times if time))
