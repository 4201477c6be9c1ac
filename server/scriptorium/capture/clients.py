"""The two clients that can write, behind one call: `ask`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scriptorium.capture import child, claude_child, codex_child, locate
from scriptorium.capture.answer import SCHEMA
from scriptorium.capture.child import Failed, Result
from scriptorium.capture.options import Agent


@dataclass(frozen=True, slots=True)
class Client:
    """Which client writes, as whom."""

    agent: Agent
    environ: Mapping[str, str]
    model: str | None = None
    named: str | None = None
    """The program's path, where the user gave one."""
    time_limit: float = child.TIME_LIMIT


def ask(client: Client, system: str, prompt: str, *, budget: float) -> Result:
    """The client's answer to one request, or how it failed. `budget` is in US dollars."""
    program = locate.find(client.agent, client.environ, named=client.named)
    if program is None:
        return Failed("not-found", _not_found(client))
    with tempfile.TemporaryDirectory(prefix="scriptorium-", ignore_cleanup_errors=True) as folder:
        files, empty = Path(folder, "files"), Path(folder, "empty")
        files.mkdir()
        empty.mkdir()
        environ = {**client.environ, "PATH": locate.path_for(program, client.environ)}
        match client.agent:
            case "claude":
                command = claude_child.command(program, system, SCHEMA, client.model, budget)
                environ = claude_child.environment(environ)
            case "codex":
                config = codex_child.user_config(environ)
                command = codex_child.command(
                    program, system, SCHEMA, client.model, files=files, empty=empty, config=config
                )
                environ = child.outside_session(environ)
        data = prompt.encode("utf-8", "replace")
        try:
            ended = child.run(
                command, data, cwd=empty, environ=environ, time_limit=client.time_limit
            )
        except (OSError, ValueError) as error:
            return Failed("not-started", f"{client.agent} cannot be started: {error}")
        if client.agent == "claude":
            return claude_child.result(ended)
        return codex_child.result(ended, files)


def _not_found(client: Client) -> str:
    if client.named:
        return (
            f"there is no program {client.named}; name another with --{client.agent}-cli or in the"
            " settings"
        )
    return (
        f"{client.agent} is not on PATH ({client.environ.get('PATH', 'empty')[:200]}) nor where"
        f" installers put it; name it with --{client.agent}-cli"
    )
