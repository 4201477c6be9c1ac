"""`doctor`'s look at Claude Code and Codex: their programs, and the settings that matter.

Calls no model, and reports only what is certain.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from scriptorium.capture import locate
from scriptorium.errors import Json
from scriptorium.interface import doctor_login
from scriptorium.interface.client_files import (
    PLUGIN,
    claude_folder,
    codex_folder,
    json_file,
    toml_file,
)
from scriptorium.interface.config import Settings
from scriptorium.interface.envelope import mapping, sequence
from scriptorium.interface.finding import Finding, note, ok, warning
from scriptorium.interface.surroundings import Surroundings
from scriptorium.workspace.project import project_root

_SERVER = "plugin:scriptorium:scriptorium"
_SHORT_DAYS = 30
_PASSED_OVER = 15 * 60
"""Seconds."""


def findings(around: Surroundings, settings: Settings) -> Iterator[Finding]:
    programs = {name: locate.find(name, around.environ) for name in ("claude", "codex")}
    yield from _writer(programs, settings, around)
    if programs["claude"] or claude_folder(around).is_dir():
        yield from _claude(around)
    if programs["codex"] or codex_folder(around).is_dir():
        yield from _codex(around)


def _writer(
    programs: Mapping[str, Path | None], settings: Settings, around: Surroundings
) -> Iterator[Finding]:
    if not settings.ingest.enabled:
        return
    named = {"claude": settings.ingest.claude_cli, "codex": settings.ingest.codex_cli}
    for name, path in named.items():
        if path is not None and locate.find(name, around.environ, named=path) is None:
            mend = "name its full path in ~/.scriptorium/config.yaml"
            yield warning("clients", f"ingest.{name}_cli: {path} is no program", mend)
    found = [f"{name} ({path})" for name, path in programs.items() if path]
    if found:
        yield ok("clients", f"capture can write with {', '.join(found)}")
        there = [name for name, path in programs.items() if path]
        yield from doctor_login.findings(there, settings.ingest.agent, around)
    elif not any(named.values()):
        mend = "install it, or set ingest.claude_cli to its full path in ~/.scriptorium/config.yaml"
        yield warning("clients", "neither claude nor codex is found: capture cannot write", mend)


def _claude(around: Surroundings) -> Iterator[Finding]:
    folder = claude_folder(around)
    settings = json_file(folder / "settings.json")
    plugins = mapping(settings.get("enabledPlugins"))
    if plugins.get(PLUGIN) is False:
        mend = f"claude plugin enable {PLUGIN}"
        yield warning("clients", "Claude Code: the plugin is disabled", mend)
    elif plugins.get(PLUGIN) is True:
        yield ok("clients", "Claude Code: the plugin is enabled")
    else:
        mend = "claude plugin marketplace add Fzkuji/Scriptorium && claude plugin install " + PLUGIN
        yield note("clients", "Claude Code: the plugin is not installed for this user", mend)
    for name in ("settings.json", "settings.local.json"):
        file = (project_root(around.cwd) or around.cwd) / ".claude" / name
        own = mapping(json_file(file).get("enabledPlugins"))
        if own.get(PLUGIN) is False and file.parent != folder:
            mend = f"edit {quote(str(file))}: remove {PLUGIN} from enabledPlugins"
            yield warning("clients", "Claude Code: the plugin is disabled in this project", mend)
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
    entry = mapping(json_file(folder / "mcp-needs-auth-cache.json").get(_SERVER))
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
    settings = json_file(file)
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
    file = codex_folder(around) / "config.toml"
    settings = toml_file(file)
    plugins = settings.get("plugins")
    entry = plugins.get(PLUGIN) if isinstance(plugins, dict) else None
    if isinstance(entry, dict) and entry.get("enabled", True):
        yield from _trust(settings)
    elif isinstance(entry, dict):
        mend = f'set enabled = true below [plugins."{PLUGIN}"] in {file}'
        yield warning("clients", "Codex: the plugin is disabled", mend)
    else:
        mend = f"codex plugin marketplace add Fzkuji/Scriptorium && codex plugin add {PLUGIN}"
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
