"""`scriptorium doctor`: what is installed, what runs, what failed last, and how to mend it.

Promises to change nothing but what opening a workspace mends, to call no model, to end in seconds,
and to exit 1 when something is broken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict

from scriptorium.errors import ScriptoriumError
from scriptorium.interface import (
    doctor_clients,
    doctor_environment,
    doctor_workspace,
    opening,
)
from scriptorium.interface.config import Loaded
from scriptorium.interface.finding import Finding, broken, guarded, ok, warning
from scriptorium.interface.opening import Wanted
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings
from scriptorium.interface.terminal import Style, Terminal, plain
from scriptorium.workspace import layers

_SIGNS: dict[str, tuple[str, Style]] = {
    "ok": ("✓", "green"),
    "note": ("·", "dim"),
    "warning": ("!", "yellow"),
    "broken": ("✗", "red"),
}

type Check = Callable[[], Iterable[Finding]]


def doctor(arguments: Arguments, around: Surroundings) -> int:
    loaded = around.settings()
    wanted = opening.asked(arguments)
    checks: list[tuple[str, Check]] = [
        ("environment", lambda: doctor_environment.findings(around)),
        ("settings", lambda: _settings(loaded)),
        ("memory", lambda: _interrupted(wanted, loaded, around)),
        ("memory", lambda: _memory(wanted, loaded, around)),
        ("clients", lambda: doctor_clients.findings(around, loaded.settings)),
    ]
    found = [finding for area, check in checks for finding in guarded(area, check)]
    worst = any(finding.level == "broken" for finding in found)
    if arguments.json:
        report = {"ok": not worst, "findings": [asdict(finding) for finding in found]}
        around.out.line(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        _print(found, around.out)
    return 1 if worst else 0


def _interrupted(wanted: Wanted, loaded: Loaded, around: Surroundings) -> Iterator[Finding]:
    with suppress(ScriptoriumError, OSError):  # what opens it says more of that
        for spec in opening.specs(wanted, loaded.settings):
            root = layers.resolve_root(spec.path, around.cwd, around.plugin_root, None)
            yield from doctor_workspace.interrupted(root)


def _memory(wanted: Wanted, loaded: Loaded, around: Surroundings) -> Iterator[Finding]:
    asked = bool(wanted.workspaces)
    try:
        memory = opening.open_memory(wanted, loaded, around)
    except ScriptoriumError as error:
        if error.message.startswith(opening.MISSING) and not asked:
            yield ok("memory", f"nothing is remembered yet: {error.message}")
        else:
            yield broken("memory", error.message)
        return
    yield from doctor_workspace.findings(memory, loaded.settings, around, asked=asked)


def _settings(loaded: Loaded) -> Iterator[Finding]:
    if not loaded.mistakes:
        state = "read without mistakes" if loaded.path.exists() else "none; defaults hold"
        yield ok("settings", f"{loaded.path}: {state}")
    for mistake in loaded.mistakes:
        where = f"{loaded.path}:{mistake.line}" if mistake.line else str(loaded.path)
        yield warning("settings", f"{where}: {mistake.message}", f"edit {where}")


def _print(found: list[Finding], out: Terminal) -> None:
    area = ""
    for finding in found:
        if finding.area != area:
            area = finding.area
            out.line()
            out.heading(area)
        sign, style = _SIGNS[finding.level]
        out.line(f"  {out.paint(sign, style)} {plain(finding.message)}")
        if finding.mend:
            out.line(f"      {out.paint('→', 'dim')} {finding.mend}")
    out.line()
    bad = [finding for finding in found if finding.level == "broken"]
    loose = [finding for finding in found if finding.level == "warning"]
    out.line(f"{len(bad)} broken, {len(loose)} to look at." if bad or loose else "All is well.")
