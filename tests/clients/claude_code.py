"""Claude Code as a test drives it: a home of its own, and the scripted service as its model."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.anthropic_api import AnthropicApi
from tests.clients.tmux import Terminal

TOOLS = [f"memory_{name}" for name in ("grep", "list", "read", "search", "status", "update")]
READY = "shift+tab to cycle"  # the line below the input, in a terminal
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
    "ANTHROPIC_API_KEY": "dummy",
}


@dataclass
class ClaudeCode:
    binary: Path
    api: AnthropicApi
    environment: dict[str, str]
    cwd: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return Path(self.environment["HOME"])

    @property
    def memory(self) -> Path:
        return self.home / ".scriptorium" / "memory"

    def full_environment(self) -> dict[str, str]:
        return {**self.environment, **QUIET, "ANTHROPIC_BASE_URL": self.api.url, **self.more}

    def run(self, *arguments: str | Path, status: int = 0, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [self.binary, *arguments],
            cwd=cwd or self.cwd,
            env=self.full_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def install(self, marketplace: str | Path) -> None:
        self.run("plugin", "marketplace", "add", str(marketplace))
        self.run("plugin", "install", "scriptorium@scriptorium")

    def warm(self, plugin: Path) -> None:
        """The environment of that plugin's sources is there: `-p` waits for no first start."""
        launcher: list[str | Path] = [plugin / "bin" / "scriptorium", "--version"]
        subprocess.run(launcher, env=self.environment, check=True, capture_output=True, timeout=120)

    def answer_first_questions(self) -> None:
        """As if the user had picked a theme, and trusted the key and the project's folder."""
        file = self.home / ".claude.json"
        known = json.loads(file.read_text(encoding="utf-8"))
        known |= {"hasCompletedOnboarding": True, "theme": "dark"}
        known["customApiKeyResponses"] = {"approved": ["dummy"], "rejected": []}
        trust = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known["projects"] = {str(self.cwd): trust}
        file.write_text(json.dumps(known), encoding="utf-8")

    def terminal(self, *arguments: str) -> Terminal:
        """An interactive session, for a `with` block."""
        return Terminal([self.binary, *arguments], self.full_environment(), self.cwd)

    def ask(self, prompt: str, *arguments: str, cwd: Path | None = None) -> dict[str, Any]:
        """One `-p` session; its result object."""
        allowed = ",".join(f"mcp__plugin_scriptorium_scriptorium__{tool}" for tool in TOOLS)
        out = self.run(
            "-p", prompt, "--output-format", "json", "--allowedTools", allowed, *arguments, cwd=cwd
        )
        result: dict[str, Any] = json.loads(out)
        return result


def wait_for_server(screen: Terminal) -> None:
    """The session has the plugin's server; a prompt that is sent earlier does not wait for it."""
    screen.type("/mcp")
    screen.wait_for("6 tools")
    screen.press("Escape")
    screen.wait_for_end_of("6 tools")
