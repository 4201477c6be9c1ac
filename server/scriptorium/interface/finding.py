"""One line of `doctor`'s report, and the checks that give it. Owns the order of severity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from scriptorium.errors import ScriptoriumError

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


def warning(area: str, message: str, mend: str = "") -> Finding:
    """It works, with a part missing."""
    return Finding(area, "warning", message, mend)


def broken(area: str, message: str, mend: str = "") -> Finding:
    """It does not work until this is mended."""
    return Finding(area, "broken", message, mend)


def guarded(area: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What the check finds; one that fails itself is a finding like any other."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except ScriptoriumError as error:
        found.append(broken(area, error.message))
    except Exception as error:  # noqa: BLE001  a doctor that dies of what it finds is of no use
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        found.append(broken(area, f"the check failed: {reason}", "report this with its text"))
    return found
