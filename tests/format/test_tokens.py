"""The estimate of a text's cost in tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.format.strategies import texts

from scriptorium.format.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("word", 1),
        ("one two three", 3),
        ("internationalisation", 4),
        ("用户搬到浦东", 5),
        ("ひらがなです", 5),
        ("2026", 2),
        ("12", 1),
        ("one\n\ntwo", 3),
        ("----------", 6),
        ("привет", 2),
        ("🎉", 1),
        ("\ud800", 1),
    ],
)
def test_a_text_costs_what_its_pieces_cost(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@settings(max_examples=100)
@given(texts, texts)
def test_texts_cost_about_the_sum_of_their_parts(first: str, second: str) -> None:
    whole, parts = estimate_tokens(first + second), estimate_tokens(first) + estimate_tokens(second)
    assert parts - 4 <= whole <= parts + 4
