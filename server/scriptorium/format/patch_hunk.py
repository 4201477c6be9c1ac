"""One hunk of a unified diff: its header, and which of the lines below it are its body.

A line without a mark (blank, or lacking the leading blank of context) may be context, or prose and
separators behind the hunk. Honest counts settle it; else marked lines after it make it context,
which must then be in the file; and what trails behind the last marked line is left out, since
context left out changes no text. What remains open is refused, with the number of its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scriptorium.errors import InvalidArgument
from scriptorium.format.paths import show

type Counts = tuple[int, int]
"""How many old and new lines a hunk has."""

_RANGES = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))?(?: ?@@.*)?")
_BARE = re.compile(r"@@(?: ?\.\.\.)?(?: ?@@.*)?")


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line of a hunk's body."""

    mark: Literal[" ", "-", "+"]
    text: str
    """Without mark and line end."""
    cr: bool = False
    """This line ends in CRLF although others of the patch do not."""
    unended: bool = False
    """`\\ No newline at end of file` follows."""
    marked: bool = True
    """The patch itself holds the mark; False for context which stands there without its blank."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A change of neighbouring lines; its header's counts are already forgotten."""

    line: int
    """1-based line of its header in the patch."""
    start: int | None
    """The old line number that the header gives; None for a bare `@@`."""
    anchored: bool
    """By body and counts no old line is taken: `start` is the line to insert after, 0 the top."""
    body: tuple[HunkLine, ...]
    counted: bool
    """The header's counts are given and are those of the body: every mark is what it seems."""

    @property
    def old(self) -> list[HunkLine]:
        return [line for line in self.body if line.mark != "+"]


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of the patch below a hunk's header."""

    text: str
    cr: bool
    number: int
    """1-based, in the patch."""


def read_header(line: str, number: int) -> tuple[int | None, Counts | None]:
    """The old line number and the counts that a `@@` line gives; None for what it leaves out.

    Raises InvalidArgument for a line that starts with `@@` and is no hunk header.
    """
    ranges = _RANGES.fullmatch(line)
    if ranges:
        return int(ranges[1]), (int(ranges[2] or 1), int(ranges[3] or 1))
    if _BARE.fullmatch(line):
        return None, None
    raise InvalidArgument(
        f"Patch line {number}: {show(line)!r} is no hunk header. Write `@@ -1,3 +1,4 @@` or a bare "
        "`@@`; a line of text that starts with @@ needs its mark (blank, - or +) before it."
    )


def read_hunk(line: str, number: int, below: Sequence[RawLine], *, create: bool) -> Hunk:
    """The hunk whose header is `line`, from the lines `below` it up to the next header.

    Raises InvalidArgument for a malformed header, an ambiguous body, and a body without change.
    """
    start, counts = read_header(line, number)
    body = _body([_mark(raw) for raw in below], counts, below)
    if create:
        body = _added(body, counts, number)
    _check_markers(body, number)
    if all(one.mark == " " for one in body):
        raise _refused(number, "the hunk changes nothing; mark lines with - and +")
    # `@@ -4 +4 @@` is Git's form for one line, and a model's for counts that it left out.
    counted = "," in line.partition("+")[0] and _count(body) == counts
    anchored = counted and all(one.mark == "+" for one in body)
    return Hunk(number, start, anchored, tuple(body), counted)


def count(below: Iterable[RawLine]) -> Counts:
    """How many old and new lines `below` has if all of it is a hunk's body."""
    return _count([one for one in map(_mark, below) if one is not None])


def _mark(raw: RawLine) -> HunkLine | None:
    """The line as part of a body; None for the marker of a missing final newline."""
    match raw.text[:1]:
        case " ":
            return HunkLine(" ", raw.text[1:], raw.cr)
        case "-":
            return HunkLine("-", raw.text[1:], raw.cr)
        case "+":
            return HunkLine("+", raw.text[1:], raw.cr)
        case "\\" if raw.text.startswith("\\ "):
            return None
        case _:
            return HunkLine(" ", raw.text, raw.cr, marked=False)


def _body(
    lines: Sequence[HunkLine | None], counts: Counts | None, below: Sequence[RawLine]
) -> list[HunkLine]:
    end = _prose_start(lines, counts, below)
    marked = [n for n in range(end) if lines[n] is None or _is_marked(lines[n])]
    last = marked[-1] + 1 if marked else 0
    if counts is not None:
        # Trailing context belongs to the hunk where the counts come out right with it.
        missing = [c - h for c, h in zip(counts, _count(_join(lines[:last])), strict=True)]
        if missing[0] == missing[1] and 0 < missing[0] <= end - last:
            last += missing[0]
    return _join(lines[:last])


def _prose_start(
    lines: Sequence[HunkLine | None], counts: Counts | None, below: Sequence[RawLine]
) -> int:
    """The index from which on honest counts show that the lines are no longer the hunk's."""
    old = new = 0
    for n, line in enumerate(lines):
        if line is None:
            continue
        complete = (old, new) == counts
        old += line.mark != "+"
        new += line.mark != "-"
        if line.marked or not complete:
            continue
        rest = [one for one in lines[n:] if one is not None]
        if all(one.mark == " " for one in rest):
            return n
        if any(not one.marked and one.text for one in rest) or _only_adds(rest):
            raise _refused(
                below[n].number,
                "the hunk is complete by its counts, yet more lines with - or + follow; correct the"
                " counts, and begin each line of context with a blank, an empty one too",
            )
        break
    return len(lines)


def _only_adds(lines: Sequence[HunkLine]) -> bool:
    return all(one.mark == "+" for one in lines if one.marked)


def _added(body: Sequence[HunkLine], counts: Counts | None, number: int) -> list[HunkLine]:
    """The body of a new file, where a blank line can only have lost its `+`."""
    foreign = [one for one in body if one.mark != "+" and (one.marked or one.text)]
    lost = any(one.mark == " " for one in body)
    if foreign or (lost and counts is not None and counts[1] != len(body)) or (lost and not counts):
        raise _refused(
            number, "every line of a new file starts with +, blank ones too; the counts must agree"
        )
    return [replace(one, mark="+") for one in body]


def _check_markers(body: Sequence[HunkLine], number: int) -> None:
    """Nothing of a side follows its last line: else the marker is a text that lost its blank."""
    for n, line in enumerate(body):
        follows = body[n + 1 :] if line.unended else ()
        if any(line.mark == " " or one.mark in (" ", line.mark) for one in follows):
            raise _refused(
                number, "`\\ No newline at end of file` stands before the last line of its side"
            )


def _is_marked(line: HunkLine | None) -> bool:
    return line is not None and line.marked


def _join(lines: Iterable[HunkLine | None]) -> list[HunkLine]:
    """The lines, each with the marker that follows it taken in."""
    joined: list[HunkLine] = []
    for line in lines:
        if line is not None:
            joined.append(line)
        elif joined:
            joined[-1] = replace(joined[-1], unended=True)
    return joined


def _count(lines: Sequence[HunkLine]) -> Counts:
    return sum(one.mark != "+" for one in lines), sum(one.mark != "-" for one in lines)


def _refused(number: int, what: str) -> InvalidArgument:
    return InvalidArgument(f"Patch line {number}: {what}.")
