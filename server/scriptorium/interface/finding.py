"""One line of `doctor`'s report. Owns the order of severity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type Level = Literal["ok", "note", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and the command or edit that mends it."""

    area: str
    level: Level
    message: str
    mend: str = ""


def ok(area: str, message: str) -> Finding:
    return Finding(area, "ok", message)


def note(area: str, message: str, mend: str = "") -> Finding:
    """Nothing wrong, but good to know."""
    return Finding(area, "note", message, mend)


def warning(area: str, message: str, mend: str) -> Finding:
    """It works, with a part missing."""
    return Finding(area, "warning", message, mend)


def broken(area: str, message: str, mend: str) -> Finding:
    """It does not work until this is mended."""
    return Finding(area, "broken", message, mend)
