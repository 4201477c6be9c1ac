"""What a person sees: plain text in a pipe, colour on a terminal, one place that knows which.

Promises that NO_COLOR and a dumb terminal are respected, and that text from memory cannot send
control sequences to the terminal. Knows nothing of what it prints.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from scriptorium.errors import Json

type Style = Literal["bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan", "mark"]

_CODES: dict[str, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "mark": "1;33",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Terminal:
    """A stream with or without colour."""

    stream: TextIO
    colour: bool

    @staticmethod
    def of(stream: TextIO, environment: Mapping[str, str]) -> Terminal:
        wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        tty = stream.isatty()
        return Terminal(stream, tty and wanted)

    def line(self, text: str = "") -> None:
        """Writes one line; what the stream's encoding lacks is replaced."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        safe = text.encode(encoding, "replace").decode(encoding)
        self.stream.write(safe + "\n")

    def json(self, value: Json) -> None:
        """Writes a value as JSON over several lines, for a program that reads and for a person."""
        self.line(json.dumps(value, ensure_ascii=False, indent=2))

    def paint(self, text: str, *styles: Style) -> str:
        if not self.colour or not text or not styles:
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def heading(self, text: str) -> None:
        self.line(self.paint(text, "bold"))

    def pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names and values in two columns."""
        wide = max((columns(name) for name, _ in rows), default=0)
        for name, value in rows:
            pad = " " * (wide - columns(name))
            self.line(f"  {self.paint(name, 'dim')}{pad}  {value}")

    def marked(self, text: str, places: Sequence[tuple[int, int]]) -> str:
        """The text with the places (start, end) marked; without colour it is unchanged."""
        pieces, last = [], 0
        for start, end in places:
            pieces += [text[last:start], self.paint(text[start:end], "mark")]
            last = end
        return "".join([*pieces, text[last:]])


def plain(text: str) -> str:
    """The text without control characters other than line ends and tabs."""
    return _CONTROL.sub("·", text)


def columns(text: str) -> int:
    """Columns that a text takes: wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
