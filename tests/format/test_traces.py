"""A forgotten text is recognised in its other forms, and in every version of a file."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from scriptorium.format import traces
from scriptorium.format.traces import Traces

SAID = 'Zoë lives at "5 Öl-Weg"'


@pytest.mark.parametrize(
    "form",
    [
        SAID,
        SAID.upper(),
        unicodedata.normalize("NFD", SAID),
        SAID.replace(" ", "\n> "),
        SAID.replace("Zoë", "**Zoë**"),
        f"> - {SAID.replace(' lives', '[^e-1] lives')}",
        SAID.replace("lives at", "[lives](home.md#^1) at"),
    ],
)
def test_a_form_of_the_text_is_recognised(form: str) -> None:
    assert Traces.of([SAID]).stand_in(f"before {form} after")


@pytest.mark.parametrize("other", ["", "Zoë lives", "Zoe lives at 5 Öl-Weg"])
def test_another_text_is_not(other: str) -> None:
    assert not Traces.of([SAID]).stand_in(other)


def test_blank_texts_are_recognised_nowhere() -> None:
    assert not Traces.of(["", " \n", "**"]).stand_in("anything ** ")


@pytest.mark.parametrize(
    "form",
    [
        SAID,
        SAID.lower(),
        SAID.upper(),
        unicodedata.normalize("NFD", SAID),
        f"> {SAID.replace(' ', chr(10) + '> ')}",
        SAID.replace("Zoë", "**Zoë**").replace("lives", "_lives_"),
        json.dumps({"text": SAID.replace(" ", "\n")}, ensure_ascii=False),
    ],
)
def test_the_pattern_for_history_finds_each_form_in_bytes(form: str) -> None:
    pattern = f"(?i){traces.pattern(SAID)}".encode()
    found = re.search(pattern, f"before {form} after".encode())
    assert found
    assert b"before" not in found[0]
    assert b"after" not in found[0]


@pytest.mark.parametrize("text", ["a.b*c(d)[e]", "back\\slash", "==>", "regex:", "#^{8}$|?+"])
def test_the_pattern_takes_every_character_as_it_is(text: str) -> None:
    pattern = re.compile(f"(?i){traces.pattern(text)}".encode())
    assert pattern.fullmatch(text.encode())
    assert pattern.search(b"abc") is None
    assert b"==>" not in pattern.pattern
