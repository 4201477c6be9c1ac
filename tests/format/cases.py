"""Golden cases as markdown-it-py writes them: `title . input . output .`, several in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GOLDENS = Path(__file__).parent / "goldens"


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    expected: str


def read(folder: str) -> list[Case]:
    """The cases of every file in a folder below `goldens/`."""
    return [case for file in sorted((GOLDENS / folder).glob("*.md")) for case in _cases(file)]


def _cases(file: Path) -> Iterator[Case]:
    parts = file.read_text(encoding="utf-8").split("\n.\n")
    assert len(parts) % 3 == 1, (
        f"{file.name}: a case is title, input and output, each ended by a dot"
    )
    for title, text, expected in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        yield Case(f"{file.stem}: {title.strip()}", text + "\n", expected.strip())
