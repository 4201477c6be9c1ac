"""What both clients' transcripts are read into: messages, once each by id. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

type Provider = Literal["claude-code", "codex"]
type Role = Literal["user", "assistant"]
type Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Message:
    """What a person typed, or what the assistant said."""

    provider: Provider
    thread: str
    """The session's own id."""
    id: str
    """The message's own id: the same in a copy of the session (a fork)."""
    role: Role
    text: str
    time: str | None
    """As the client wrote it (ISO 8601), or None."""
    cwd: str | None
    """The session's directory when it was said."""
    also: tuple[str, ...] = ()
    """Further ids of the same message."""
    pieces: tuple[tuple[str, str], ...] = ()
    """(id, text) of each row, where the client wrote several; then `also` has their ids."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What tells that two messages are the same one; the thread does not count."""
        return tuple(key(self.provider, id_) for id_ in (self.id, *self.also))


def key(provider: str, message_id: str) -> str:
    return f"{provider}/{message_id}"


def fingerprint(text: str) -> str:
    """Equal for texts that differ in white space only."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:24]


def derived_id(*parts: str) -> str:
    """An id for a message that the client gave none of its own."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]


def parse_row(line: bytes) -> Row | None:
    """One line of a transcript as an object; None for whatever else it is.

    Bytes that are no UTF-8 cost a replacement character, not the line.
    """
    try:
        row = json.loads(line)
    except UnicodeDecodeError:
        return parse_row(line.decode("utf-8", "replace").encode())
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def text_at(row: Row, name: str) -> str | None:
    """The field where it is a string with something in it."""
    value = row.get(name)
    return value if isinstance(value, str) and value else None


def object_at(row: Row, name: str) -> Row:
    """The field where it is an object, else an empty one."""
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def objects_at(row: Row, name: str) -> Sequence[Row]:
    """The objects in a list field."""
    value = row.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
