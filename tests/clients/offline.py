"""A machine without a network, for one client: no address but loopback, and there the service.

Where namespaces are not permitted, every index and proxy leads nowhere instead, which a program
that opens connections of its own would not notice: `Offline.is_isolated` says which one it is.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Self

from tests.clients.scripted import Service

PORT = 8080  # in a namespace of its own, every port is free
NOWHERE = "http://127.0.0.1:9"
INSIDE = Path(__file__).with_name("inside.py")


def is_permitted() -> bool:
    unshare = shutil.which("unshare")
    command = ["unshare", "--map-root-user", "--net", "true"]
    return (
        bool(unshare) and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


class Offline:
    """Wraps a client's binary; inside the `with` block the service answers it."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        self.is_isolated = is_permitted()
        self._folder = folder
        self._servers: list[ThreadingHTTPServer] = []
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    @property
    def url(self) -> str:
        """Where the service is, seen from inside."""
        return f"http://127.0.0.1:{PORT}" if self.is_isolated else self.service.url

    @property
    def environment(self) -> dict[str, str]:
        """What makes every other address a failure, for programs that ask a proxy or an index."""
        if self.is_isolated:
            return {}
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
        local = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        return {**proxies, **local, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "UV_OFFLINE": "1"}

    def wrap(self, binary: Path) -> Path:
        """A program that runs the binary, with the same arguments, where no network is."""
        if not self.is_isolated:
            return binary
        wrapper = self._folder / f"offline-{binary.name}"
        door = self._folder / "door"
        wrapper.write_text(
            "#!/bin/sh\n"
            f"exec unshare --map-root-user --net '{sys.executable}' -I '{INSIDE}' '{door}' {PORT} "
            f"'{binary}' \"$@\"\n"
        )
        wrapper.chmod(0o755)
        return wrapper

    def __enter__(self) -> Self:
        self._door.bind(str(self._folder / "door"))
        self._door.listen()
        threading.Thread(target=self._open, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _open(self) -> None:
        """Serves on each socket that is handed in."""
        while True:
            try:
                visitor, _ = self._door.accept()
            except OSError:
                return
            with visitor:
                _, (handle, *_), _, _ = socket.recv_fds(visitor, 1, 1)
                self._serve(socket.socket(fileno=handle))
                visitor.send(b"x")

    def _serve(self, listening: socket.socket) -> None:
        server = ThreadingHTTPServer(("", PORT), self.service.handler, bind_and_activate=False)
        server.socket.close()
        server.socket = listening
        server.daemon_threads = True
        server.service = self.service  # type: ignore[attr-defined]
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
