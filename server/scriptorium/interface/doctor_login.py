"""`doctor`'s look at whether the client that writes for capture is logged in.

Calls no model and reads no credential: that there is one is told by the name of a file, of an
environment variable or of a setting. Where a client keeps its login in the system's keychain,
nothing is said.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from scriptorium.interface.client_files import claude_folder, codex_folder, json_file, toml_file
from scriptorium.interface.config import Agent
from scriptorium.interface.finding import Finding, note, ok, warning
from scriptorium.interface.surroundings import Surroundings

_VARIABLES = {
    "claude": (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    ),
    "codex": ("OPENAI_API_KEY", "CODEX_API_KEY"),
}
_NAMES = {"claude": "Claude Code", "codex": "Codex"}
_MENDS = {"claude": "start claude and type /login", "codex": "codex login"}


def findings(
    programs: Sequence[str], agent: Agent | None, around: Surroundings
) -> Iterator[Finding]:
    """One line for each client that is installed; `agent`: the one that the settings name."""
    found = {name: _login(name, around) for name in programs}
    usable = any(found.values())
    for name, login in found.items():
        if login:
            yield ok("clients", f"{_NAMES[name]}: {login}")
        elif name == agent or not usable:
            told = f"{_NAMES[name]} seems not to be logged in: capture cannot write with it"
            yield warning("clients", told, _MENDS[name])
        else:
            yield note("clients", f"{_NAMES[name]} seems not to be logged in", _MENDS[name])


def _login(name: str, around: Surroundings) -> str:
    """Where a login was seen; empty where none was."""
    for variable in _VARIABLES[name]:
        if around.environ.get(variable):
            return f"its login is in {variable}"
    return _claude(around) if name == "claude" else _codex(around)


def _claude(around: Surroundings) -> str:
    folder = claude_folder(around)
    if (folder / ".credentials.json").is_file():
        return "logged in"
    if "apiKeyHelper" in json_file(folder / "settings.json"):
        return "its key comes from apiKeyHelper"
    account = {"oauthAccount", "primaryApiKey"} & json_file(around.home / ".claude.json").keys()
    if account or sys.platform == "darwin":
        return "its login is in the system's keychain, or nowhere"
    return ""


def _codex(around: Surroundings) -> str:
    folder = codex_folder(around)
    if (folder / "auth.json").is_file():
        return "logged in"
    settings = toml_file(folder / "config.toml")
    if settings.get("cli_auth_credentials_store") in ("keyring", "auto"):
        return "its login is in the system's keychain, or nowhere"
    if settings.get("model_provider", "openai") != "openai":
        return f"it asks the provider {settings['model_provider']} of its settings"
    return ""
