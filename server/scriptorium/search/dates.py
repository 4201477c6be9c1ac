"""Days, and windows of days: what `date_from` and `date_to` mean.

A time of any precision (`2026`, `2026-08`, `2026-08-03`) is the span of days that it names; a
window keeps what overlaps it. `undated` and the unknown overlap nothing.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date
from functools import lru_cache

from scriptorium.errors import InvalidArgument
from scriptorium.format.times import moment

_TIME = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
ALWAYS = (date.min.toordinal(), date.max.toordinal())


@dataclass(frozen=True, slots=True)
class Window:
    """Days from `first` to `last`, both included, as proleptic Gregorian ordinals."""

    first: int
    last: int


@lru_cache(maxsize=8192)
def span(time: str | None) -> tuple[int, int] | None:
    """The first and last day of a time, as ordinals; None for `undated` and whatever is no time."""
    found = _TIME.fullmatch(time or "")
    if not found:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        first = date(year or 0, month or 1, day or 1)
        if month is None:
            last = date(first.year, 12, 31)
        else:
            last = date(first.year, month, day or monthrange(first.year, month)[1])
    except ValueError:
        return None
    return first.toordinal(), last.toordinal()


@lru_cache(maxsize=8192)
def instant(time: str | None) -> int:
    """Seconds (UTC, from the year 1) to order by, of an ISO 8601 moment or a date's last day.

    0 where it is unknown.
    """
    if found := span(time):
        return found[1] * 86400
    known = moment(time)
    if known is None:
        return 0
    utc = known.astimezone(UTC)
    return utc.toordinal() * 86400 + utc.hour * 3600 + utc.minute * 60 + utc.second


def window(date_from: str | None, date_to: str | None) -> Window | None:
    """The window that two arguments of a search name; None where neither is given.

    Raises InvalidArgument for what is no date, and for a window that ends before it begins.
    """
    if not date_from and not date_to:
        return None
    first = _bound("date_from", date_from)[0]
    last = _bound("date_to", date_to)[1]
    if last < first:
        raise InvalidArgument(
            f"date_from {date_from} lies after date_to {date_to}: swap them.",
            details={"date_from": date_from, "date_to": date_to},
        )
    return Window(first, last)


def _bound(name: str, value: str | None) -> tuple[int, int]:
    if not value:
        return ALWAYS
    found = span(value.strip())
    if found is None:
        raise InvalidArgument(
            f"{name} {value[:40]!r} is no date: give YYYY, YYYY-MM or YYYY-MM-DD.",
            details={"argument": name, "value": value[:40]},
        )
    return found
