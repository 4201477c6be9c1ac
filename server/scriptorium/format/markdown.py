"""A topic's text as types, with positions, and back without losing a character.

Owns `parse` and `render`: for every text, whatever its line ends, marks and characters,
`render(parse(text)) == text`, in linear time, without an exception. It must not judge: a text that
breaks the contract parses like any other, and `contract` says what is wrong with it.

Lines count from 1 in the text as given. A BOM belongs to no line; LF, CRLF and a lone CR end one.
"""

from __future__ import annotations

from dataclasses import dataclass

from scriptorium.format import claims
from scriptorium.format.evidence import evidence
from scriptorium.format.inline import plain
from scriptorium.format.model import Block, Evidence, Heading, Link, Topic
from scriptorium.format.remembering import remembering
from scriptorium.format.scan import scan
from scriptorium.format.segments import BLOCK_KINDS, Segment

__all__ = ["Parsed", "links", "parse", "parse_topic", "plain", "render"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed text: its pieces, which joined are the text, and what they say."""

    segments: tuple[Segment, ...]
    topic: Topic


@remembering
def parse(text: str) -> Parsed:
    """What `text` says, and its pieces. Takes every text."""
    segments = scan(text)
    return Parsed(segments, _topic(segments))


def render(parsed: Parsed) -> str:
    """The text that was parsed, character for character."""
    return "".join(segment.text for segment in parsed.segments)


def parse_topic(text: str) -> Topic:
    """Headings, blocks and evidence of a text. Takes every text."""
    return parse(text).topic


def links(text: str) -> tuple[Link, ...]:
    """Every relative link of a free Markdown text, also in headings."""
    parsed = parse(text)
    found = [link for block in parsed.topic.blocks for link in block.links]
    for heading in parsed.topic.headings:
        found += claims.links(heading.text, heading.line)
    return tuple(sorted(found, key=lambda link: link.line))


def _topic(segments: tuple[Segment, ...]) -> Topic:
    headings: list[Heading] = []
    above: list[Heading] = []
    blocks: list[Block] = []
    definitions: list[Evidence] = []
    for segment in segments:
        if segment.kind in BLOCK_KINDS:
            blocks.append(claims.block(segment, tuple(h.text for h in above)))
        elif segment.kind == "definition":
            definitions.append(evidence(segment.text.rstrip("\r\n"), segment.line))
        elif segment.kind == "heading":
            heading = Heading(segment.level, segment.title, segment.line)
            headings.append(heading)
            above = [h for h in above if h.level < heading.level] + [heading]
    return Topic(tuple(headings), tuple(blocks), tuple(definitions))
