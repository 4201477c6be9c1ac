"""The pool: messages of all sessions of a workspace that are not in memory yet.

`ingest/pending.jsonl` grows by one line a message and is rewritten only to leave out what is done
with; `ingest/set-aside.jsonl` holds what failed too often. Promises: a message is in the pool
once, by its own id, whichever session's file it was read from; a torn line costs that line, and
its message is read again because the cursor moves after the line is on the medium. The caller
holds `area.pool_lock` to change it.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from scriptorium.capture import archived, area
from scriptorium.capture.conversation import Message, Provider, Role, Row, key, parse_row, text_at
from scriptorium.capture.parts import split
from scriptorium.capture.pool import Pool, Waiting
from scriptorium.capture.redact import redact
from scriptorium.format import times
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.runtime_files import append_runtime, write_runtime

_PENDING = "pending.jsonl"
_SET_ASIDE = "set-aside.jsonl"


def load(layout: Layout) -> Pool:
    """The pool as it stands. Raises OSError."""
    waiting = _parse(area.read(area.place(layout, _PENDING)))
    aside = {w.key for w in load_set_aside(layout)}
    return Pool(tuple(w for w in waiting if w.key not in aside))


def load_set_aside(layout: Layout) -> tuple[Waiting, ...]:
    """The messages that failed too often, oldest first. Raises OSError."""
    return _parse(area.read(area.place(layout, _SET_ASIDE)))


def add(layout: Layout, messages: Sequence[Message], now: datetime) -> int:
    """The messages that are nowhere yet are pending, redacted; how many. Raises OSError."""
    new = unknown(layout, messages, now) if messages else ()
    if new:
        lines = b"".join(_line(row) for rows in new for row in rows)
        append_runtime(layout, area.named(_PENDING), lines, sync=True)
    return len(new)


def unknown(layout: Layout, messages: Iterable[Message], now: datetime) -> list[list[Waiting]]:
    """Of each message that is nowhere yet, its parts as they would wait. Raises OSError."""
    marks, known = archived.load(layout), _known(layout)
    found = []
    for message in _fresh(messages, known, marks):
        rows = [w for w in waiting_of(message, now) if not _is_known(w.key, known, marks)]
        found += [rows] if rows else []
        known.update(message.keys)
    return found


def waiting_of(message: Message, now: datetime) -> list[Waiting]:
    """The message's parts, redacted; none where nothing is left of it."""
    clean = replace(message, text=redact(message.text), pieces=())
    if not clean.text.strip():
        return []
    return [Waiting(part, tokens, now) for part, tokens in split(clean)]


def keep_only(layout: Layout, pool: Pool) -> None:
    """The pool is exactly this one. Raises OSError."""
    lines = b"".join(_line(w) for w in pool.waiting)
    write_runtime(layout, area.named(_PENDING), lines, sync=True)


def set_aside(layout: Layout, batch: Sequence[Waiting]) -> None:
    """The batch is not pending any more, but kept for a retry. Raises OSError."""
    # Killed between the two writes, the messages are in both files, and count as set aside.
    lines = b"".join(_line(w) for w in batch)
    append_runtime(layout, area.named(_SET_ASIDE), lines, sync=True)
    keep_only(layout, load(layout))


def bring_back(layout: Layout) -> int:
    """What was set aside is pending again, before all else; how many. Raises OSError."""
    aside = load_set_aside(layout)
    if aside:
        keep_only(layout, Pool((*aside, *load(layout).waiting)))
        area.remove(area.place(layout, _SET_ASIDE))
    return len(aside)


def _known(layout: Layout) -> set[str]:
    """The keys of all that is pending or set aside."""
    waiting = (*load(layout).waiting, *load_set_aside(layout))
    return {k for w in waiting for k in w.message.keys}


def _fresh(
    messages: Iterable[Message], known: set[str], marks: Container[bytes]
) -> Iterator[Message]:
    """The messages that are not known; of one that is known in part, its other rows."""
    for message in messages:
        rows = {key(message.provider, id_): (id_, text) for id_, text in message.pieces}
        is_known = {k: _is_known(k, known, marks) for k in message.keys}
        if not any(is_known.values()):
            yield message
        elif rows and not any(is_known[k] for k in is_known.keys() - rows.keys()):
            for message_key, (id_, text) in rows.items():
                if not is_known[message_key]:
                    yield replace(message, id=id_, text=text, also=(), pieces=())


def _is_known(message_key: str, known: set[str], marks: Container[bytes]) -> bool:
    return message_key in known or archived.mark(message_key) in marks


def _line(waiting: Waiting) -> bytes:
    message = waiting.message
    row = {
        "provider": message.provider,
        "thread": message.thread,
        "id": message.id,
        "also": message.also,
        "role": message.role,
        "time": message.time,
        "cwd": message.cwd,
        "tokens": waiting.tokens,
        "added": waiting.added.isoformat(),
        "text": message.text,
    }
    # ASCII keeps lone surrogates, which UTF-8 cannot hold.
    return json.dumps(row).encode("ascii") + b"\n"


def _parse(data: bytes) -> tuple[Waiting, ...]:
    rows = (parse_row(line) for line in data.splitlines())
    found = (_waiting(row) for row in rows if row is not None)
    waiting: dict[str, Waiting] = {}
    for one in found:
        if one is not None:
            waiting.setdefault(one.key, one)
    return tuple(waiting.values())


def _waiting(row: Row) -> Waiting | None:
    provider, role, tokens = row.get("provider"), row.get("role"), row.get("tokens")
    thread, id_, text = text_at(row, "thread"), text_at(row, "id"), text_at(row, "text")
    added = times.moment(text_at(row, "added"))
    if not (thread and id_ and text and added and isinstance(tokens, int)):
        return None
    providers: dict[object, Provider] = {"claude-code": "claude-code", "codex": "codex"}
    roles: dict[object, Role] = {"user": "user", "assistant": "assistant"}
    if provider not in providers or role not in roles:
        return None
    also = row.get("also")
    ids = tuple(i for i in also if isinstance(i, str)) if isinstance(also, list) else ()
    message = Message(
        providers[provider],
        thread,
        id_,
        roles[role],
        text,
        text_at(row, "time"),
        text_at(row, "cwd"),
        ids,
    )
    return Waiting(message, tokens, added)
