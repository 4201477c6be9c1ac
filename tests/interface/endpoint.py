"""The far end of search by meaning: an embedding endpoint on loopback, as Ollama speaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def endpoint(model: str, numbers: int) -> Iterator[str]:
    """The address of an embedding endpoint that knows one model."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = asked["model"] == model
            vectors = [[1.0] * numbers for _ in asked["input"]]
            missing = {"error": f'model "{asked["model"]}" not found, try pulling it first'}
            body = json.dumps({"model": model, "embeddings": vectors} if known else missing)
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
