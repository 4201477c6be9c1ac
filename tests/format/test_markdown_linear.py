"""Parsing costs in proportion to the text, whatever it repeats.

Calls are counted, not time measured: four times the text may make four times the calls. What a
regular expression does within a call no counter sees; there a text is long enough that a quadratic
one would not end before the limit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from tests.format.strategies import Known

from scriptorium.format.contract import check_topic
from scriptorium.format.markdown import links, parse, parse_topic, plain, render
from scriptorium.format.model import RelPath

FACT = "- Fact[^1] `code`, [x](y.md#^z).[^2] ^id\n\n[^1]: Time: `2026`; Sources: a/b/1\n\n"
NASTY = {
    "facts": FACT,
    "letters": "a",
    "lines": "a\n",
    "blank lines": "\n",
    "blanks": " ",
    "tabs": "\t",
    "escapes": "\\",
    "ids": " ^a",
    "id lines": "^a\n\n",
    "open citations": "[^",
    "citations": "a[^b]",
    "open brackets": "[",
    "closing brackets": "]",
    "parentheses": "(",
    "open links": "](a",
    "nested links": "[](",
    "links": "[a](b) ",
    "open titles": '[a](b "',
    "images": "![",
    "open angles": "](<",
    "backticks": "`a``b```",
    "open comments": "<!--",
    "open comment lines": "<!-- \n",
    "comments": "<!---->",
    "tags": "<a",
    "quotes": "> ",
    "quote lines": "> a\n",
    "stars": "* ",
    "marks": "- + ",
    "items": "- a\n",
    "numbers": "1. a\n2. b\n",
    "fences": "```\na\n",
    "tildes": "~~~\n",
    "tables": "|a|\n|-|\n",
    "bars": "|-",
    "underlines": "a\n-\n",
    "dashes": "-\n",
    "definitions": "[^a]: b\n\n",
    "definition lines": "[^a]: Time: `2026`; Sources: a,\n",
    "hashes": "# ",
    "wikilinks": "[[a|",
    "carriage returns": "\r",
}


def _calls(work: Callable[[str], object], text: str) -> int:
    count = 0

    def counted(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work(text)
    finally:
        sys.setprofile(before)
    return count


def _work(text: str) -> None:
    topic = parse_topic(text)
    check_topic(RelPath("topics/x.md"), topic, Known({}))
    links(text)
    plain(text)


@pytest.mark.parametrize("piece", NASTY.values(), ids=NASTY)
def test_four_times_the_text_makes_at_most_four_times_the_calls(piece: str) -> None:
    short = piece * (2000 // len(piece))
    assert _calls(_work, short * 4) <= 4.4 * _calls(_work, short) + 200


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", NASTY.values(), ids=NASTY)
def test_a_long_text_of_one_piece_ends(piece: str) -> None:
    text = piece * (60_000 // len(piece)) + "x"
    assert render(parse(text)) == text
    plain(text)


def test_deep_lists_are_walked_line_by_line() -> None:
    text = "".join("  " * depth + "- x\n" for depth in range(200))
    assert _calls(_work, text * 4) <= 4.4 * _calls(_work, text) + 200
    assert render(parse(text)) == text
