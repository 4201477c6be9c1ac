"""The network's far end: an embedding server on loopback that does what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from scriptorium.search.embedding import Endpoint

WORDS = ("tea", "coffee", "cat", "dog", "moved", "上海", "office", "garden")
"""A text's vector has a dimension for each of these, so similar texts have similar vectors."""


@dataclass
class Server:
    """A running server. What it answers can be changed while it runs."""

    url: str
    dialects: set[str] = field(default_factory=lambda: {"ollama"})
    length: int = len(WORDS)
    model: str = "m"
    requests: list[list[str]] = field(default_factory=list)
    """The texts of every request that came to an API it has."""
    asked: list[str] = field(default_factory=list)
    """The path of every request."""
    override: Callable[[list[str]], tuple[int, bytes] | None] = lambda _: None
    """Answers in its place where it gives anything."""
    headers: dict[str, str] = field(default_factory=dict)
    """Those of the last request."""

    def endpoint(self, path: str = "", model: str = "m", key: str | None = None) -> Endpoint:
        return Endpoint(self.url + path, model, key)

    @property
    def sent(self) -> list[str]:
        """Every text that was sent, in order."""
        return [text for texts in self.requests for text in texts]

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append(path)
        dialect = {"/api/embed": "ollama", "/v1/embeddings": "openai"}.get(path)
        if dialect not in self.dialects:
            return 404, b"404 page not found"
        request = json.loads(body)
        texts = request["input"]
        self.requests.append(texts)
        if own := self.override(texts):
            return own
        if request["model"] != self.model:
            return 404, json.dumps({"error": f'model "{request["model"]}" not found'}).encode()
        rows = [vector(text, self.length) for text in texts]
        if dialect == "ollama":
            return 200, json.dumps({"model": "m", "embeddings": rows}).encode()
        data = [{"index": n, "embedding": row} for n, row in enumerate(rows)]
        return 200, json.dumps({"data": data[::-1]}).encode()


def vector(text: str, length: int = len(WORDS)) -> list[float]:
    """The same for the same text; near for texts with the same words."""
    noise = sha256(text.encode()).digest()
    counted = [float(text.casefold().count(word)) for word in WORDS]
    return [(counted[n % len(WORDS)] + noise[n % 32] / 2560) for n in range(length)]


@contextmanager
def serving() -> Iterator[Server]:
    """A server, until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.headers = {name.lower(): value for name, value in self.headers.items()}
            status, content = server.answer(self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Clients that gave up are no news."""

    httpd = Quiet(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{httpd.server_port}")
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
