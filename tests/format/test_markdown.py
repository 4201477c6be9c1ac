"""Topics parse into blocks, claims, links and evidence, with positions, and render unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from tests.format import cases
from tests.format.strategies import Facts, texts, topics

from scriptorium.format.lines import split_lines
from scriptorium.format.markdown import links, parse, parse_topic, plain, render
from scriptorium.format.model import Block, Evidence, Topic

AWKWARD = "\ufeff---\r\na: b\r\n---\r\n# H\r\rOne\x00\u2028[^a] ^1\r\n\r\n```\n\ud800\n```\n^2"


def shown_topic(text: str) -> str:
    return "\n".join(line.rstrip() for line in _shown(parse_topic(text)))


def _shown(topic: Topic) -> Iterator[str]:
    for heading in topic.headings:
        yield f"heading {heading.line} {'#' * heading.level} {heading.text}"
    for block in topic.blocks:
        yield from _shown_block(block)
    for evidence in topic.evidence:
        yield _shown_evidence(evidence)


def _shown_block(block: Block) -> Iterator[str]:
    where = f"{block.start_line}-{block.end_line}"
    yield " > ".join([f"block {where} ^{block.id}", *block.headings])
    for claim in block.claims:
        yield f"  claim {claim.line} {claim.text!r} {' '.join(claim.evidence)}"
    if block.trailing:
        yield f"  trailing {block.trailing!r}"
    for link in block.links:
        yield f"  link {link.line} {link.path} #{link.fragment}"


def _shown_evidence(evidence: Evidence) -> str:
    sources = ", ".join(s.id + (f" -> {s.target}" if s.target else "") for s in evidence.sources)
    lines = len(split_lines(evidence.text))
    return f"evidence {evidence.line}+{lines} {evidence.id} {evidence.time} {sources}".rstrip()


@pytest.mark.parametrize("case", cases.read("blocks"), ids=lambda case: case.name)
def test_a_text_is_read_as_its_golden_says(case: cases.Case) -> None:
    assert shown_topic(case.text) == case.expected


@settings(max_examples=100)
@given(texts)
@example(AWKWARD)
@example("")
@example("\r\r\n\n")
def test_any_text_renders_as_it_was(text: str) -> None:
    assert render(parse(text)) == text


@settings(max_examples=100)
@given(texts)
@example(AWKWARD)
def test_blocks_and_definitions_stand_where_they_say(text: str) -> None:
    lines = split_lines(text.removeprefix("\ufeff"))
    topic = parse_topic(text)
    for block in topic.blocks:
        stands = "".join(lines[block.start_line - 1 : block.end_line])
        assert stands.rstrip("\r\n") == block.text
        numbers = [claim.line for claim in block.claims] + [link.line for link in block.links]
        assert all(block.start_line <= number <= block.end_line for number in numbers)
    for evidence in topic.evidence:
        assert "".join(lines[evidence.line - 1 :]).startswith(evidence.text)
    for heading in topic.headings:
        assert heading.text in " ".join(line.strip() for line in lines[heading.line - 1 :])


@settings(max_examples=100)
@given(texts)
def test_blocks_follow_each_other_and_every_other_line_is_no_prose(text: str) -> None:
    parsed = parse(text)
    ends = [0]
    for block in parsed.topic.blocks:
        assert block.start_line > ends[-1]
        ends.append(block.end_line)
    kinds = ("paragraph", "item", "quote")
    assert len(ends) - 1 == sum(segment.kind in kinds for segment in parsed.segments)
    assert all(segment.rows == () for segment in parsed.segments if segment.kind not in kinds)


@settings(max_examples=100)
@given(topics())
def test_line_ends_and_a_bom_change_nothing_that_is_said(facts: Facts) -> None:
    topic = parse_topic(facts.text)
    unix = re.sub("\r\n|\r", "\n", facts.text).removeprefix("\ufeff")
    expected = parse_topic(unix)
    assert [(b.id, b.claims, b.start_line) for b in topic.blocks] == [
        (b.id, b.claims, b.start_line) for b in expected.blocks
    ]
    assert topic.headings == expected.headings
    assert [(e.id, e.time, e.sources) for e in topic.evidence] == [
        (e.id, e.time, e.sources) for e in expected.evidence
    ]


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("One.[^e-1] Two[^new-evidence-x][^2]. ^id", "One. Two."),
        ("See [the `office`](../x.md#^1 'title') ![a map](m.png).", "See the `office` a map."),
        ("[[office#^1|the office]] and [[office]]", "the office and office"),
        ("code `[^1]` and \\[^2] ^3 stay", "code `[^1]` and \\[^2] ^3 stay"),
        ("One <!-- [x](y) --> two", "One  two"),
        ("[a [b](c) d", "[a b d"),
        ("他搬家了。[^1] ^id", "他搬家了。"),
    ],
)
def test_plain_text_is_what_a_reader_sees(text: str, reads: str) -> None:
    assert plain(text) == reads


@settings(max_examples=100)
@given(texts)
def test_plain_text_of_any_text_cites_nothing_more(text: str) -> None:
    assert len(plain(text)) <= len(text)


def test_all_links_of_a_free_text_are_found_in_the_order_of_lines() -> None:
    text = "# [a](a.md)\n\n- [b](b.md#x)\n\n> [c](<c d.md>) [d](https://d.e)\n\n`[e](e.md)`\n"
    assert [(link.line, link.target) for link in links(text)] == [
        (1, "a.md"),
        (3, "b.md#x"),
        (5, "c d.md"),
    ]


def test_a_text_that_was_just_read_is_not_read_again_unless_it_is_long() -> None:
    text = "# Home\n\nOne. ^a\n"
    assert parse(text) is parse("".join(text.splitlines(keepends=True)))
    long = text * (1 << 15)
    assert parse(long) is not parse(long)
