"""A session's transcript, read from where the last reading ended.

Promises: only new bytes are read; a file that was rewritten or shrunk is read again from its start
(the messages' ids tell what is known); a torn last line waits for its rest; a line that is no
JSON, or a row of unknown kind, costs that line. Never writes, and never raises but OSError.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO

from scriptorium.capture import claude_code, codex
from scriptorium.capture.conversation import (
    Message,
    Provider,
    Row,
    derived_id,
    fingerprint,
    object_at,
    parse_row,
    text_at,
)

_RECENT = 20
"""Messages that a late hook is compared with."""
_CHECKED = 4096
"""Bytes at the start of the file and before the cursor that must be as they were."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the reading of one transcript stands."""

    path: str
    provider: Provider
    offset: int = 0
    """Bytes that are read; always the start of a line."""
    check: str = ""
    """A digest of the bytes before the offset, to notice that the file is another one now."""
    session: codex.Session = codex.UNOPENED
    last_id: str = ""
    last_answer: str = ""
    """The last message's fingerprint where it is the assistant's, else empty."""
    answers: tuple[str, ...] = ()
    """The fingerprints of the newest answers, the newest last."""

    def dump(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


@dataclass(frozen=True, slots=True)
class Reading:
    """New messages, in order, and the cursor behind them."""

    messages: tuple[Message, ...]
    cursor: Cursor


def load(data: bytes) -> Cursor | None:
    """The cursor that `dump` wrote; None for anything else: the file is read from its start."""
    row = parse_row(data) or {}
    try:
        session = codex.Session(**object_at(row, "session"))  # type: ignore[arg-type]
        answers = tuple(row.get("answers", ()))  # type: ignore[arg-type, var-annotated]
        cursor = Cursor(**{**row, "session": session, "answers": answers})  # type: ignore[arg-type]
    except TypeError:
        return None
    good = cursor.provider in ("claude-code", "codex") and isinstance(cursor.offset, int)
    return cursor if good and isinstance(cursor.check, str) else None


def read_new(path: Path, cursor: Cursor | None) -> Reading | None:
    """What came after the cursor; None for a file that is no transcript (yet).

    Raises OSError.
    """
    with _opened(path) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        if cursor is None or _check(file, cursor.offset) != cursor.check:
            provider = _provider(file)
            if provider is None:
                return None
            cursor = Cursor(str(path), provider)
        lines = _Lines(file, cursor.offset, _HINTS[cursor.provider])
        if cursor.provider == "codex":
            found = codex.messages(lines, cursor.session)
            if not found.decided:
                return Reading((), cursor)
            messages, session = found.messages, found.session
        else:
            messages, session = tuple(claude_code.messages(lines, path.stem)), cursor.session
        moved = replace(cursor, offset=lines.end, check=_check(file, lines.end), session=session)
    messages = tuple(_with_stand_ins(messages, cursor.last_id))
    return Reading(messages, _behind(moved, messages))


def holds(reading: Reading, last_message: str) -> bool:
    """Whether the conversation, as read so far, ends with that answer."""
    if not reading.messages:
        return reading.cursor.last_answer == fingerprint(last_message)
    last = reading.messages[-1]
    wanted = " ".join(last_message.split())
    return last.role == "assistant" and " ".join(last.text.split()).endswith(wanted)


def knows(reading: Reading, last_message: str) -> bool:
    """Whether the answer stands anywhere in the newest part of the conversation.

    A hook's ingest may come late, when the next turn has begun or is read already.
    """
    wanted = " ".join(last_message.split())
    said = (m.text for m in reading.messages[-_RECENT:] if m.role == "assistant")
    return fingerprint(last_message) in reading.cursor.answers or any(
        " ".join(text.split()).endswith(wanted) for text in said
    )


def with_answer(
    reading: Reading, last_message: str, *, session: str, time: str, cwd: str | None
) -> Reading:
    """The reading with the hook's answer behind it, under an id that the file's copy has too."""
    cursor = reading.cursor
    thread = reading.messages[-1].thread if reading.messages else cursor.session.thread or session
    message = Message(
        provider=cursor.provider,
        thread=thread,
        id=_stand_in(cursor.last_id or thread, last_message),
        role="assistant",
        text=last_message,
        time=time,
        cwd=cwd,
    )
    # The file's own last message stays the last one, so that its next one gets the same stand-in.
    last = fingerprint(last_message)
    told = replace(cursor, last_answer=last, answers=(*cursor.answers, last)[-_RECENT:])
    return Reading((*reading.messages, message), told)


def _with_stand_ins(messages: Iterable[Message], previous: str) -> Iterator[Message]:
    """The messages, each answer also known by the id it has where the hook told it first."""
    for message in messages:
        if message.role == "assistant":
            also = _stand_in(previous or message.thread, message.text)
            yield replace(message, also=(*message.also, also))
        else:
            yield message
        previous = message.id


def _stand_in(previous: str, text: str) -> str:
    """An answer's id from what it says and which message it follows."""
    return f"last-{derived_id(previous, fingerprint(text))}"


def _behind(cursor: Cursor, messages: tuple[Message, ...]) -> Cursor:
    if not messages:
        return cursor
    last = messages[-1]
    answers = [fingerprint(m.text) for m in messages[-_RECENT:] if m.role == "assistant"]
    return replace(
        cursor,
        last_id=last.id,
        last_answer=answers[-1] if last.role == "assistant" else "",
        answers=(*cursor.answers, *answers)[-_RECENT:],
    )


def _opened(path: Path) -> BinaryIO:
    # Opening a pipe would wait for who may write into it.
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


class _Lines:
    """The complete rows from an offset on; `end` is where the next reading starts."""

    def __init__(self, file: BinaryIO, start: int, hints: tuple[bytes, ...]) -> None:
        self._file = file
        self._hints = hints
        self.end = start

    def __iter__(self) -> Iterator[Row]:
        self._file.seek(self.end)
        for line in self._file:
            whole = line.endswith(b"\n")
            hinted = any(hint in line for hint in self._hints)
            row = parse_row(line) if hinted or not whole else None
            if not whole and row is None:
                return
            if hinted and row is None:
                row = _behind_remains(line)
            # A last line without its newline is whole when it parses: no part of an object does.
            self.end += len(line)
            if row is not None:
                yield row


def _behind_remains(line: bytes) -> Row | None:
    """The row at the end of a line that begins with the remains of another one.

    Such a line is left by a client that was killed while it wrote, or, with NULs, by a power cut.
    """
    line = line.lstrip(b"\0")
    beginning = line[: line.find(b'"', 2) + 1]
    return parse_row(line[line.rfind(beginning) :]) if beginning else None


_HINTS: dict[Provider, tuple[bytes, ...]] = {
    "claude-code": claude_code.HINTS,
    "codex": codex.HINTS,
}


def _provider(file: BinaryIO) -> Provider | None:
    """Whose transcript it is, from the first rows; None while there is none to tell by."""
    file.seek(0)
    for _, line in zip(range(50), file, strict=False):
        row = parse_row(line)
        if row is not None and text_at(row, "type"):
            rollout = text_at(row, "type") == "session_meta" or isinstance(row.get("payload"), dict)
            return "codex" if rollout else "claude-code"
    return None


def _check(file: BinaryIO, offset: int) -> str:
    """A digest of the bytes before the offset; of nothing else, so that appending keeps it."""
    file.seek(0)
    start = file.read(min(offset, _CHECKED))
    tail_at = max(offset - _CHECKED, 0)
    file.seek(tail_at)
    tail = file.read(offset - tail_at)
    return hashlib.sha256(b"%d\0%s\0%s" % (len(start) + len(tail), start, tail)).hexdigest()[:32]
