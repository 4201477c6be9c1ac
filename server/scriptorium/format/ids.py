"""Stable ids: every one of them is derived from content, so that the same input gives the same id.

Owns the forms `<8 hex>` (block), `e-<10 hex>` (evidence), `<provider>/<thread>/<message>` (source)
and `source-<16 hex>` (a source's anchor). Must not look at clock or disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import quote

from scriptorium.errors import InvalidArgument
from scriptorium.format.model import BlockId, EvidenceId, SourceId
from scriptorium.format.times import normalise_time

if TYPE_CHECKING:
    from scriptorium.format.sources import Message

_PART = r"[A-Za-z0-9._~%-]{1,160}"
_SOURCE_ID = re.compile(rf"{_PART}/{_PART}/{_PART}")
_PART_LENGTH = 160


def block_id(text: str, origin: str, taken: Container[str]) -> BlockId:
    """8 hex digits from a block's text and its origin (the file), other than every `taken` one."""
    return BlockId(next(i for i in _derived("block", 8, origin, text) if i not in taken))


def evidence_id(definition: str, origin: str, taken: Container[str]) -> EvidenceId:
    """`e-` + 10 hex digits from a definition and its origin, other than every `taken` one."""
    digits = _derived("evidence", 10, origin, definition)
    return EvidenceId(next(i for i in (f"e-{d}" for d in digits) if i not in taken))


def source_id(provider: str, thread: str, message: str) -> SourceId:
    """The id of one message, with the characters percent-encoded that are odd in a path or a link.

    A part longer than 160 characters keeps its start and ends in a digest. Raises InvalidArgument
    for an empty part.
    """
    return SourceId("/".join(_part(p) for p in (provider, thread, message)))


def is_source_id(text: str) -> bool:
    """Whether `text` has the form of a source id that `source_id` makes."""
    return _SOURCE_ID.fullmatch(text) is not None


def anchor(source: SourceId) -> str:
    """`source-<16 hex>`: the heading of a source's record, which is also its link fragment."""
    return f"source-{_digest(source)[:16]}"


def batch(provider: str, messages: Sequence[Message]) -> tuple[SourceId, ...]:
    """The ids of one batch of messages, in order; the same batch always gives the same ids.

    The thread is 16 hex digits of SHA-256 over the ordered batch (role, content, normalised time),
    the message over thread, ordinal and record. Raises InvalidArgument for a bad time.
    """
    records = [
        (m.role, m.content, normalise_time(m.observed_at) if m.observed_at else None)
        for m in messages
    ]
    thread = _digest(_canonical(records))[:16]
    return tuple(
        source_id(provider, thread, _digest(_canonical((thread, ordinal, record)))[:16])
        for ordinal, record in enumerate(records)
    )


def _derived(kind: str, length: int, *content: str) -> Iterator[str]:
    return (_digest(_canonical((kind, *content, n)))[:length] for n in count())


def _canonical(value: object) -> str:
    # ASCII escapes give lone surrogates a form too, and quoting keeps fields apart.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def _part(text: str) -> str:
    if not text:
        raise InvalidArgument("A source id needs a provider, a thread and a message; one is empty.")
    encoded = quote(text, safe="", errors="surrogatepass")
    if len(encoded) <= _PART_LENGTH:
        return encoded
    return f"{encoded[: _PART_LENGTH - 33].rstrip('%')}~{_digest(encoded)[:32]}"
