"""What a process is given by its machine: read once in `cli.main`, then passed down.

Owns the reading of the clock, the environment and the streams. Nothing below `interface/` reads
them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from scriptorium.interface import config
from scriptorium.interface.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Surroundings:
    home: Path
    cwd: Path
    environ: Mapping[str, str]
    stdin: TextIO
    out: Terminal
    err: Terminal
    clock: Callable[[], datetime]
    """The time now, in UTC."""

    @property
    def plugin_root(self) -> Path | None:
        """The plugin's own folder, which is never a project."""
        named = self.environ.get("SCRIPTORIUM_PLUGIN_ROOT")
        return Path(named) if named else _checkout()

    def settings(self) -> config.Loaded:
        return config.load(config.settings_path(self.home))


def here() -> Surroundings:
    """The surroundings of this process."""
    environ = dict(os.environ)
    for stream in (sys.stdout, sys.stderr):
        # A C or POSIX locale must not make a Chinese memory unprintable.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  Path.home() may raise
    return Surroundings(
        home=Path(home),
        cwd=_cwd(Path(home)),
        environ=environ,
        stdin=sys.stdin,
        out=Terminal.of(sys.stdout, environ),
        err=Terminal.of(sys.stderr, environ),
        clock=lambda: datetime.now(UTC),
    )


def _cwd(home: Path) -> Path:
    try:
        return Path.cwd()
    except OSError:  # the folder was removed under this process
        return home


def _checkout() -> Path | None:
    root = Path(__file__).parents[3]
    return root if (root / ".claude-plugin").is_dir() else None
