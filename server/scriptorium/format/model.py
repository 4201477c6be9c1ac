"""The types of memory, as plain values. Owns no behaviour and does no I/O.

A value of a NewType proves that a check ran: each is made by one function only
(`paths.rel_path`, `ids.*`, `markdown.parse`, `sources.*`, `workspace.catalog`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NewType

RelPath = NewType("RelPath", str)
"""A path in a workspace: `/` between parts, NFC, no `..`, never absolute."""
BlockId = NewType("BlockId", str)
"""A block's stable id, without the caret: `[A-Za-z0-9-]+`."""
EvidenceId = NewType("EvidenceId", str)
"""An evidence label, without `[^` and `]`: the runtime's own are `e-` + 10 hex digits."""
SourceId = NewType("SourceId", str)
"""`<provider>/<thread>/<message>`."""
Revision = NewType("Revision", str)
"""32 hex digits: the identity of a workspace's authored state."""

type Rule = Literal[
    # of the text
    "block-without-id",
    "several-ids",
    "block-id-format",
    "duplicate-block-id",
    "empty-block",
    "uncited-block",
    "uncited-prose",
    "undefined-evidence",
    "uncited-evidence",
    "duplicate-evidence",
    "evidence-format",
    "evidence-time",
    "evidence-without-source",
    "unknown-source",
    "link-without-block",
    "dangling-block-link",
    "core-dangling-link",
    "core-budget",
    # of an update
    "invented-block-id",
    "invented-evidence-id",
    "id-outside-topic",
    # of the files on disk
    "damaged-source",
    "misplaced-source",
    "stale-view",
    "not-utf-8",
    "case-only-twin",
    "unwritable-name",
    "unusable-name",
    "not-a-file",
    "unreadable",
    "conflict-copy",
    "conflict-marker",
    "unfinished-update",
]
"""What can be wrong with memory; protocol/FORMAT.md and docs/format.md say what to do of each."""

type ContractCode = Literal["INVALID_TOPIC_FORMAT", "MISSING_SOURCE", "DANGLING_BLOCK_LINK"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One breach of the contract: where, which rule, and what to do."""

    path: str
    line: int
    """1-based."""
    rule: Rule
    message: str
    error: ContractCode = "INVALID_TOPIC_FORMAT"


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    """1-6."""
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Prose of a block and the evidence that supports it: the citations which follow it."""

    text: str
    evidence: tuple[EvidenceId, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A relative Markdown link in a topic, as written."""

    target: str
    """The whole destination, e.g. `../work/office.md#^91ab03fe` (decoded)."""
    path: str
    """The part before `#`; empty for a link within the file."""
    fragment: str
    """The part after `#`, without it: `^91ab03fe`, `source-50ba…`, a heading, or empty."""
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """One unit of memory: a paragraph, list item, quote, or table or fence with its text."""

    id: BlockId | None
    """None where the text has no id (a breach of rule 1)."""
    headings: tuple[str, ...]
    """The heading path above the block, outermost first."""
    start_line: int
    end_line: int
    """1-based, inclusive; the line that carries the id included."""
    text: str
    """The block's lines as they stand in the file, without line ends at the end."""
    claims: tuple[Claim, ...]
    trailing: str
    """Prose after the last citation: empty in a good block, all of it where nothing is cited."""
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class SourceRef:
    """One source that evidence names: a link, a full source id, or a `new-source-` label."""

    id: str
    """The source id or label, as written between the brackets, or bare."""
    target: str | None
    """The link's destination, if it is rendered as a link."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A footnote definition: when the fact held, and the sources it rests on."""

    id: EvidenceId
    time: str | None
    """`YYYY`, `YYYY-MM`, `YYYY-MM-DD`, `undated`; None where it is missing or malformed."""
    sources: tuple[SourceRef, ...]
    line: int
    text: str
    """The definition as it stands in the file."""

    @property
    def end_line(self) -> int:
        return self.line + self.text.count("\n")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a topic file says: everything that other rooms need of it."""

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One verbatim message as it is archived."""

    id: SourceId
    role: str
    observed_at: str | None
    """ISO 8601 with an offset, as normalised; None when the time is unknown."""
    content: str
    """Every character as it was given."""
