"""What was forgotten and has still to be erased from copies, kept until that is done.

Owns `forget.json` in the runtime directory: it is written before memory changes and deleted when
the last copy is clean, so that the next `forget` or `sync` ends what a kill cut short.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from scriptorium.format.traces import Traces, fold
from scriptorium.workspace import disk, journal
from scriptorium.workspace.layout import Layout

_FILE = "forget.json"
_SHORTEST = 12
"""Characters of a text that is looked for in copies: a shorter one stands anywhere."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is looked for."""

    traces: Traces
    """What files and the lines of logs must not hold: statements, and lines of messages."""
    spoken: Traces
    """What makes a waiting message one to be forgotten too: statements, and whole messages."""

    @staticmethod
    def of(statements: Iterable[str], messages: Sequence[str]) -> Forgotten:
        """What tells of the statements and messages, as far as that is long enough."""
        said = [*statements]
        lines = [line for message in messages for line in message.split("\n")]
        traces, spoken = (
            Traces.of(text for text in texts if is_long(text))
            for texts in ([*said, *lines], [*said, *messages])
        )
        return Forgotten(traces, spoken)

    def with_(self, other: Forgotten | None) -> Forgotten:
        """Both together."""
        if other is None:
            return self
        return Forgotten(
            Traces.of([*self.traces.folded, *other.traces.folded]),
            Traces.of([*self.spoken.folded, *other.spoken.folded]),
        )


def is_long(text: str) -> bool:
    """Whether the text can be told from others that happen to hold it."""
    return len(fold(text)) >= _SHORTEST


def unfinished(layout: Layout) -> Forgotten | None:
    """What has still to be erased; None where nothing has."""
    try:
        note = json.loads(disk.current.read(layout.runtime_dir / _FILE) or b"null")
        return note and Forgotten(Traces.of(note["traces"]), Traces.of(note["spoken"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def begin(layout: Layout, what: Forgotten) -> None:
    """It has to be erased from now on, with what had to be before. Raises OSError."""
    every = what.with_(unfinished(layout))
    note = {"traces": every.traces.folded, "spoken": every.spoken.folded}
    journal.write_runtime(layout, _FILE, json.dumps(note).encode("ascii"))


def end(layout: Layout) -> None:
    """It is erased. Raises OSError."""
    with suppress(FileNotFoundError):
        disk.current.unlink(layout.runtime_dir / _FILE)
