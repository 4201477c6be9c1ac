"""Codex as a test drives it: a home of its own, and the scripted service as its model."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.clients.openai_api import OpenAiApi
from tests.clients.tmux import Terminal

SETTINGS = """
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[features]
unbounded_connection_retries = false
"""


@dataclass
class Codex:
    binary: Path
    api: OpenAiApi
    environment: dict[str, str]
    cwd: Path
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "config.toml").write_text(SETTINGS.format(url=self.api.url))

    @property
    def home(self) -> Path:
        return Path(self.environment["HOME"])

    @property
    def folder(self) -> Path:
        """CODEX_HOME."""
        return self.home / ".codex"

    @property
    def memory(self) -> Path:
        return self.home / ".scriptorium" / "memory"

    def full_environment(self) -> dict[str, str]:
        own = {"CODEX_HOME": str(self.folder), "SCRIPTED_KEY": "dummy"}
        return {**self.environment, **own, **self.more}

    def run(self, *arguments: str | Path, status: int = 0) -> str:
        done = subprocess.run(
            [self.binary, *arguments],
            cwd=self.cwd,
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
        self.run("plugin", "marketplace", "add", marketplace)
        self.run("plugin", "add", "scriptorium@scriptorium")

    @property
    def plugin(self) -> Path:
        """The installed copy."""
        (folder,) = self.folder.glob("plugins/cache/*/scriptorium/*")
        return folder

    def warm(self) -> None:
        """The environment of the installed copy is there: `exec` waits for no first start."""
        command: list[str | Path] = [self.plugin / "bin" / "scriptorium", "--version"]
        subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=120)

    def terminal(self, *arguments: str) -> Terminal:
        """An interactive session, for a `with` block."""
        return Terminal([self.binary, *arguments], self.full_environment(), self.cwd)

    def ask(self, prompt: str, *arguments: str) -> str:
        """One `exec` session with its hooks trusted; what it answered."""
        return self.run("exec", "--dangerously-bypass-hook-trust", *arguments, prompt)


def files(folder: Path) -> dict[str, bytes]:
    """A tree, to be compared: a file more, and the user's trust in its hooks is void."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
