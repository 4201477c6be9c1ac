"""Times: when a fact held, by the day at most, and the moment of a message, in ISO 8601.

Owns which texts are such times, and the canonical form of a moment. Must not look at the clock.
"""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime

from scriptorium.errors import InvalidArgument
from scriptorium.format.paths import show

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")


def is_time(text: str) -> bool:
    """Whether the text is `YYYY`, `YYYY-MM`, a real `YYYY-MM-DD`, or `undated`."""
    if text == "undated":
        return True
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text + "0001-01-01"[len(text) :])
    except ValueError:
        return False
    return True


def moment(text: str | None) -> datetime | None:
    """The moment that an ISO 8601 date-time names, with its offset; None for anything else.

    A time without an offset is read as UTC, a date as its midnight. None also in the first and the
    last year that there are: elsewhere on earth such a moment may not exist.
    """
    try:
        found = _read(text or "")
    except ValueError:
        return None
    return None if found.year in (MINYEAR, MAXYEAR) else found


def normalise_time(text: str) -> str:
    """`text`, an ISO 8601 date-time, as `YYYY-MM-DDTHH:MM:SS[.fff]±HH:MM`; the offset is kept.

    A time without an offset is read as UTC, a date as its midnight. Raises InvalidArgument.
    """
    try:
        found = _read(text.strip())
    except ValueError:
        raise InvalidArgument(
            f"{show(text)!r} is not an ISO 8601 time. Write it like 2026-08-03T10:30:00+08:00, "
            "or leave it out when it is not known."
        ) from None
    return found.isoformat(timespec=_precision(found.microsecond))


def _read(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _precision(microsecond: int) -> str:
    if microsecond == 0:
        return "seconds"
    return "milliseconds" if microsecond % 1000 == 0 else "microseconds"
