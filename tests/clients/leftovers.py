"""What goes on after a client has ended: detached ingest runs, background servers, their children.

They are told by their HOME, which a test made for itself: no other process has it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.clients.patience import wait_for


def end(home: Path) -> None:
    """No process of that home runs any more, so that nothing writes there again."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in running(home):
            _send(pid, number)
        try:
            wait_for(lambda: not running(home), 5)
        except AssertionError:
            continue
        return
    raise AssertionError(f"these cannot be ended: {running(home)}")


def running(home: Path) -> list[int]:
    if Path("/proc/self/environ").exists():
        mark = f"\0HOME={home}\0".encode()
        return [pid for pid, environment in _environments() if mark in b"\0" + environment]
    command = ["ps", "-AEww", "-o", "pid=,command="]  # macOS
    listed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    mark = f" HOME={home} ".encode()
    rows = [line + b" " for line in listed.stdout.splitlines()]
    return [int(row.split()[0]) for row in rows if mark in row]


def _environments() -> Iterator[tuple[int, bytes]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                yield int(folder.name), (folder / "environ").read_bytes()


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
