"""Which messages are in memory already: the ids of every message whose batch was written.

The files `ingest/archived-<year>-<month>` hold one short digest a line. They grow only inside the
same transaction as the sources themselves (`Update.runtime`), so a message is in memory exactly
when it is listed, whatever is killed when. Deleting them costs a second look at the sources, not a
second copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime

from scriptorium.capture import area
from scriptorium.workspace import disk
from scriptorium.workspace.layout import Layout

_PREFIX = "archived-"


def load(layout: Layout) -> frozenset[bytes]:
    """The marks of all archived messages. Raises OSError."""
    folder = area.place(layout, "")
    names = [name for name in disk.current.listing(folder) if name.startswith(_PREFIX)]
    return frozenset(b"\n".join(area.read(folder / name) for name in names).split())


def mark(key: str) -> bytes:
    """How a message's key is listed: 16 hex digits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16].encode("ascii")


def extended(layout: Layout, keys: Iterable[str], now: datetime) -> dict[str, bytes]:
    """The runtime file that lists the keys too, by its name, as `Update.runtime` takes it."""
    name = f"{_PREFIX}{now:%Y-%m}"
    before = area.read(area.place(layout, name))
    lines = b"".join(mark(key) + b"\n" for key in keys)
    joint = b"\n" if before and not before.endswith(b"\n") else b""
    return {f"{area.DIRECTORY}/{name}": before + joint + lines}
