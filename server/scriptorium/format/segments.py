"""The pieces of a text: stretches of whole lines, and what each is.

Owns the types that `scan` makes and `claims` reads, and the joining of an id on a line of its own
to the block it names, as Obsidian does it. Promises that segments hold every character of the text.
It must not look inside prose further than for that id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from scriptorium.format import lines as md

type BlockKind = Literal["paragraph", "item", "quote"]
type Kind = (
    BlockKind | Literal["bom", "front-matter", "blank", "heading", "comment", "definition", "rule"]
)
type RowKind = Literal["prose", "code", "blank"]

BLOCK_KINDS = ("paragraph", "item", "quote")
"""The kinds that are blocks. A paragraph may hold, or be, a table or a fence."""
_ID_AT_END = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+\s*$")
_CLOSING = re.compile(r"(?:\[\^[^\s\[\]^]++\][\s,]*+)*+\^[A-Za-z0-9-]+\s*+")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a block: its content without the marks of the containers it stands in."""

    line: int
    """1-based."""
    text: str
    kind: RowKind
    opens: bool
    """Whether a run of prose begins here: no code span or link reaches over such a border."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of whole lines (or the BOM) and what it is."""

    kind: Kind
    text: str
    line: int
    """1-based, the first one."""
    rows: tuple[Row, ...] = ()
    """A block's lines."""
    level: int = 0
    """A heading's, 1-6."""
    title: str = ""
    """A heading's text."""


@dataclass(slots=True)
class Growing:
    """The block that lines are being added to."""

    kind: BlockKind
    depth: int
    """How many list items it stands in, itself included."""
    start: int
    """Index of its first line."""
    end: int
    """Index after its last line."""
    rows: list[Row] = field(default_factory=list)
    flowing: bool = False
    """A paragraph is open: the next line of text goes on with it, however it is indented."""
    table: bool = False
    quoted_fence: str = ""
    """The opening of a fence inside a quote."""
    blanks: int = 0
    """Blank lines after the last row; they are the block's only if another row follows."""

    def add(self, at: int, text: str, kind: RowKind = "prose", *, opens: bool = False) -> None:
        """Takes the line with index `at`."""
        self.rows += [Row(self.end + n + 1, "", "blank", True) for n in range(self.blanks)]
        opens = opens or kind != "prose" or self.table or not self.flowing
        self.rows.append(Row(at + 1, text, kind, opens))
        self.flowing, self.blanks, self.end = kind == "prose", 0, at + 1

    def add_quoted(self, at: int, inner: str) -> None:
        """Takes the content of a line of a quote."""
        content = inner.strip(" \t")
        if self.quoted_fence:
            self.add(at, inner, "code")
            if md.closes(content, self.quoted_fence):
                self.quoted_fence = ""
        elif not content:
            self.add(at, "", "blank")
        elif fence := md.fence(content):
            self.quoted_fence = fence
            self.add(at, inner, "code")
        else:
            mark = md.mark(content)
            self.add(at, inner, opens=mark != "text")
            self.flowing = mark not in ("heading", "rule")

    def end_paragraph(self) -> None:
        self.flowing, self.table, self.quoted_fence = False, False, ""

    @property
    def takes_quotes(self) -> bool:
        """A list item takes in the quotes in it; below a blank line another quote begins."""
        return self.kind == "item" or (self.kind == "quote" and not self.blanks)

    @property
    def says(self) -> bool:
        """Whether there is anything to read: an empty list item says nothing."""
        return any(row.text.strip() for row in self.rows)


def ends_with_id(row: Row) -> bool:
    """Whether the row is prose that an id ends."""
    return row.kind == "prose" and _ID_AT_END.search(row.text) is not None


def with_ids_below(segments: list[Segment]) -> list[Segment]:
    """Ids on a line of their own joined to the block above, also over blank lines.

    Citations may stand before the id: a table's and a fence's do.
    """
    joined: list[Segment] = []
    for segment in segments:
        joined.append(_joined(joined, segment) if _is_closing(segment) else segment)
    return joined


def _is_closing(segment: Segment) -> bool:
    return segment.kind == "paragraph" and _CLOSING.fullmatch(segment.text.strip()) is not None


def _joined(before: list[Segment], closing: Segment) -> Segment:
    """`closing` with the block above it, taken from `before`; alone when that has an id already."""
    at = len(before) - 1
    while at >= 0 and before[at].kind == "blank":
        at -= 1
    if at < 0 or before[at].kind not in BLOCK_KINDS or _has_id(before[at]):
        return closing
    block, *blanks = before[at:]
    del before[at:]
    rows = [*block.rows, *(Row(b.line, "", "blank", True) for b in blanks), *closing.rows]
    text = "".join(segment.text for segment in (block, *blanks, closing))
    return replace(block, text=text, rows=tuple(rows))


def _has_id(block: Segment) -> bool:
    """Whether an id ends the block; a list item may have it at the end of any of its paragraphs."""
    if block.kind != "item":
        return ends_with_id(block.rows[-1])
    ends = zip(block.rows, [*block.rows[1:], None], strict=True)
    return any(ends_with_id(row) for row, after in ends if after is None or after.opens)
