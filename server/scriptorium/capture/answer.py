"""What the writer may answer, and the check of every field of it as hostile input.

The schema is strict in the sense of both clients: no further properties, all of them required. An
`Answer` is proof that a check ran: its paths are writable, its times real, its numbers those of
messages that were sent, and its prose is plain text of one paragraph that cannot forge structure.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scriptorium.capture.conversation import Row, objects_at
from scriptorium.capture.prose import InvalidProseError, line, prose
from scriptorium.errors import ScriptoriumError
from scriptorium.format import paths
from scriptorium.format.model import RelPath
from scriptorium.format.times import is_time

MOST_ITEMS = 200
TEXT_LENGTH = 2_000
HEADING_LENGTH = 150
CORE_LENGTH = 300


def _object(**properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _string(description: str) -> dict[str, object]:
    return {"type": "string", "description": description}


def _list(items: Mapping[str, object], description: str) -> dict[str, object]:
    return {"type": "array", "items": items, "description": description}


_TEXT = _string("One plain paragraph that is understood without the conversation.")
_TIME = _string("When it held: YYYY, YYYY-MM, YYYY-MM-DD or undated.")
_MESSAGES = _list({"type": "integer"}, "The numbers of the messages that say so.")

SCHEMA: Mapping[str, object] = _object(
    additions=_list(
        _object(
            topic=_string("topics/<subject>/<name>.md: one listed, or a new one."),
            heading=_string("The heading to stand under, without #; one listed, or a new one."),
            text=_TEXT,
            time=_TIME,
            messages=_MESSAGES,
        ),
        "New facts.",
    ),
    revisions=_list(
        _object(
            block_id=_string("The id of a related block that the statement continues or changes."),
            text=_TEXT,
            time=_TIME,
            messages=_MESSAGES,
        ),
        "New statements that belong into a block shown; the old ones stay.",
    ),
    core=_list(
        _string("One short line."),
        "What every future session must know from its start. Mostly empty.",
    ),
)


@dataclass(frozen=True, slots=True)
class Addition:
    topic: RelPath
    heading: str
    """Empty: directly below the title."""
    text: str
    time: str
    messages: tuple[int, ...]
    """Numbers of messages, from 1."""


@dataclass(frozen=True, slots=True)
class Revision:
    block_id: str
    text: str
    time: str
    messages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    additions: tuple[Addition, ...] = ()
    revisions: tuple[Revision, ...] = ()
    core: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Every fault of an answer, each with what to do, for the model to mend."""

    errors: tuple[str, ...]


def check(value: object, *, messages: int, is_block: Callable[[str], bool]) -> Answer | Refused:
    """The answer, or all that is wrong with it. `messages` is how many were sent."""
    checker = _Checker(messages, is_block)
    answer = checker.answer(value)
    return Refused(tuple(checker.errors[:50])) if checker.errors else answer


class _Checker:
    """Collects every fault of one answer."""

    def __init__(self, messages: int, is_block: Callable[[str], bool]) -> None:
        self.errors: list[str] = []
        self._messages = messages
        self._is_block = is_block

    def answer(self, value: object) -> Answer:
        if not isinstance(value, dict):
            self.errors.append("The answer must be one JSON object.")
            return Answer()
        for name in value.keys() - {"additions", "revisions", "core"}:
            self.errors.append(f"{name!r:.60} is not a field of the answer.")
        added, revised = self._rows(value, "additions"), self._rows(value, "revisions")
        additions = [self._addition(row, f"additions[{n}]") for n, row in added]
        revisions = [self._revision(row, f"revisions[{n}]") for n, row in revised]
        core = self._core(value.get("core", []))
        return Answer(tuple(dict.fromkeys(additions)), tuple(dict.fromkeys(revisions)), core)

    def _rows(self, value: Row, name: str) -> list[tuple[int, Row]]:
        items = value.get(name, [])
        rows = objects_at(value, name)
        if not isinstance(items, list) or len(rows) != len(items):
            self.errors.append(f"{name} must be a list of objects.")
        if len(rows) > MOST_ITEMS:
            self.errors.append(f"{name} has {len(rows)} items, more than {MOST_ITEMS}.")
        return list(enumerate(rows[:MOST_ITEMS]))

    def _addition(self, row: Row, where: str) -> Addition:
        return Addition(
            topic=self._topic(row.get("topic"), where),
            heading=self._line(row.get("heading"), f"{where}.heading", HEADING_LENGTH),
            text=self._prose(row.get("text"), where),
            time=self._time(row.get("time"), where),
            messages=self._numbers(row.get("messages"), where),
        )

    def _revision(self, row: Row, where: str) -> Revision:
        told = row.get("block_id")
        block = told.strip().removeprefix("^") if isinstance(told, str) else ""
        if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", block) or not self._is_block(block):
            self.errors.append(
                f"{where}.block_id: there is no block {told!r:.80}; take the id of a related block,"
                " or make it an addition."
            )
        return Revision(
            block_id=block,
            text=self._prose(row.get("text"), where),
            time=self._time(row.get("time"), where),
            messages=self._numbers(row.get("messages"), where),
        )

    def _core(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > MOST_ITEMS:
            self.errors.append("core must be a short list of lines.")
            return ()
        lines = (self._line(v, f"core[{n}]", CORE_LENGTH) for n, v in enumerate(value))
        return tuple(text for text in lines if text)

    def _topic(self, value: object, where: str) -> RelPath:
        text = value.strip() if isinstance(value, str) else ""
        text = text if text.startswith(("topics/", "/", "../")) else f"topics/{text}"
        text = text if text.endswith(".md") else f"{text}.md"
        try:
            path = paths.writable(paths.rel_path(text))
            if paths.kind(path) != "topic" or ".md/" in path.lower():
                self.errors.append(f"{where}.topic: {text[:120]!r} is not a topics/….md path.")
        except ScriptoriumError as error:
            self.errors.append(f"{where}.topic: {error.message}")
            return RelPath("topics/refused.md")
        return path

    def _prose(self, value: object, where: str) -> str:
        try:
            return prose(value if isinstance(value, str) else "", TEXT_LENGTH)
        except InvalidProseError as error:
            self.errors.append(f"{where}.text: {error}")
            return ""

    def _line(self, value: object, where: str, limit: int) -> str:
        if not isinstance(value, str):
            self.errors.append(f"{where} must be a string.")
            return ""
        try:
            return line(value, limit)
        except InvalidProseError as error:
            self.errors.append(f"{where}: {error}")
            return ""

    def _time(self, value: object, where: str) -> str:
        text = value.strip() if isinstance(value, str) else ""
        if not is_time(text):
            self.errors.append(
                f"{where}.time: {value!r:.40} is not YYYY, YYYY-MM, YYYY-MM-DD (a real date)"
                " or undated."
            )
        return text

    def _numbers(self, value: object, where: str) -> tuple[int, ...]:
        items = value if isinstance(value, list) else []
        good = {n for n in items if type(n) is int and 1 <= n <= self._messages}
        if not good or len(good) != len(set(map(str, items))):
            self.errors.append(
                f"{where}.messages must name at least one message by its number,"
                f" 1 to {self._messages}."
            )
        return tuple(sorted(good))
