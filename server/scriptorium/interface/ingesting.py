"""`scriptorium ingest`: from the command line, or a hook's stdin, to one run of capture.

Promises that with `--hook` nothing is printed and the exit is 0, whatever happens: what went wrong
is in `ingest.log` and in `memory_status`. Loads nothing that a turn below the threshold does not
need.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scriptorium.capture import ingest as capture
from scriptorium.capture.options import (
    HookInput,
    IngestOptions,
    IngestReport,
    Preview,
    Surroundings,
)
from scriptorium.errors import InvalidArgument
from scriptorium.interface import opening
from scriptorium.interface.config import IngestSettings, Loaded
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings as Around
from scriptorium.interface.terminal import Terminal, plain
from scriptorium.workspace import layers
from scriptorium.workspace.layers import LayerSpec

_STDIN_LIMIT = 64 * 1024 * 1024
"""Characters of a hook's JSON: it holds the turn's whole last message."""


def ingest(arguments: Arguments, around: Around) -> int:
    if not arguments.hook:
        return _ingest(arguments, around, HookInput())
    try:
        hook = hook_input(around.stdin.read(_STDIN_LIMIT))
        if hook is not None:
            _ingest(arguments, around, hook)
    except Exception as error:  # noqa: BLE001  a hook's child has nobody to tell but the log
        around.err.line(f"scriptorium: ingest: {type(error).__name__}: {error}")
    return 0


def hook_input(text: str) -> HookInput | None:
    """The part of a Stop hook's JSON that capture uses; None for what is no such JSON."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    said = {name: value for name, value in row.items() if isinstance(value, str) and value}
    transcript = said.get("transcript_path")
    return HookInput(
        session=said.get("session_id"),
        transcript=Path(transcript).expanduser() if transcript else None,
        cwd=said.get("cwd"),
        last_message=said.get("last_assistant_message"),
    )


def _ingest(arguments: Arguments, around: Around, hook: HookInput) -> int:
    loaded = around.settings()
    opening.report(loaded, around)
    options = _options(arguments, loaded, around, hook)
    # A hook may run without HOME, and the writer's client needs it.
    environ = {**around.environ, "HOME": str(around.home)}
    machine = Surroundings(environ, lambda: around.clock().astimezone(), time.sleep)
    if arguments.backfill is not None:
        report = _backfill(arguments, options, around, machine)
    else:
        report = capture.run(options, machine)
    if not arguments.hook:
        _print(report, around.out, as_json=arguments.json)
    return 1 if report.outcome == "failed" else 0


def _options(
    arguments: Arguments, loaded: Loaded, around: Around, hook: HookInput
) -> IngestOptions:
    """Flags before settings. Raises InvalidArgument for a transcript that does not exist."""
    settings: IngestSettings = loaded.settings.ingest
    transcript = hook.transcript
    if arguments.transcript is not None:
        transcript = Path(arguments.transcript).expanduser()
        if not transcript.is_file():
            raise InvalidArgument(f"--transcript {transcript}: there is no such file")
    return IngestOptions(
        workspace=_workspace(arguments, loaded, around, hook),
        transcript=transcript,
        last_message=hook.last_message,
        cwd=hook.cwd,
        token_threshold=arguments.token_threshold or settings.token_threshold,
        model=arguments.model or settings.model,
        agent=arguments.agent or settings.agent,
        claude_cli=arguments.claude_cli or settings.claude_cli,
        codex_cli=arguments.codex_cli or settings.codex_cli,
        daily_usd=settings.daily_usd,
        enabled=settings.enabled,
        force=arguments.force,
        dry_run=arguments.dry_run,
        retry=arguments.retry,
        git_commit=loaded.settings.git_commit,
    )


def _workspace(arguments: Arguments, loaded: Loaded, around: Around, hook: HookInput) -> Path:
    """The root of the layer that capture writes to."""
    specs = opening.specs(opening.asked(arguments), loaded.settings)
    spec = _layer(specs, loaded.settings.ingest.layer)
    cwd = Path(hook.cwd) if hook.cwd else around.cwd
    return layers.resolve_root(spec.path, cwd, around.plugin_root, None)


def _layer(specs: Sequence[LayerSpec], named: str | None) -> LayerSpec:
    """The layer that the settings name, else the one called `global`, else the first."""
    for name in (named, "global"):
        for spec in specs:
            if name is not None and spec.name == name:
                return spec
    return specs[0]


def _backfill(
    arguments: Arguments, options: IngestOptions, around: Around, machine: Surroundings
) -> IngestReport:
    folders = _folders(arguments.backfill or "", around)
    transcripts = [path for folder in folders for path in capture.transcripts_in(folder)]
    bar = _Bar(around.err)
    done = capture.backfill(transcripts, options, machine, bar.show)
    bar.end()
    if not arguments.json:
        around.out.line(f"Read {done.done} of {done.files} transcripts.")
    return done.report


def _folders(named: str, around: Around) -> list[Path]:
    """Where to look for transcripts: the folder named, else where the clients keep theirs."""
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise InvalidArgument(f"--backfill {folder}: there is no such folder")
        return [folder]
    claude = around.environ.get("CLAUDE_CONFIG_DIR") or around.home / ".claude"
    codex = around.environ.get("CODEX_HOME") or around.home / ".codex"
    return [
        folder
        for folder in (Path(claude) / "projects", Path(codex) / "sessions")
        if folder.is_dir()
    ]


class _Bar:
    """A progress bar on a terminal; nothing in a pipe."""

    def __init__(self, err: Terminal) -> None:
        self._err = err

    def show(self, done: int, total: int) -> None:
        if self._err.stream.isatty() and total:
            filled = 30 * done // total
            bar = "█" * filled + "░" * (30 - filled)
            self._err.stream.write(f"\r{bar} {done} of {total} transcripts")
            self._err.stream.flush()

    def end(self) -> None:
        if self._err.stream.isatty():
            self._err.stream.write("\n")


def _print(report: IngestReport, out: Terminal, *, as_json: bool) -> None:
    if as_json:
        out.json(asdict(report))
        return
    detail = f": {plain(report.detail)}" if report.detail else ""
    out.line(f"{report.outcome}{detail}")
    rows = [
        ("added", f"{report.added} messages"),
        ("pending", f"{report.pending_tokens} tokens"),
        ("written", f"{report.messages} messages in {report.batches} batches"),
        ("cost", f"${report.cost_usd:.4f}"),
    ]
    out.pairs([*rows, *(("changed", path) for path in report.changed_files)])
    if report.preview is not None:
        _print_preview(report.preview, out)


def _print_preview(preview: Preview, out: Terminal) -> None:
    out.line()
    out.line(
        f"Would send {preview.messages} messages, about {preview.tokens} tokens, in "
        f"{preview.batches} {'batch' if preview.batches == 1 else 'batches'}, "
        f"for about ${preview.usd:.2f}.{' The first prompt:' if preview.prompt else ''}"
    )
    if preview.prompt:
        out.line()
        out.line(plain(preview.prompt))
