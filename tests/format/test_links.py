"""Links follow the blocks and files that move; everything else keeps every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.format.strategies import texts

from scriptorium.format import links
from scriptorium.format.model import BlockId, RelPath
from scriptorium.format.regions import regions

A = RelPath("topics/a.md")
B = RelPath("topics/work/b c.md")
X = BlockId("91ab03fe")
TO_B = {X: B}


def test_a_block_moves_when_it_lives_in_another_file() -> None:
    y, z = BlockId("y"), BlockId("z")
    assert links.moves({X: A, y: A, z: B}, {X: B, y: A}) == {X: (A, B)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[x]( old.md#^91ab03fe )", "[x]( work/b%20c.md#^91ab03fe )"),
        ("[x](#^91ab03fe)", "[x](work/b%20c.md#^91ab03fe)"),
        ("[x](old/place.md#^91ab03fe)", "[x](work/b%20c.md#^91ab03fe)"),
        ("[x](<old place.md#^91ab03fe> 'title')", "[x](work/b%20c.md#^91ab03fe 'title')"),
        ("- a\n  > [x](old.md#^91ab03fe) ^k\r\n", "- a\n  > [x](work/b%20c.md#^91ab03fe) ^k\r\n"),
        ("# [x](old.md#^91ab03fe)\n", "# [x](work/b%20c.md#^91ab03fe)\n"),
        ("[x](./work/b%20c.md#%5E91ab03fe)", "[x](./work/b%20c.md#%5E91ab03fe)"),
        ("[x](old.md#^other)", "[x](old.md#^other)"),
        ("`[x](old.md#^91ab03fe)`", "`[x](old.md#^91ab03fe)`"),
        ("```\n[x](old.md#^91ab03fe)\n```\n", "```\n[x](old.md#^91ab03fe)\n```\n"),
        ("\\[x](old.md#^91ab03fe)", "\\[x](old.md#^91ab03fe)"),
        ("<!-- [x](old.md#^91ab03fe) -->", "<!-- [x](old.md#^91ab03fe) -->"),
    ],
)
def test_a_link_to_a_moved_block_leads_to_its_new_file(text: str, expected: str) -> None:
    assert links.rewrite_links(text, A, A, TO_B) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[x](office.md#^k)", "[x](../office.md#^k)"),
        ("[s](../sources/p/t.md#source-1)", "[s](../../sources/p/t.md#source-1)"),
        ("[s](../../sources/p/t.md#source-1)", "[s](../../sources/p/t.md#source-1)"),
        ("![i](../image.png)", "![i](../../image.png)"),
        ("[x](#^k)", "[x](#^k)"),
        ("[x](https://example.org/office.md)", "[x](https://example.org/office.md)"),
        ("[x](/office.md) [y](mailto:a@b.c)", "[x](/office.md) [y](mailto:a@b.c)"),
        ("[^e-1]: Sources: [s](../sources/p/t.md#source-1)", None),
    ],
)
def test_the_links_of_a_moved_file_lead_where_they_led(text: str, expected: str | None) -> None:
    wanted = text.replace("../", "../../") if expected is None else expected
    assert links.rewrite_links(text, A, B, {}) == wanted


def test_a_link_that_leads_somewhere_from_the_new_place_stays() -> None:
    text = "[x](office.md#^k) [y](home.md#^k) [z](gone.md#^k)"
    there = {RelPath("topics/work/office.md"), RelPath("topics/home.md")}
    made = links.rewrite_links(text, A, B, {}, exists=there.__contains__)
    assert made == "[x](office.md#^k) [y](../home.md#^k) [z](gone.md#^k)"


@given(texts)
def test_a_text_in_which_nothing_moves_keeps_every_byte(text: str) -> None:
    assert links.rewrite_links(text, A, A, TO_B) == text
    assert links.rewrite_links(text, A, B, {}, exists=lambda _: False) == text


@given(texts, st.sampled_from(["", "> ", "- ", "\ufeff"]))
def test_a_region_stands_in_the_text_where_it_says(text: str, prefix: str) -> None:
    whole = prefix + text
    for region in regions(whole):
        assert len(region.masked) == len(region.text)
        there = whole[region.start : region.start + len(region.text)]
        assert len(there) == len(region.text)
        assert all(r in (t, " ", "\n") for t, r in zip(there, region.text, strict=True))


def test_the_links_of_a_block_that_moved_alone_are_those_of_its_old_file() -> None:
    text = "[s](../d.md#^e).[^1] ^own\n\n[s](../d.md#^e).[^1] ^91ab03fe\n"
    there = {RelPath("topics/d.md")}
    made = links.rewrite_links(
        text, A, A, {}, exists=there.__contains__, came={X: RelPath("topics/work/f.md")}
    )
    assert made == "[s](../d.md#^e).[^1] ^own\n\n[s](d.md#^e).[^1] ^91ab03fe\n"
