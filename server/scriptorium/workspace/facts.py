"""What the catalog keeps of each file: everything that counts, links and views need, and no more.

Promises: facts are a function of a file's path and bytes alone, never of another file; so they stay
true as long as the file's digest does. They survive a trip through JSON unchanged.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scriptorium.format import claims, markdown, paths, sources
from scriptorium.format.model import Block, BlockId, EvidenceId, Link, RelPath, SourceId, Topic
from scriptorium.format.views import excerpt

VERSION = 3
"""Part of the catalog's schema: raise it when facts are derived in another way."""
UNDATED = "undated"


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """A block that has an id."""

    id: BlockId
    line: int
    headings: tuple[str, ...]
    moments: tuple[tuple[str, str], ...]
    """(time or `undated`, excerpt of the claims that held then), by the first mention of each time.
    """
    sources: tuple[str, ...]
    """The source ids that its evidence names, as written."""

    @property
    def times(self) -> tuple[str, ...]:
        """The times at which the block says something held, without `undated`."""
        return tuple(time for time, _ in self.moments if time != UNDATED)

    @property
    def latest(self) -> str:
        """The last of its times; empty where it has none."""
        latest = ""
        for time, _ in self.moments:
            if time > latest and time != UNDATED:
                latest = time
        return latest


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """A link to a block, from a block of a topic or from the core."""

    origin: BlockId | None
    """None where the text around the link has no id."""
    path: RelPath
    target: str
    line: int


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic file or the core."""

    headings: tuple[str, ...] = ()
    blocks: tuple[BlockFacts, ...] = ()
    links: tuple[LinkFacts, ...] = ()
    fault: str | None = None
    """Why the file's bytes are no text; None in a readable file."""

    @property
    def sound(self) -> bool:
        return self.fault is None


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """A source file: each record's observed time by its id, in the file's order."""

    records: dict[SourceId, str | None]
    faults: tuple[tuple[int, str], ...] = ()
    """(1-based line, what cannot be read there)."""

    @property
    def sound(self) -> bool:
        return not self.faults


type Facts = TopicFacts | SourceFacts


@dataclass(frozen=True, slots=True)
class Stored:
    """Facts as the catalog keeps them, to be decoded when they are asked for."""

    data: bytes
    is_source: bool
    sound: bool
    """Whether the facts tell of no fault in the file's bytes."""


def extract(path: RelPath, content: bytes) -> Facts:
    """The facts of the file at `path`; of a file that is not UTF-8, that fault alone."""
    is_source = paths.kind(path) == "source"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} is not UTF-8"
        return SourceFacts({}, ((1, fault),)) if is_source else TopicFacts(fault=fault)
    return source_facts(text) if is_source else topic_facts(path, markdown.parse_topic(text))


def source_facts(text: str) -> SourceFacts:
    """The facts of a source file."""
    records, faults = sources.parse(text)
    return SourceFacts({r.id: r.observed_at for r in records}, tuple(faults))


def topic_facts(path: RelPath, topic: Topic) -> TopicFacts:
    """The facts of a topic, or of the core, that is already parsed."""
    # The core is free Markdown: it has links, but nothing in it is memory of its own.
    blocks = topic.blocks if paths.kind(path) == "topic" else ()
    times = {e.id: e.time or UNDATED for e in topic.evidence}
    cited = {e.id: tuple(ref.id for ref in e.sources) for e in topic.evidence}
    return TopicFacts(
        headings=tuple(h.text for h in topic.headings),
        blocks=tuple(
            BlockFacts(
                id=block.id,
                line=block.start_line,
                headings=block.headings,
                moments=_moments(block, times),
                sources=tuple(
                    dict.fromkeys(
                        s
                        for claim in block.claims
                        for e in claim.evidence
                        for s in cited.get(e, ())
                    )
                ),
            )
            for block in blocks
            if block.id is not None
        ),
        links=(
            *_links(
                path, None, [link for h in topic.headings for link in claims.links(h.text, h.line)]
            ),
            *(link for block in topic.blocks for link in _links(path, block.id, block.links)),
        ),
    )


def encode(facts: Facts) -> bytes:
    """`facts` as compressed JSON; `decode` gives them back."""
    match facts:
        case SourceFacts(records, faults):
            value: list[object] = [list(records.items()), faults]
        case TopicFacts(headings, blocks, links, fault):
            value = [
                headings,
                [[b.id, b.line, b.headings, b.moments, b.sources] for b in blocks],
                [[link.origin, link.path, link.target, link.line] for link in links],
                fault,
            ]
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8"), 1)


def decode(stored: Stored) -> Facts:
    """The facts that `encode` wrote. Raises ValueError for anything else."""
    try:
        value = json.loads(zlib.decompress(stored.data))
        if stored.is_source:
            records, faults = value
            return SourceFacts(dict(records), tuple((line, fault) for line, fault in faults))
        headings, blocks, links, fault = value
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        return TopicFacts(
            tuple(headings),
            tuple(
                BlockFacts(
                    i,
                    n,
                    shared.setdefault(tuple(h), tuple(h)),
                    tuple((t, x) for t, x in m),
                    tuple(s),
                )
                for i, n, h, m, s in blocks
            ),
            tuple(LinkFacts(*link) for link in links),
            fault,
        )
    except (TypeError, KeyError, zlib.error) as error:
        raise ValueError(f"stored facts are damaged: {error}") from error


def _moments(block: Block, times: Mapping[EvidenceId, str]) -> tuple[tuple[str, str], ...]:
    said: dict[str, list[str]] = {}
    for claim in block.claims:
        for time in dict.fromkeys(times.get(e, UNDATED) for e in claim.evidence):
            said.setdefault(time, []).append(claim.text)
    return tuple((time, excerpt(" ".join(texts))) for time, texts in said.items())


def _links(path: RelPath, origin: BlockId | None, links: Iterable[Link]) -> Iterator[LinkFacts]:
    for link in links:
        target = paths.resolve(path, link.path) if link.fragment.startswith("^") else None
        if target is not None:
            yield LinkFacts(origin, target, link.fragment[1:], link.line)
