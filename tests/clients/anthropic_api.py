"""A scripted stand-in for the Anthropic Messages API, as Claude Code uses it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.clients.scripted import Answer, Body, Handler, Service, texts

_numbers = itertools.count(1)


def call(tool: str, **arguments: Any) -> Answer:
    """A step that calls one of the plugin's tools."""
    return {"tool": f"mcp__plugin_scriptorium_scriptorium__{tool}", "input": arguments}


def say(text: str, **more: Any) -> Answer:
    return {"text": text, **more}


def last_result(body: Body) -> Mapping[str, Any]:
    """The envelope that the last tool call of the conversation returned."""
    for message in reversed(body["messages"]):
        for block in reversed(message["content"] if isinstance(message["content"], list) else []):
            if block.get("type") == "tool_result":
                envelope: Mapping[str, Any] = json.loads(texts(block["content"]))
                return envelope
    raise AssertionError("no tool was called yet")


def tools(body: Body) -> list[str]:
    return [tool["name"] for tool in body.get("tools") or []]


class _Messages(Handler):
    def do_HEAD(self) -> None:
        self.give(200, {})

    def do_GET(self) -> None:
        self.give(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})

    def do_POST(self) -> None:
        body = self.body()
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self.give(200, {"input_tokens": 1000})
        elif path != "/v1/messages":
            self.give(404, {"type": "error", "error": {"type": "not_found_error", "message": path}})
        else:
            message = _message(self.service.answer(body), body)
            if body.get("stream"):
                self.stream(_events(message))
            else:
                self.give(200, message)


class AnthropicApi(Service):
    handler = _Messages


def _message(answer: Answer, body: Body) -> dict[str, Any]:
    number = next(_numbers)
    content: list[dict[str, Any]] = []
    if "text" in answer:
        content.append({"type": "text", "text": answer["text"]})
    if "tool" in answer:
        use = {"type": "tool_use", "id": f"toolu_{number:012}", "name": answer["tool"]}
        content.append({**use, "input": answer["input"]})
    return {
        "id": f"msg_{number:012}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": content,
        "stop_sequence": None,
        "stop_reason": "tool_use" if "tool" in answer else "end_turn",
        "usage": {"input_tokens": 1000, "output_tokens": 100, **answer.get("usage", {})},
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    opening = {**message, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty: dict[str, Any] = {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        opened = {**block, **empty}
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}
