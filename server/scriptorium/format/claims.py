"""Blocks made of their lines: the claims, what supports each, the id, the links.

Owns how citations are read: one supports the prose since the previous one, several in a row support
the same claim, closing punctuation belongs to the prose before. Promises to take any lines. It
judges nothing; that is for `contract`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scriptorium.format import inline
from scriptorium.format.inline import IdMark
from scriptorium.format.lines import dedent, indent, split_lines
from scriptorium.format.model import Block, Claim, EvidenceId, Link
from scriptorium.format.scan import scan
from scriptorium.format.segments import BLOCK_KINDS, Row, Segment

_CLOSERS = re.compile(r"[.,;:!?)\]\"'…。，、；：！？）」』】》〉”’»›،؛؟।]++")


@dataclass(frozen=True, slots=True)
class Run:
    """What inline marks can span: the lines of one paragraph, or one line of code."""

    text: str
    masked: str
    line: int
    code: bool
    marks: tuple[IdMark, ...]


def block(segment: Segment, headings: tuple[str, ...]) -> Block:
    """The block that a segment is whose kind is one of BLOCK_KINDS."""
    runs = list(_runs(segment.rows))
    names = _names(runs, item=segment.kind == "item")
    reader = _Reader()
    links = [link for nth, run in enumerate(runs) for link in reader.read(run, names.get(nth))]
    return Block(
        id=next((mark.id for mark in names.values() if mark.id), None),
        headings=headings,
        start_line=segment.line,
        end_line=segment.rows[-1].line,
        text=segment.text.rstrip("\r\n"),
        claims=tuple(reader.claims()),
        trailing=reader.trailing(),
        links=tuple(links),
    )


def id_marks(read: Block) -> tuple[IdMark, ...]:
    """Every `^…` at the end of a line of the block, outside code; a good block has one.

    The block's lines are read again, by themselves; whether their indentation is that of a list
    they stood in or means code is settled by what they said the first time.
    """
    column, _ = indent(read.text)
    for columns in (0, column):
        alone = "".join(dedent(line, columns) for line in split_lines(read.text))
        again = next((segment for segment in scan(alone) if segment.kind in BLOCK_KINDS), None)
        if again is not None and _said(block(again, ())) == _said(read):
            return tuple(mark for run in _runs(again.rows) for mark in run.marks)
    return ()


def links(text: str, line: int) -> list[Link]:
    """The relative links of one run of prose that begins at `line`."""
    return _links(text, inline.spans(text, inline.mask(text)), line)


def _said(block: Block) -> tuple[object, ...]:
    return block.id, [(claim.text, claim.evidence) for claim in block.claims], block.trailing


def _runs(rows: Sequence[Row]) -> Iterator[Run]:
    prose: list[Row] = []
    for row in rows:
        if prose and (row.opens or row.kind != "prose"):
            yield _prose(prose)
            prose = []
        if row.kind == "code":
            yield Run(row.text, row.text, row.line, True, ())
        elif row.kind == "prose":
            prose.append(row)
    if prose:
        yield _prose(prose)


def _prose(rows: list[Row]) -> Run:
    text = "\n".join(row.text for row in rows)
    masked = inline.mask(text)
    return Run(text, masked, rows[0].line, False, tuple(inline.id_marks(masked)))


def _names(runs: list[Run], *, item: bool) -> dict[int, IdMark]:
    """The marks that name the block, by run: where its last run ends, in an item where any does."""
    names = {}
    for nth, run in enumerate(runs):
        if run.marks and (item or nth == len(runs) - 1):
            last = run.marks[-1]
            if not run.masked[last.end :].strip():
                names[nth] = last
    return names


@dataclass(slots=True)
class _Draft:
    """A claim that citations may still be added to."""

    text: str
    line: int
    evidence: list[EvidenceId]


@dataclass(slots=True)
class _Reader:
    """Collects prose until a citation closes it."""

    drafts: list[_Draft] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    line: int = 0
    says: bool = False

    def read(self, run: Run, name: IdMark | None) -> list[Link]:
        """Takes a run, without the id that names the block; gives the links in it."""
        if self.pieces:
            self.pieces.append("\n")
        if run.code:
            self._take(run.text, run.text, run.line)
            return []
        end = len(run.text[: name.start].rstrip()) if name else len(run.text)
        spans = inline.spans(run.text, run.masked)
        masked = inline.without_targets(run.masked, spans) if spans else run.masked
        at, line = 0, run.line
        for citation in inline.citations(run.masked):
            self._take(run.text[at : citation.start], masked[at : citation.start], line)
            line += run.text.count("\n", at, citation.end)
            self._cite(citation.evidence, line)
            at = citation.end
        self._take(run.text[at:end], masked[at:end], line)
        return _links(run.text, spans, run.line)

    def claims(self) -> list[Claim]:
        return [
            Claim(draft.text.strip(), tuple(dict.fromkeys(draft.evidence)), draft.line)
            for draft in self.drafts
        ]

    def trailing(self) -> str:
        return "".join(self.pieces).strip() if self.says else ""

    def _take(self, text: str, masked: str, line: int) -> None:
        if not self.pieces and self.drafts and (closers := _CLOSERS.match(masked)):
            self.drafts[-1].text += closers.group()
            text, masked = text[closers.end() :], masked[closers.end() :]
        if not self.says and inline.is_prose(masked):
            lead = text[: len(text) - len(text.lstrip())]
            self.line, self.says = line + lead.count("\n"), True
        if text:
            self.pieces.append(inline.uncommented(text, masked))

    def _cite(self, evidence: EvidenceId, line: int) -> None:
        if self.says or not self.drafts:
            text = "".join(self.pieces) if self.says else ""
            self.drafts.append(_Draft(text, self.line if self.says else line, []))
        self.drafts[-1].evidence.append(evidence)
        self.pieces, self.says = [], False


def _links(text: str, spans: Sequence[inline.Span], line: int) -> list[Link]:
    found: list[Link] = []
    at = 0
    for span in sorted(spans, key=lambda span: span.start):
        line += text.count("\n", at, span.start)
        at = span.start
        if span.relative:
            path, fragment = inline.split_target(span.target)
            found.append(Link(inline.decode(span.target), path, fragment, line))
    return found
