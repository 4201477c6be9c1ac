"""Codex's rollout rows as messages: what the person typed and what the assistant said.

A rollout tells everything twice. Since 0.17x the `item_completed` events hold the conversation
alone, without injected context and summaries; older rollouts have only the model's own
`response_item`s. Which of the two a file is shows with its first answer; until then nothing of it
is read. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scriptorium.capture.conversation import (
    Message,
    Role,
    Row,
    derived_id,
    object_at,
    objects_at,
    text_at,
)

HINTS = (b'"session_meta"', b'"turn_context"', b'"item_completed"', b'"message"')
"""A line without any of these holds no message."""

type Style = Literal["unknown", "items", "responses"]

_INJECTED = (
    "# AGENTS.md",
    "<environment_context>",
    "<user_instructions>",
    "<skill>",
    "<hook_prompt>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
)
_PASSED = "internal_chat_message_metadata_passthrough"
# Ids such as msg_1, which some model servers count anew in each answer, are not the message's own.
_UNIQUE = re.compile(r"[A-Za-z0-9_-]{20,}")


@dataclass(frozen=True, slots=True)
class Session:
    """What the rows before told about the file; carried from one reading to the next."""

    thread: str = ""
    cwd: str | None = None
    subagent: bool = False
    style: Style = "unknown"


UNOPENED = Session()


@dataclass(frozen=True, slots=True)
class Found:
    messages: tuple[Message, ...]
    session: Session
    decided: bool
    """False: the rows show a conversation but not yet its style. Read them again with more."""


def messages(rows: Iterable[Row], session: Session) -> Found:
    """The messages of the rows, in order, and what is known of the file now."""
    items: list[Message] = []
    responses: list[Message] = []
    for row in rows:
        payload = object_at(row, "payload")
        match row.get("type"):
            case "session_meta":
                session = _opened(payload, session)
            case "turn_context":
                session = replace(session, cwd=text_at(payload, "cwd") or session.cwd)
            case "event_msg" if payload.get("type") == "item_completed":
                if session.style != "items":
                    # A newer client may go on with the file of an older one.
                    items += _answered(responses)
                    session = replace(session, style="items")
                items += _item(row, payload, session)
            case "response_item" if payload.get("type") == "message":
                responses += _response(row, payload, session)
            case _:
                continue
    if session.style == "unknown" and any(m.role == "assistant" for m in responses):
        # The event of an answer stands before its response item, so this file has no events.
        session = replace(session, style="responses")
    chosen = {"items": items, "responses": responses, "unknown": []}[session.style]
    decided = session.style != "unknown" or not responses
    return Found(() if session.subagent else tuple(chosen), session, decided)


def _answered(responses: Sequence[Message]) -> Sequence[Message]:
    """The responses up to the last answer; what was typed since is told by an event, too."""
    answers = [place for place, said in enumerate(responses, 1) if said.role == "assistant"]
    return responses[: max(answers, default=0)]


def _opened(payload: Row, session: Session) -> Session:
    if session.thread:  # a fork's file tells of its parent's session too; the first line is its own
        return session
    source = payload.get("source")
    return replace(
        session,
        thread=text_at(payload, "id") or text_at(payload, "session_id") or "",
        cwd=text_at(payload, "cwd"),
        subagent=payload.get("thread_source") == "subagent"
        or (isinstance(source, dict) and "subagent" in source),
    )


def _item(row: Row, payload: Row, session: Session) -> list[Message]:
    item = object_at(payload, "item")
    roles: dict[object, Role] = {"UserMessage": "user", "AgentMessage": "assistant"}
    role = roles.get(item.get("type"))
    if role is None:
        return []
    text = _joined(objects_at(item, "content"), ("text", "Text"))
    turn = text_at(payload, "turn_id")
    place = f"{turn} {payload.get('started_at_ms')}" if turn else ""
    return _message(row, session, role, text, given=text_at(item, "id"), place=place)


def _response(row: Row, payload: Row, session: Session) -> list[Message]:
    roles: dict[object, Role] = {"user": "user", "assistant": "assistant"}
    role = roles.get(payload.get("role"))
    if role is None or object_at(row, "metadata").get("compaction_output") is True:
        return []
    blocks = objects_at(payload, "content")
    if role == "user":
        blocks = _typed(blocks, payload)
    text = _joined(blocks, ("input_text", "output_text", "text"))
    turn = text_at(object_at(payload, _PASSED), "turn_id")
    given = text_at(payload, "id")
    return _message(row, session, role, text, given=given, place=turn or "")


def _typed(blocks: Sequence[Row], payload: Row) -> list[Row]:
    """The blocks that the person typed."""
    told = object_at(payload, _PASSED).get("content_item_kinds")
    kinds = (
        told if isinstance(told, list) and len(told) == len(blocks) else ["user.text"] * len(blocks)
    )
    return [
        block
        for block, kind in zip(blocks, kinds, strict=True)
        if kind == "user.text" and not (text_at(block, "text") or "").lstrip().startswith(_INJECTED)
    ]


def _joined(blocks: Sequence[Row], types: Sequence[str]) -> str:
    texts = (text_at(block, "text") for block in blocks if block.get("type") in types)
    return "\n\n".join(text for text in texts if text and text.strip())


def _message(
    row: Row, session: Session, role: Role, text: str, *, given: str | None, place: str
) -> list[Message]:
    if not text.strip() or not session.thread:
        return []
    time = text_at(row, "timestamp")
    if given is None or _UNIQUE.fullmatch(given) is None:
        # Where it stands in which turn tells it from its namesakes, also in a copy of the file.
        given = f"{given or role}-{derived_id(place or time or '', role, text)}"
    return [Message("codex", session.thread, given, role, text, time, session.cwd)]
