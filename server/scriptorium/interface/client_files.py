"""Where Claude Code and Codex keep their settings, and what those files hold.

Changes none. A file that is missing, or in a form that is not understood, is read as empty: only
what is certain is reported. No pipe and no giant in a file's place keeps a reader waiting.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from scriptorium.errors import Json
from scriptorium.interface.envelope import mapping, records
from scriptorium.interface.surroundings import Surroundings

PLUGIN = "scriptorium@scriptorium"
_MOST = 64 << 20
"""Bytes; Claude Code keeps a history of every project in one of its files."""


def claude_folder(around: Surroundings) -> Path:
    return Path(around.environ.get("CLAUDE_CONFIG_DIR") or around.home / ".claude")


def codex_folder(around: Surroundings) -> Path:
    return Path(around.environ.get("CODEX_HOME") or around.home / ".codex")


def installed_plugin(around: Surroundings) -> Path | None:
    """The folder of the plugin that Claude Code runs, as far as it says."""
    plugins = mapping(json_file(claude_folder(around) / "plugins" / "installed_plugins.json"))
    for entry in records(mapping(plugins.get("plugins")).get(PLUGIN)):
        place = entry.get("installPath")
        if isinstance(place, str) and Path(place).is_dir():
            return Path(place)
    return None


def json_file(path: Path) -> Mapping[str, Json]:
    try:
        return mapping(json.loads(_text(path)))
    except (OSError, ValueError, RecursionError):
        return {}


def toml_file(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(_text(path))
    except (OSError, ValueError, RecursionError):
        return {}


def _text(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST:
            raise OSError("no regular file, or too large")
        return file.read().decode("utf-8")
