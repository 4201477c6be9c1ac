"""Times: what is one, and the one form of a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptorium.errors import InvalidArgument
from scriptorium.format.times import is_time, moment, normalise_time


@pytest.mark.parametrize("text", ["undated", "2026", "2026-08", "2026-08-03", "2024-02-29"])
def test_a_fact_holds_at_a_year_a_month_or_a_day(text: str) -> None:
    assert is_time(text)


@pytest.mark.parametrize(
    "text",
    ["", "0000", "26", "2026-13", "2026-02-29", "2026-8-3", "2026-08-03T10:30", "２０２６"],
)
def test_anything_else_is_no_time_of_a_fact(text: str) -> None:
    assert not is_time(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-03T10:30:00+08:00", datetime(2026, 8, 3, 2, 30, tzinfo=UTC)),
        ("2026-08-03T10:30", datetime(2026, 8, 3, 10, 30, tzinfo=UTC)),
        ("2026-08-03", datetime(2026, 8, 3, tzinfo=UTC)),
        ("0001-06-01T00:00:00+14:00", None),
        ("9999-06-01T00:00:00-14:00", None),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_a_moment_is_read_from_iso_8601(text: str | None, expected: datetime | None) -> None:
    assert moment(text) == expected


@given(st.text(max_size=40) | st.datetimes(timezones=st.none() | st.timezones()).map(str))
def test_a_moment_exists_everywhere_on_earth(text: str) -> None:
    found = moment(text)
    if found is not None:
        assert found.astimezone(UTC) == found
        assert found + timedelta(days=1) > found - timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-03T10:30:00+08:00", "2026-08-03T10:30:00+08:00"),
        ("2026-08-03T10:30:00Z", "2026-08-03T10:30:00+00:00"),
        ("2026-08-03 10:30", "2026-08-03T10:30:00+00:00"),
        ("20260803T103000Z", "2026-08-03T10:30:00+00:00"),
        ("2026-08-03T10:30:00.250Z", "2026-08-03T10:30:00.250+00:00"),
        ("2026-08-03T10:30:00.123456Z", "2026-08-03T10:30:00.123456+00:00"),
        ("2026-08-03", "2026-08-03T00:00:00+00:00"),
        (" 2026-08-03 ", "2026-08-03T00:00:00+00:00"),
    ],
)
def test_a_time_has_one_form(text: str, expected: str) -> None:
    assert normalise_time(text) == expected
    assert normalise_time(expected) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-02-30", "2026", "1785715200", "2026-08-03T25:00Z"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        normalise_time(text)
