"""`doctor`'s look at Claude Code and Codex: their programs, and the settings that matter.

Reads their settings files, changes none, calls no model. A file in a form that is not understood
is left alone: only what is certain is reported.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from scriptorium.capture import locate
from scriptorium.errors import Json
from scriptorium.interface import doctor_login
from scriptorium.interface.config import Settings
from scriptorium.interface.envelope import mapping, sequence
from scriptorium.interface.finding import Finding, note, ok, warning
from scriptorium.interface.surroundings import Surroundings

_PLUGIN = "scriptorium@scriptorium"
_SERVER = "plugin:scriptorium:scriptorium"
_SHORT_DAYS = 30
_PASSED_OVER = 15 * 60
"""Seconds."""


def findings(around: Surroundings, settings: Settings) -> Iterator[Finding]:
    programs = {name: locate.find(name, around.environ) for name in ("claude", "codex")}
    yield from _writer(programs, settings, around)
    if programs["claude"] or (around.home / ".claude").is_dir():
        yield from _claude(around)
    if programs["codex"] or _codex_home(around).is_dir():
        yield from _codex(around)


def _writer(
    programs: Mapping[str, Path | None], settings: Settings, around: Surroundings
) -> Iterator[Finding]:
    if not settings.ingest.enabled:
        return
    named = settings.ingest.claude_cli
    if named is not None and locate.find("claude", around.environ, named=named) is None:
        yield warning("clients", f"ingest.claude_cli: {named} is no program", "name its full path")
    found = [f"{name} ({path})" for name, path in programs.items() if path]
    if found:
        yield ok("clients", f"capture can write with {', '.join(found)}")
        there = [name for name, path in programs.items() if path]
        yield from doctor_login.findings(there, settings.ingest.agent, around)
    elif named is None:
        mend = "install it, or set ingest.claude_cli to its full path in ~/.scriptorium/config.yaml"
        yield warning("clients", "neither claude nor codex is found: capture cannot write", mend)


def _claude(around: Surroundings) -> Iterator[Finding]:
    folder = Path(around.environ.get("CLAUDE_CONFIG_DIR") or around.home / ".claude")
    settings = _json(folder / "settings.json")
    plugins = mapping(settings.get("enabledPlugins"))
    if plugins.get(_PLUGIN) is False:
        mend = f"claude plugin enable {_PLUGIN}"
        yield warning("clients", "Claude Code: the plugin is disabled", mend)
    elif plugins.get(_PLUGIN) is True:
        yield ok("clients", "Claude Code: the plugin is enabled")
    else:
        mend = (
            "claude plugin marketplace add Fzkuji/Scriptorium && claude plugin install " + _PLUGIN
        )
        yield note("clients", "Claude Code: the plugin is not installed for this user", mend)
    if settings.get("disableAllHooks") is True:
        mend = f"remove disableAllHooks from {folder / 'settings.json'}"
        yield warning("clients", "Claude Code: all hooks are off, so nothing is captured", mend)
    denied = sequence(settings.get("deniedMcpServers"))
    if any(mapping(entry).get("serverName") == _SERVER for entry in denied):
        mend = f"remove it from {folder / 'settings.json'}"
        yield note("clients", f"Claude Code: the server {_SERVER} is denied", mend)
    yield from _passed_over(folder, around)
    yield from _retention(settings, folder)
    yield from _projects(around)


def _passed_over(folder: Path, around: Surroundings) -> Iterator[Finding]:
    """A server that took too long to start is not tried again for a while."""
    entry = mapping(_json(folder / "mcp-needs-auth-cache.json").get(_SERVER))
    gave_up = entry.get("timestamp")
    if not isinstance(gave_up, (int, float)):
        return
    again = gave_up / 1000 + _PASSED_OVER
    if 0 <= again - around.clock().timestamp() <= _PASSED_OVER:
        until = f"{datetime.fromtimestamp(again, UTC).astimezone():%H:%M}"
        told = f"Claude Code: the server took too long to start and is passed over until {until}"
        yield warning("clients", told, "type /mcp in Claude Code, choose scriptorium, Reconnect")


def _retention(settings: Mapping[str, Json], folder: Path) -> Iterator[Finding]:
    days = settings.get("cleanupPeriodDays", _SHORT_DAYS)
    if isinstance(days, (int, float)) and days <= _SHORT_DAYS:
        yield note(
            "clients",
            f"Claude Code deletes transcripts after {days:g} days; what memory holds stays",
            f"set cleanupPeriodDays in {folder / 'settings.json'} to keep them longer",
        )


def _projects(around: Surroundings) -> Iterator[Finding]:
    file = around.home / ".claude.json"
    settings = _json(file)
    for project, entry in mapping(settings.get("projects")).items():
        if _SERVER in sequence(mapping(entry).get("disabledMcpServers")):
            mend = f"remove it from disabledMcpServers of that project in {file}"
            yield note("clients", f"Claude Code: memory's server is off in {project}", mend)
    server = mapping(mapping(settings.get("mcpServers")).get("scriptorium"))
    if server:
        command = str(server.get("command"))
        line = " ".join([command, *map(str, sequence(server.get("args")))])
        yield note("clients", f"Claude Code: a server of your own is registered: {line}")
        if shutil.which(command) is None:
            mend = "claude mcp remove scriptorium, then add it with a full path"
            yield warning("clients", f"Claude Code: its command {command} is not found", mend)


def _codex(around: Surroundings) -> Iterator[Finding]:
    file = _codex_home(around) / "config.toml"
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        settings = {}
    plugins = settings.get("plugins")
    entry = plugins.get(_PLUGIN) if isinstance(plugins, dict) else None
    if isinstance(entry, dict) and entry.get("enabled", True):
        yield from _trust(settings)
    elif isinstance(entry, dict):
        mend = f'set enabled = true below [plugins."{_PLUGIN}"] in {file}'
        yield warning("clients", "Codex: the plugin is disabled", mend)
    else:
        mend = f"codex plugin marketplace add Fzkuji/Scriptorium && codex plugin add {_PLUGIN}"
        yield note("clients", "Codex: the plugin is not installed", mend)


def _trust(settings: Mapping[str, object]) -> Iterator[Finding]:
    """Whether its hooks were ever trusted; whether they still are, only Codex knows."""
    hooks = settings.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    known = state if isinstance(state, dict) else {}
    if any("scriptorium" in str(name) for name in known):
        mend = "type /hooks in Codex after each update of the plugin"
        yield note("clients", "Codex: the plugin is enabled, and its hooks were trusted", mend)
    else:
        mend = "type /hooks in Codex and trust the hooks of scriptorium"
        told = (
            "Codex: the plugin is enabled, but its hooks are not trusted yet: nothing is captured"
        )
        yield warning("clients", told, mend)


def _codex_home(around: Surroundings) -> Path:
    return Path(around.environ.get("CODEX_HOME") or around.home / ".codex")


def _json(path: Path) -> Mapping[str, Json]:
    try:
        return mapping(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}
