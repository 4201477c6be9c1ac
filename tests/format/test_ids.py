"""Ids: derived from content, equal for equal input, with a counter on collision."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptorium.errors import InvalidArgument
from scriptorium.format import ids
from scriptorium.format.sources import Message

MOVE = Message("user", "I have moved to Pudong.", "2026-08-03T10:30:00+08:00")
REPLY = Message("assistant", "Noted.", None)


def test_a_block_id_is_eight_hex_digits_of_text_and_origin() -> None:
    one = ids.block_id("text", "topics/a.md", set())
    assert re.fullmatch(r"[0-9a-f]{8}", one)
    assert ids.block_id("text", "topics/a.md", set()) == one
    assert ids.block_id("text", "topics/b.md", set()) != one


def test_a_taken_id_gives_the_next_one_every_time() -> None:
    one = ids.block_id("text", "topics/a.md", set())
    two = ids.block_id("text", "topics/a.md", {one})
    three = ids.block_id("text", "topics/a.md", {one, two})
    assert len({one, two, three}) == 3
    assert ids.block_id("text", "topics/a.md", {one}) == two


def test_an_evidence_id_is_e_and_ten_hex_digits() -> None:
    one = ids.evidence_id("Time: `2026`", "topics/a.md", set())
    assert re.fullmatch(r"e-[0-9a-f]{10}", one)
    assert ids.evidence_id("Time: `2026`", "topics/a.md", {one}) != one


def test_the_same_batch_gives_the_same_source_ids() -> None:
    first = ids.batch("claude-code", [MOVE, REPLY])
    assert first == ids.batch("claude-code", [MOVE, REPLY])
    assert all(re.fullmatch(r"claude-code/[0-9a-f]{16}/[0-9a-f]{16}", i) for i in first)
    assert first[0].split("/")[1] == first[1].split("/")[1]


def test_order_and_repetition_make_other_messages() -> None:
    assert ids.batch("c", [REPLY, MOVE]) != ids.batch("c", [MOVE, REPLY])
    assert len(set(ids.batch("c", [MOVE, MOVE, MOVE]))) == 3


def test_a_batch_sees_times_in_their_normal_form() -> None:
    zulu = Message("user", "x", "2026-08-03T10:30:00Z")
    offset = Message("user", "x", "2026-08-03T10:30:00+00:00")
    assert ids.batch("c", [zulu]) == ids.batch("c", [offset])


def test_a_field_cannot_spill_into_its_neighbour() -> None:
    assert ids.batch("c", [Message("a", "bc", None)]) != ids.batch("c", [Message("ab", "c", None)])


def test_a_lone_surrogate_has_an_id_too() -> None:
    assert ids.batch("c", [Message("user", "\ud800", None)])
    assert ids.block_id("\ud800", "topics/a.md", set())


@given(st.lists(st.text(min_size=1, max_size=30), min_size=3, max_size=3))
def test_a_source_id_is_three_safe_parts(parts: list[str]) -> None:
    made = ids.source_id(*parts)
    assert made.count("/") == 2
    assert made.isascii()
    assert ids.is_source_id(made)


def test_odd_parts_stay_distinct() -> None:
    odd = ["My Client", "My%20Client", "my/client", "my`client", "m\u202ey", "x" * 300, "x" * 301]
    assert len({ids.source_id(p, "t", "m") for p in odd}) == len(odd)


def test_an_empty_part_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        ids.source_id("c", "", "m")


def test_an_anchor_is_sixteen_hex_digits_of_the_id() -> None:
    source = ids.source_id("claude-code", "t", "m")
    assert re.fullmatch(r"source-[0-9a-f]{16}", ids.anchor(source))
    assert ids.anchor(source) != ids.anchor(ids.source_id("claude-code", "t", "n"))
