"""Dates as English writes them: `3 August 2026`, `Aug 3rd, 2026`, `August 2026`, as the dates they
are.

So a question about August 2026 finds what is dated `2026-08-03`, and the other way round.
"""

from __future__ import annotations

import re

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_NUMBER = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_NAME = "|".join((*_MONTHS, "sept", *_NUMBER))
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_WRITTEN = re.compile(
    rf"\b(?:{_DAY} (?:of )?)?({_NAME})\b\.?(?: {_DAY})?,? ([12]\d{{3}})(?!\d)", re.IGNORECASE
)


def written_dates(text: str) -> list[str]:
    """The dates in `text`: for each `YYYY-MM`, and `YYYY-MM-DD` where a day is given."""
    if not _YEAR.search(text):
        return []
    found: list[str] = []
    for before, month, after, year in _WRITTEN.findall(text):
        found.append(f"{year}-{_NUMBER[month[:3].lower()]:02}")
        day = before or after
        if day and 1 <= int(day) <= 31:
            found.append(f"{found[-1]}-{int(day):02}")
    return found
