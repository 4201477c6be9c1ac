"""How long a warm server takes to `initialize` and `tools/list`, beside a bare one.

    python benchmarks/start.py [--runs N] [--json]

The bare one is a server of the same library with six empty tools. Both are started alternately in
one run, with the same Python and the same client, and ended each time. Prints the medians, their
ratio, and the memory (resident, after the list) of both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

SECONDS, RATIO, MEGABYTES = 0.65, 1.15, 75
"""What is to be reached."""

BARE = """\
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
for name in ("status", "list", "read", "grep", "search", "update"):
    server.add_tool(lambda: "", name=name, description="empty")
server.run()
"""
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Start:
    seconds: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class Report:
    runs: int
    seconds: float
    bare_seconds: float
    ratio: float
    megabytes: float
    bare_megabytes: float

    @property
    def reached(self) -> bool:
        return self.seconds <= SECONDS and self.ratio <= RATIO and self.megabytes <= MEGABYTES


def start(command: Sequence[str], environment: dict[str, str]) -> Start:
    """Starts a server, shakes hands, lists its tools and ends it."""
    before = time.perf_counter()
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        _ask(process, 1, "initialize", INITIALIZE)
        _send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = _ask(process, 2, "tools/list", {})
        seconds = time.perf_counter() - before
        assert len(listed["tools"]) == 6
        megabytes = _resident(process.pid)
        process.kill()
    return Start(seconds, megabytes)


def measure(runs: int) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder}
        workspace = str(Path(folder) / "memory")
        ours = [sys.executable, "-m", "scriptorium.interface.cli", "mcp", "--workspace", workspace]
        bare = [sys.executable, "-c", BARE]
        start(ours, environment), start(bare, environment)  # both are in the page cache now
        pairs = [(start(ours, environment), start(bare, environment)) for _ in range(runs)]
    mine, theirs = zip(*pairs, strict=True)
    seconds = statistics.median(each.seconds for each in mine)
    bare_seconds = statistics.median(each.seconds for each in theirs)
    return Report(
        runs=runs,
        seconds=round(seconds, 3),
        bare_seconds=round(bare_seconds, 3),
        ratio=round(seconds / bare_seconds, 3),
        megabytes=round(statistics.median(each.megabytes for each in mine), 1),
        bare_megabytes=round(statistics.median(each.megabytes for each in theirs), 1),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the start of the server.")
    parser.add_argument("--runs", type=int, default=11, help="starts of each; default: 11")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = measure(options.runs)
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        print(f"{'':12}{'start':>9}{'memory':>11}")
        print(f"{'scriptorium':12}{report.seconds:7.3f} s{report.megabytes:8.1f} MB")
        print(f"{'bare server':12}{report.bare_seconds:7.3f} s{report.bare_megabytes:8.1f} MB")
        print(f"ratio {report.ratio}; to reach: {SECONDS} s, {RATIO}, {MEGABYTES} MB")
    return 0 if report.reached else 1


def _ask(process: subprocess.Popen[str], number: int, method: str, params: object) -> dict:
    _send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    assert process.stdout
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == number:
            return message["result"]
    raise SystemExit("the server ended before it answered")


def _send(process: subprocess.Popen[str], message: object) -> None:
    assert process.stdin
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def _resident(pid: int) -> float:
    """Megabytes of resident memory, where the system tells (Linux); else 0."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
