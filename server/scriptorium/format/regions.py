"""The stretches of a text in which the contract's patterns count, with their place in the text.

Owns the way back from what `scan` and `inline` recognise to the characters of the file, so that
names and links can be replaced there and every other byte stays. What is no region (code fences,
comments, front matter) is text; code spans and escapes in a region are blotted out of its mask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from scriptorium.format import inline
from scriptorium.format.lines import BOM, split_lines
from scriptorium.format.scan import scan
from scriptorium.format.segments import BLOCK_KINDS, Row, Segment

type Replacement = tuple[int, int, str]
"""Start and end (exclusive) in the text, and what stands there instead."""

_LINE_END = re.compile(r"\r\n|\r")


@dataclass(frozen=True, slots=True)
class Region:
    """A run of prose in a block, a heading, or a footnote definition."""

    kind: Literal["block", "definition", "heading"]
    start: int
    """Where it begins in the text of the file."""
    line: int
    """1-based."""
    text: str
    """As it stands there, position for position; marks of containers are blanks, line ends LF."""
    masked: str
    """`text` with code spans, escapes and comments blotted out."""

    def line_at(self, offset: int) -> int:
        """The line of the file that holds the region's character `offset`."""
        return self.line + self.text.count("\n", 0, offset)


def regions(text: str) -> Iterator[Region]:
    """Every region of a Markdown text, in order."""
    lines = _Lines(text)
    offset = 0
    for segment in scan(text):
        if segment.kind in BLOCK_KINDS:
            yield from (_run(lines, rows) for rows in _grouped(lines, segment))
        elif segment.kind in ("definition", "heading"):
            body = _body(segment)
            kind: Literal["definition", "heading"] = (
                "definition" if segment.kind == "definition" else "heading"
            )
            yield Region(kind, offset, segment.line, body, inline.mask(body))
        offset += len(segment.text)


def definitions(text: str) -> set[str]:
    """The texts of the regions that are footnote definitions."""
    return {_body(segment) for segment in scan(text) if segment.kind == "definition"}


def replaced(text: str, replacements: Iterable[Replacement]) -> str:
    """`text` with every replacement made; they do not overlap."""
    parts: list[str] = []
    at = 0
    for start, end, instead in sorted(replacements):
        parts += [text[at:start], instead]
        at = end
    return "".join([*parts, text[at:]])


class _Lines:
    """The lines of a text without their ends, and where each begins."""

    def __init__(self, text: str) -> None:
        bom = len(BOM) if text.startswith(BOM) else 0
        whole = split_lines(text[bom:])
        self.starts = list(accumulate((len(line) for line in whole), initial=bom))
        self.lines = [line.rstrip("\r\n") for line in whole]
        self.ends = [_with_lf(line[len(line.rstrip("\r\n")) :]) for line in whole]

    def prefix(self, row: Row) -> int | None:
        """How many characters of its line stand before a row; None when it is not its end."""
        line = self.lines[row.line - 1]
        return len(line) - len(row.text) if line.endswith(row.text) else None


def _grouped(lines: _Lines, segment: Segment) -> Iterator[list[Row]]:
    """The rows of prose of a block, by the runs that inline marks can span."""
    run: list[Row] = []
    for row in segment.rows:
        prose = row.kind == "prose" and lines.prefix(row) is not None
        if run and (row.opens or not prose or row.line != run[-1].line + 1):
            yield run
            run = []
        if prose:
            run.append(row)
    if run:
        yield run


def _run(lines: _Lines, rows: Sequence[Row]) -> Region:
    first = rows[0]
    before = lines.prefix(first) or 0
    parts = [first.text]
    for above, row in pairwise(rows):
        parts += [lines.ends[above.line - 1], " " * (lines.prefix(row) or 0), row.text]
    text = "".join(parts)
    start = lines.starts[first.line - 1] + before
    return Region("block", start, first.line, text, inline.mask(text))


def _body(segment: Segment) -> str:
    return _with_lf(segment.text.rstrip("\r\n"))


def _with_lf(text: str) -> str:
    """`text` with LF for its line ends, position for position."""
    if "\r" not in text:
        return text
    return _LINE_END.sub(lambda end: " " * (len(end[0]) - 1) + "\n", text)
