"""A scripted stand-in for the OpenAI Responses API, as Codex uses it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.clients.scripted import Answer, Body, Handler, Service, texts

_numbers = itertools.count(1)
_USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 100,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 1100,
}


def call(tool: str, **arguments: Any) -> Answer:
    """A step that calls one of the plugin's tools."""
    return {"tool": tool, "input": arguments}


def say(text: str) -> Answer:
    return {"text": text}


def outputs(body: Body) -> list[Mapping[str, Any]]:
    """The envelopes that the conversation's tool calls returned, in order."""
    items = [item for item in body["input"] if item.get("type") == "function_call_output"]
    given = [texts(item["output"]) for item in items]
    return [_envelope(text) for text in given if '"ok"' in text]


def last_result(body: Body) -> Mapping[str, Any]:
    return outputs(body)[-1]


def _envelope(text: str) -> Mapping[str, Any]:
    """Codex puts a line about the time before what the tool returned."""
    envelope: Mapping[str, Any] = json.loads(text[text.index("{") :])
    return envelope


class _Responses(Handler):
    def do_GET(self) -> None:
        self.give(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        body = self.body()
        answer = self.service.answer(body)
        number = next(_numbers)
        items = list(_items(answer, number))
        response = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "model": body.get("model", "scripted"),
            "status": "completed",
            "output": items,
            "usage": _USAGE,
        }
        self.stream(_events(response, items))


class OpenAiApi(Service):
    handler = _Responses
    patience = 40

    def answer(self, body: Body) -> Answer:
        """The next step; but Codex's first request does not wait for servers that still start."""
        waits = any(isinstance(step, Mapping) and "tool" in step for step in self.steps)
        if waits and not has_memory(body) and self.patience and not self.is_aside(body):
            self.patience -= 1
            return {"tool": "exec_command", "namespace": None, "input": {"cmd": "sleep 0.5"}}
        return super().answer(body)


def has_memory(body: Body) -> bool:
    return "memory_update" in json.dumps(body.get("tools"))


def _items(answer: Answer, number: int) -> Iterator[dict[str, Any]]:
    if "text" in answer:
        content = [{"type": "output_text", "text": answer["text"], "annotations": []}]
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        yield {**message, "status": "completed", "content": content}
    if "tool" in answer:
        space = answer.get("namespace", "mcp__scriptorium")
        yield {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            **({"namespace": space} if space else {}),
            "name": answer["tool"],
            "arguments": json.dumps(answer["input"]),
            "status": "completed",
        }


def _events(response: dict[str, Any], items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    opening = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": opening}
    for index, item in enumerate(items):
        started = {**item, "content": []} if item["type"] == "message" else item
        yield {"type": "response.output_item.added", "output_index": index, "item": started}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}
