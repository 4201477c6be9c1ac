"""A session of the real Claude Code in a home of its own, with the plugin and a memory to meet."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SERVER = "mcp__plugin_scriptorium_scriptorium__"
TOOLS = [f"memory_{name}" for name in ("grep", "list", "read", "search", "status", "update")]
# The login, and how to reach the service; nothing else of the user's own settings.
KEPT = ("ANTHROPIC_", "CLAUDE_CODE_OAUTH_TOKEN", "HTTP", "http", "NO_PROXY", "no_proxy", "SSL_")
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
}


class SessionError(Exception):
    """The session came to no answer; the text is the client's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    called: frozenset[str]
    """The memory tools that the model called, by their short names."""
    answer: str
    usd: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Home:
    """An empty home with the plugin installed, from which each session gets a copy."""

    folder: Path
    claude: str
    more: Mapping[str, str]

    def prepare(self) -> None:
        """Raises SessionError."""
        self.folder.mkdir(parents=True)
        launcher = [str(ROOT / "bin" / "scriptorium"), "--version"]
        subprocess.run(launcher, env=self.environment(), check=True, stdin=subprocess.DEVNULL)
        self.run(["plugin", "marketplace", "add", str(ROOT)], self.folder, timeout=120)
        self.run(["plugin", "install", "scriptorium@scriptorium"], self.folder, timeout=120)
        settings = self.folder / ".scriptorium"
        settings.mkdir(exist_ok=True)
        # What is measured is what the model does, not what is written after it.
        (settings / "config.yaml").write_text("ingest:\n  enabled: false\n", encoding="utf-8")
        shutil.copytree(HERE / "memory", settings / "memory")

    def copy(self, folder: Path) -> Home:
        shutil.copytree(self.folder, folder, symlinks=True)
        return Home(folder, self.claude, self.more)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
        cache = os.environ.get("XDG_CACHE_HOME") or f"{os.environ['HOME']}/.cache"
        environments = os.environ.get("SCRIPTORIUM_ENV_DIR") or f"{cache}/scriptorium"
        own = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        return {**kept, **own, **QUIET, "SCRIPTORIUM_ENV_DIR": environments, **self.more}

    def ask(self, prompt: str, project: Path, *, model: str | None, timeout: float) -> Outcome:
        """Raises SessionError."""
        project.mkdir()
        allowed = ",".join(SERVER + tool for tool in TOOLS)
        command = ["-p", prompt, "--output-format", "stream-json", "--verbose"]
        command += ["--allowedTools", allowed, *(["--model", model] if model else [])]
        started = time.monotonic()
        events = [json.loads(line) for line in self.run(command, project, timeout).splitlines()]
        results = [event for event in events if event.get("type") == "result"]
        result: dict[str, Any] = results[-1] if results else {}
        if result.get("is_error", True):
            raise SessionError(str(result.get("result", "no result")))
        called = frozenset(_calls(events))
        seconds = time.monotonic() - started
        return Outcome(called, result["result"], float(result.get("total_cost_usd") or 0), seconds)

    def run(self, arguments: list[str], cwd: Path, timeout: float) -> str:
        try:
            done = subprocess.run(
                [self.claude, *arguments],
                cwd=cwd,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SessionError(f"no answer within {timeout:.0f} s") from error
        if done.returncode:
            raise SessionError((done.stderr or done.stdout).strip()[-500:])
        return done.stdout


def _calls(events: list[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        message = event.get("message")
        blocks = message.get("content") if isinstance(message, dict) else None
        for block in blocks if isinstance(blocks, list) else []:
            if block.get("type") == "tool_use" and block["name"].startswith(SERVER):
                yield block["name"].removeprefix(SERVER)
