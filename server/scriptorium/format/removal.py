"""A topic without some of its blocks: with them goes what only they needed. Pure text.

Promises: what stays keeps its bytes, but for blank lines where something was. A definition goes
when no block that stays cites it, a heading when nothing is left below it that was there before;
a topic of which no text is left goes whole.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scriptorium.format import markdown
from scriptorium.format.model import Topic


@dataclass(frozen=True, slots=True)
class Removal:
    """What a topic becomes."""

    text: str | None
    """None: the topic is empty, and goes."""
    headings: tuple[tuple[int, str], ...]
    """(line, text) of the headings that go."""
    lines: tuple[tuple[int, str], ...]
    """(line in the old text, text) of what stays, blank lines left out."""


def removed(text: str, blocks: Collection[str]) -> Removal:
    """The topic `text` without the blocks of these ids."""
    topic = markdown.parse_topic(text)
    lines = text.split("\n")
    gone = {
        number
        for block in topic.blocks
        if block.id in blocks
        for number in range(block.start_line, block.end_line + 1)
    }
    headings = _emptied(topic, blocks)
    gone |= {heading for heading, _ in headings} | _uncited(topic, blocks)
    kept = [(n, line) for n, line in enumerate(lines, 1) if n not in gone]
    stays = tuple((n, line) for n, line in kept if line.strip())
    if not gone:
        return Removal(text, (), stays)
    if not stays:
        return Removal(None, headings, ())
    return Removal("\n".join(_closed(kept, gone)), headings, stays)


def _uncited(topic: Topic, blocks: Collection[str]) -> set[int]:
    """The lines of the definitions that only the removed blocks cite."""
    cited: dict[bool, set[str]] = {True: set(), False: set()}
    for block in topic.blocks:
        cited[block.id in blocks] |= {e for claim in block.claims for e in claim.evidence}
    return {
        line
        for evidence in topic.evidence
        if evidence.id in cited[True] - cited[False]
        for line in range(evidence.line, evidence.end_line + 1)
    }


def _emptied(topic: Topic, blocks: Collection[str]) -> tuple[tuple[int, str], ...]:
    """The headings below which blocks were and none is left."""
    found = []
    for position, heading in enumerate(topic.headings):
        below = (h.line for h in topic.headings[position + 1 :] if h.level <= heading.level)
        end = next(below, None)
        inside = [
            b.id in blocks
            for b in topic.blocks
            if b.start_line > heading.line and (end is None or b.start_line < end)
        ]
        if inside and all(inside):
            found.append((heading.line, heading.text))
    return tuple(found)


def _closed(kept: list[tuple[int, str]], gone: set[int]) -> list[str]:
    """The lines that stay, with one blank line where removed ones stood between blank lines."""
    result: list[str] = []
    for number, line in kept:
        after_gap = number - 1 in gone
        if after_gap and not line.strip() and (not result or not result[-1].strip()):
            continue
        result.append(line)
    while len(result) > 1 and not result[-2].strip():
        del result[-2]
    return result
