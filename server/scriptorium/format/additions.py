"""A topic of which both sides changed the same lines, and one of them only added to those.

What was added stays, beside what the other side made of the lines. Git calls that a conflict, and
it is one that every two updates of a topic have: both put their definitions at its end.

Promises: the result has the blocks and definitions of a merge by ids, each as it stands on a side
and below its own heading, or there is no result. Does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scriptorium.format import markdown
from scriptorium.format.model import Topic

MARKER_SIZE = 40
"""Characters of a marker, so many that no line of a topic is taken for one."""

type _Lines = list[str]
type _Path = tuple[str, ...]
"""The titles of a heading and of those above it, outermost first."""


@dataclass(frozen=True, slots=True)
class _Conflict:
    """Lines that both sides changed."""

    ours: _Lines
    base: _Lines
    theirs: _Lines


def joined(marked: str, base: str, ours: str, theirs: str) -> str | None:
    """The text with what both sides added; None where they changed more than that.

    `marked` is what `git merge-file --zdiff3 --marker-size=40` makes of the three.
    """
    pieces = list(_pieces(marked))
    for turned in (False, True):
        for apart in (False, True):
            made = [
                piece if isinstance(piece, list) else _resolved(piece, apart=apart, turned=turned)
                for piece in pieces
            ]
            text = "".join(line for lines in made for line in lines or [])
            if None not in made and _keeps(text, base, (ours, theirs)):
                return text
    return None


def _pieces(marked: str) -> Iterator[_Lines | _Conflict]:
    """The text in order: lines that are settled, and conflicts."""
    settled: _Lines = []
    parts: list[_Lines] = []
    for line in marked.splitlines(keepends=True):
        mark = line[0] if line.startswith(tuple(c * MARKER_SIZE for c in "<|=>")) else ""
        if mark == "<":
            yield settled
            settled, parts = [], [[]]
        elif parts and mark in ("|", "="):
            parts.append([])
        elif parts and mark == ">":
            yield _Conflict(*parts)
            parts = []
        else:
            (parts[-1] if parts else settled).append(line)
    yield settled


def _resolved(conflict: _Conflict, *, apart: bool, turned: bool) -> _Lines | None:
    """The lines of one side with the other's version of what they were added to.

    Where that was nothing, one side's stand after the other's: `turned`, ours after theirs, and
    `apart`, with a blank line between.
    """
    base, size = conflict.base, len(conflict.base)
    if not base:
        first, second = conflict.ours, conflict.theirs
        if turned:
            first, second = second, first
        blank = "\n" in (*first[-1:], *second[:1])
        heading = "".join(second[:1]).startswith("#")
        return first + (["\n"] if (apart or heading) and not blank else []) + second
    for side, other in ((conflict.theirs, conflict.ours), (conflict.ours, conflict.theirs)):
        if side[:size] == base:
            return other + side[size:]
        if side[-size:] == base:
            return side[:-size] + other
    return None


def _keeps(text: str, base: str, sides: tuple[str, str]) -> bool:
    """Whether the text has what a merge by ids would have, each below its own heading."""
    made, before = markdown.parse_topic(text), markdown.parse_topic(base)
    ours, theirs = (markdown.parse_topic(side) for side in sides)
    was, here, there = (set(_parts(topic)) for topic in (before, ours, theirs))
    parts = _parts(made)
    ids = [name for name, _ in parts if name]
    if len(ids) > len(set(ids)) or set(parts) != (was & here & there) | ((here | there) - was):
        return False
    return not _strays(made, ours, theirs)


def _parts(topic: Topic) -> list[tuple[str, str]]:
    """(id, text) of every block and definition."""
    blocks = [(block.id or "", block.text) for block in topic.blocks]
    return blocks + [(f"^{evidence.id}", evidence.text) for evidence in topic.evidence]


def _strays(made: Topic, *sides: Topic) -> bool:
    """Whether a block stands below another heading than on its side, though its own is there."""
    known: dict[tuple[str | None, str], set[_Path]] = {}
    for side in sides:
        for block in side.blocks:
            known.setdefault((block.id, block.text), set()).add(block.headings)
    here = set(_heading_paths(made))
    return any(
        block.headings not in own and own & here
        for block in made.blocks
        for own in (known[block.id, block.text],)
    )


def _heading_paths(topic: Topic) -> Iterator[_Path]:
    above: list[tuple[int, str]] = []
    for heading in topic.headings:
        above = [one for one in above if one[0] < heading.level] + [(heading.level, heading.text)]
        yield tuple(title for _, title in above)
    yield ()
