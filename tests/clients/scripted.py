"""What the two scripted model services have in common: a loopback server that remembers requests.

A script is a list of answers. An answer is a value, or a function of the request that gives one,
so that a later call can use what an earlier one returned (`last_result`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

type Body = Mapping[str, Any]
type Answer = Mapping[str, Any]
type Step = Answer | Callable[[Body], Answer]


class Service:
    """A model service on loopback, answering from its script, in order; then from `rest`."""

    handler: ClassVar[type[Handler]]

    def __init__(self, steps: Iterable[Step] = (), *, rest: Answer | None = None) -> None:
        self.steps = list(steps)
        self.rest: Answer = rest or {"text": "(the script has no more steps)"}
        self.aside: list[tuple[Callable[[Body], bool], Step]] = []
        """Answers for requests that are no turn of the conversation, such as the writer's."""
        self.requests: list[Body] = []
        """The bodies of the conversation's requests, in order."""
        self.others: list[Body] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        self._server.daemon_threads = True
        self._server.service = self  # type: ignore[attr-defined]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: Body) -> Answer:
        with self._lock:
            step = self._choose(body)
        return step(body) if callable(step) else step

    def is_aside(self, body: Body) -> bool:
        return any(applies(body) for applies, _ in self.aside)

    def _choose(self, body: Body) -> Step:
        for applies, step in self.aside:
            if applies(body):
                self.others.append(body)
                return step
        self.requests.append(body)
        return self.steps.pop(0) if self.steps else self.rest


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def service(self) -> Service:
        service: Service = self.server.service  # type: ignore[attr-defined]
        return service

    def log_message(self, *_: object) -> None:
        """Nothing: a test reads the requests instead."""

    def body(self) -> Body:
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body: Body = json.loads(raw or b"{}")
        return body

    def give(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self.wfile.write(line.encode())
            self.wfile.flush()


def texts(value: object) -> str:
    """All the text in a message's content, a list of blocks, or a whole request."""
    match value:
        case str():
            return value
        case list():
            return "\n".join(texts(part) for part in value)
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return text
        case {"content": content}:
            return texts(content)
        case {"output": output}:
            return texts(output)
    return ""
