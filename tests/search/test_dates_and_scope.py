"""What the dates of a search and its path prefix keep."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptorium.errors import InvalidArgument
from scriptorium.search.dates import instant, span, window
from scriptorium.search.scope import within


@pytest.mark.parametrize(
    ("time", "first", "last"),
    [
        ("2024", date(2024, 1, 1), date(2024, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2023-02", date(2023, 2, 1), date(2023, 2, 28)),
        ("2026-08-03", date(2026, 8, 3), date(2026, 8, 3)),
        ("9999-12", date(9999, 12, 1), date(9999, 12, 31)),
    ],
)
def test_a_time_is_the_days_it_names(time: str, first: date, last: date) -> None:
    assert span(time) == (first.toordinal(), last.toordinal())


@pytest.mark.parametrize(
    "time",
    ["undated", "", None, "2026-13", "2026-02-30", "0000", "26-08-03", "2026-8-3", "２０２６"],
)
def test_what_is_no_date_is_no_time(time: str | None) -> None:
    assert span(time) is None


def test_a_window_includes_both_ends_at_their_precision() -> None:
    both = window("2026-08", "2026")
    assert both is not None
    assert both.first == date(2026, 8, 1).toordinal()
    assert both.last == date(2026, 12, 31).toordinal()
    assert window(None, None) is None
    assert window("", "") is None


@pytest.mark.parametrize("value", ["yesterday", "2026-02-30", "2026/08/03", "-1"])
@pytest.mark.parametrize("name", ["date_from", "date_to"])
def test_a_bad_date_is_refused_and_named(name: str, value: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        window(**{"date_from": None, "date_to": None, name: value})
    assert refused.value.details["argument"] == name


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        window("2026-08", "2026-07-31")


@settings(max_examples=50)
@given(st.dates(), st.dates())
def test_moments_are_ordered_as_their_days(one: date, other: date) -> None:
    assert (instant(one.isoformat()) < instant(other.isoformat())) == (one < other)


def test_moments_are_compared_in_one_time_zone() -> None:
    assert instant("2026-08-03T10:00:00+08:00") < instant("2026-08-03T03:00:00+00:00")
    assert instant("nonsense") == instant(None) == 0


PATHS = [
    "topics/work/office.md",
    "topics/work/pay.md",
    "topics/workshop/bench.md",
    "topics/home.md",
    "topics/家/客厅.md",
    "sources/claude-code/abc.md",
]


@pytest.mark.parametrize(
    ("prefix", "kept"),
    [
        *[(form, PATHS[:5]) for form in ("topics", "topics/", "/topics", "./topics", "/topics/")],
        *[
            (form, PATHS[:2])
            for form in ("work", "work/", "topics/work", "/topics/work/", "./work")
        ],
        *[(form, PATHS[:1]) for form in ("topics/work/office.md", "work/office", "work/office.md")],
        ("topics\\work\\", PATHS[:2]),
        ("workshop", PATHS[2:3]),
        ("works", PATHS[2:3]),
        ("topics/wor", PATHS[:3]),
        ("home", PATHS[3:4]),
        ("家/", PATHS[4:5]),
        ("sources/", PATHS[5:]),
        ("claude-code", PATHS[5:]),
        ("nowhere/", []),
        ("../../etc", []),
    ],
)
def test_a_prefix_keeps(prefix: str, kept: list[str]) -> None:
    assert within(prefix, PATHS) == set(kept)


@pytest.mark.parametrize("prefix", [None, "", " ", "/", ".", "./"])
def test_no_prefix_keeps_everything(prefix: str | None) -> None:
    assert within(prefix, PATHS) is None
