"""Regular expressions end."""

from __future__ import annotations

import pytest

from scriptorium.interface import regex


def test_lines_are_found_by_number_in_each_text() -> None:
    texts = ["alpha\nbeta\nalphabet", "", "ALPHA\r\n"]
    found = regex.matching_lines(r"^alpha$", texts, case_sensitive=False)
    assert found == [[0], [], [0]]


def test_what_follows_the_end_of_the_last_line_is_no_line() -> None:
    texts = ["a\n\nb\n", "\n", "", "a"]
    assert regex.matching_lines("^$", texts, case_sensitive=True) == [[1], [0], [], []]


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*", "(?P<a", "(?<=a+)b", "a{99999999999}", "(" * 600]
)
def test_a_bad_pattern_is_a_reason(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        regex.matching_lines(pattern, ["x"], case_sensitive=True)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a|a)*b", "(.*a){25}"])
def test_a_catastrophic_pattern_ends_at_the_deadline(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"0\.5 s"):
        regex.matching_lines(pattern, ["a" * 5000 + "!"], case_sensitive=True, deadline=0.5)


def test_all_of_unicode_passes_through() -> None:
    assert regex.matching_lines("浦东|🚇", ["x\n住在浦东\n🚇"], case_sensitive=True) == [[1, 2]]
