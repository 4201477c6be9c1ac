"""Which messages are in memory already: the ids of every message whose batch was written.

The files `ingest/archived-<year>-<month>` hold one short digest a line. They grow only inside the
same transaction as the sources themselves (`Update.runtime`), so a message is in memory exactly
when it is listed, whatever is killed when. Deleting them costs a second look at the sources, not a
second copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from datetime import datetime

from scriptorium.capture import area
from scriptorium.workspace import disk
from scriptorium.workspace.layout import Layout

_PREFIX = "archived-"
_FEW = 60


class Marks(Container[bytes]):
    """The marks of all archived messages.

    A turn asks for a few of them, among perhaps a million: these are looked for in the text. Making
    a set of them takes as long as a hundred such looks, and comes once it pays.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._asked = 0
        self._set: frozenset[bytes] | None = None

    def __contains__(self, mark: object) -> bool:
        self._asked += 1
        if self._set is None and self._asked > _FEW:
            self._set = frozenset(self._text.split())
        if self._set is not None:
            return mark in self._set
        return isinstance(mark, bytes) and mark in self._text


def load(layout: Layout) -> Marks:
    """The marks of all archived messages. Raises OSError."""
    folder = area.place(layout, "")
    names = [name for name in disk.current.listing(folder) if name.startswith(_PREFIX)]
    return Marks(b"\n".join(area.read(folder / name) for name in names))


def mark(key: str) -> bytes:
    """How a message's key is listed: 16 hex digits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16].encode("ascii")


def extended(layout: Layout, keys: Iterable[str], now: datetime) -> dict[str, bytes]:
    """The runtime file that lists the keys too, by its name, as `Update.runtime` takes it."""
    name = f"{_PREFIX}{now:%Y-%m}"
    before = area.read(area.place(layout, name))
    lines = b"".join(mark(key) + b"\n" for key in keys)
    joint = b"\n" if before and not before.endswith(b"\n") else b""
    return {area.named(name): before + joint + lines}
