"""What the launcher and the hooks cost a session, warm.

    python benchmarks/hooks.py [--runs N] [--json]

The launcher's share is the difference between starting through it and starting its Python directly,
in alternation. SessionStart reads a full core and 500 topics; Stop hands a turn over. Everything
runs in a home of its own. Prints medians in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAUNCHER, SESSION_START, STOP = (
    ROOT / part for part in ("bin/scriptorium", "hooks/session-start", "hooks/stop")
)
TARGETS = {"launcher": 15, "session-start": 150, "stop": 50}
"""Milliseconds, at the median."""


def measure(runs: int) -> dict[str, float]:
    """Milliseconds by what was measured; the environment is made first when it is missing."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        environ = _environ(home)
        _memory(home / ".scriptorium" / "memory")
        _run([LAUNCHER, "--version"], environ)
        python = _started(Path(environ["SCRIPTORIUM_ENV_DIR"]))
        direct = [python, "-I", "-X", "utf8", "-m", "scriptorium.interface.cli", "--version"]
        pairs = [
            (
                _ms(lambda: _run([LAUNCHER, "--version"], environ)),
                _ms(lambda: _run(direct, environ)),
            )
            for _ in range(runs)
        ]
        event = json.dumps({"session_id": "s", "transcript_path": "/nonexistent", "cwd": folder})
        start = json.dumps({**json.loads(event), "source": "startup"})
        return {
            "launcher": statistics.median(through - plain for through, plain in pairs),
            "session-start": _median(runs, lambda: _run([SESSION_START], environ, start)),
            "stop": _median(runs, lambda: _run([STOP], environ, event)),
        }


def _environ(home: Path) -> dict[str, str]:
    envs = os.environ.get("SCRIPTORIUM_ENV_DIR", str(Path.home() / ".scriptorium" / "env"))
    return {"HOME": str(home), "PATH": os.environ["PATH"], "SCRIPTORIUM_ENV_DIR": envs}


def _memory(root: Path) -> None:
    (root / "topics").mkdir(parents=True)
    (root / "core.md").write_text("A line of core memory.\n" * 250, encoding="utf-8")
    for number in range(500):
        (root / "topics" / f"{number}.md").write_text(f"# Topic {number}\n", encoding="utf-8")


def _started(environments: Path) -> str:
    """The interpreter that the launcher has just started: the newest key names its environment."""
    newest = max((environments / "start").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    return str(environments / newest.read_text(encoding="utf-8").strip() / "bin" / "python")


def _run(command: list[Path] | list[str], environ: Mapping[str, str], stdin: str = "") -> None:
    subprocess.run(command, input=stdin.encode(), env=environ, capture_output=True, check=True)


def _ms(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begin)


def _median(runs: int, work: Callable[[], None]) -> float:
    return statistics.median(_ms(work) for _ in range(runs))


def main() -> int:
    parser = argparse.ArgumentParser(description="The cost of the launcher and the hooks.")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.runs)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, milliseconds in figures.items():
            print(f"{name:15}{milliseconds:8.1f} ms   to reach: {TARGETS[name]} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
