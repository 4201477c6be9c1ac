"""From a finished turn to memory: the one entry of capture.

    run        the transcript's new messages → ignored? → redacted → pending → enough? → the writer,
               one transaction for each batch
    backfill   the same for many old transcripts, oldest first
    status     how capture stands, for `memory_status` and `doctor`

Promises: no message is lost and none is written twice, whatever is killed when; one ingest a
workspace writes at a time; below the threshold nothing heavy is loaded and no model is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scriptorium.capture import area, intake, ledger, pending
from scriptorium.capture.options import (
    BackfillReport,
    IngestOptions,
    IngestReport,
    IngestStatus,
    Surroundings,
)
from scriptorium.capture.pool import Pool
from scriptorium.errors import ScriptoriumError
from scriptorium.workspace.layout import Layout, create

if TYPE_CHECKING:
    from scriptorium.workspace.workspace import Workspace

MARK = "SCRIPTORIUM_CHILD"
"""Set in the environment of the writer's child (`child.MARK`)."""

_LOOKS = 3
"""How often the pool is looked at again when a look changed nothing."""

type Progress = Callable[[int, int], None]
"""Called with how many transcripts are done, and of how many."""


def run(options: IngestOptions, around: Surroundings) -> IngestReport:
    """The session's new messages are pending, and in memory if there are enough.

    Raises OSError and ScriptoriumError, after which everything is as pending as it was; the reason
    stands in `ingest.log` too, because a hook's ingest has nobody to tell.
    """
    stopped = _stopped(options, around)
    if stopped is not None:
        return stopped
    if options.dry_run:
        return _previewed([options.transcript] if options.transcript else [], options, around)
    try:
        return _run(options, around)
    except (OSError, ScriptoriumError) as error:
        with suppress(OSError, ScriptoriumError):
            layout = Layout.of(options.workspace)
            if layout.runtime_dir.is_dir():
                now = ledger.local(around.now()).isoformat()
                ledger.log(layout, now, f"stopped: {type(error).__name__}: {error}")
        raise


def backfill(
    transcripts: Iterable[Path],
    options: IngestOptions,
    around: Surroundings,
    progress: Progress | None = None,
) -> BackfillReport:
    """Old transcripts are taken in, oldest first, as far as the day's cap allows.

    Done again it goes on where it ended. The last few messages stay pending, as always. A dry run
    takes nothing in: it tells of all of them together. Raises OSError.
    """
    stopped = _stopped(options, around)
    if stopped is not None:
        return BackfillReport(report=stopped)
    paths = sorted((p for p in transcripts if p.is_file()), key=lambda p: (p.stat().st_mtime, p))
    if options.dry_run:
        return BackfillReport(len(paths), len(paths), _previewed(paths, options, around))
    layout = _layout(options.workspace)
    total = IngestReport("waiting")
    for done, path in enumerate(paths):
        if progress is not None:
            progress(done, len(paths))
        if not intake.is_read(layout, path):
            added = intake.take_in(layout, replace(options, transcript=path), around)
            report = _write_if_enough(layout, options, around, idle=False)
            total = _sum(total, replace(report, added=added))
        if total.outcome not in ("waiting", "written"):
            return BackfillReport(len(paths), done + 1, total)
    if progress is not None:
        progress(len(paths), len(paths))
    total = _sum(total, _write_if_enough(layout, options, around))
    return BackfillReport(len(paths), len(paths), total)


def transcripts_in(directory: Path) -> list[Path]:
    """Every transcript below the directory, of either client."""
    return sorted(directory.rglob("*.jsonl"))


def status(workspace: Workspace | Path, now: datetime) -> IngestStatus:
    """How capture stands in the workspace; changes nothing. Raises OSError."""
    layout = Layout.of(workspace) if isinstance(workspace, Path) else workspace.layout
    runs = ledger.runs(layout)
    state = ledger.load_state(layout)
    unrecorded = state.run if state.run and state.run not in runs else None
    last = unrecorded or (runs[-1] if runs else None)
    return IngestStatus(
        pending_tokens=pending.load(layout).tokens,
        last_run=last.time if last else None,
        last_error=state.last_error or ledger.cap_note(layout, now),
        spent_usd_today=ledger.spent_today(layout, now),
        set_aside=len(pending.load_set_aside(layout)),
    )


def _run(options: IngestOptions, around: Surroundings) -> IngestReport:
    layout = _layout(options.workspace)
    added = intake.take_in(layout, options, around)
    report = _write_if_enough(layout, options, around)
    if report.outcome == "waiting" and not added and intake.is_ignored(options.cwd):
        report = replace(report, outcome="ignored", detail=f"{intake.IGNORE} covers {options.cwd}")
    return replace(report, added=added)


def _previewed(
    transcripts: Sequence[Path], options: IngestOptions, around: Surroundings
) -> IngestReport:
    from scriptorium.capture import dry_run  # noqa: PLC0415 - loads search

    return dry_run.report(transcripts, options, around)


def _stopped(options: IngestOptions, around: Surroundings) -> IngestReport | None:
    if around.environ.get(MARK):
        return IngestReport("child", "a child of the writer never starts another one")
    if not options.enabled:
        return IngestReport("disabled", "ingest.enabled is false")
    return None


def _layout(root: Path) -> Layout:
    layout = Layout.of(root)
    return layout if layout.runtime_dir.is_dir() else create(root, ignore=True)


def _write_if_enough(
    layout: Layout, options: IngestOptions, around: Surroundings, *, idle: bool = True
) -> IngestReport:
    """What is pending is in memory, if it is enough and nothing stands in the way."""
    total = IngestReport("waiting")
    wanted = _wanted(options, around, idle=idle)
    retry, fruitless = options.retry, 0
    # Between the writer's last look at the pool and the release of its lock another ingest may have
    # added to the pool and gone, trusting in this one: so look again, unless nothing moves.
    pool = pending.load(layout)
    while (retry or wanted(pool)) and fruitless < _LOOKS:
        early = None if retry else _too_early(layout, options, around, pool)
        if early is not None:
            return _ended(layout, around, _sum(total, early), pool)
        with area.writer_lock(layout) as held:
            if not held:
                report = IngestReport("busy", "another ingest writes; it takes these messages too")
                return _ended(layout, around, _sum(total, report), pool)
            from scriptorium.capture import writing  # noqa: PLC0415 - loads what writes memory

            report = writing.write(layout, replace(options, retry=retry), around, wanted)
        total, retry, pool = _sum(total, report), False, pending.load(layout)
        if report.outcome in ("failed", "capped"):
            break
        fruitless = 0 if report.outcome == "written" else fruitless + 1
    return _ended(layout, around, total, pool)


def _wanted(options: IngestOptions, around: Surroundings, *, idle: bool) -> Callable[[Pool], bool]:
    """Whether the pool is to be written."""

    def wanted(pool: Pool) -> bool:
        if options.force:
            return bool(pool.waiting)
        if not idle:
            return pool.tokens >= max(options.token_threshold, 1)
        return pool.is_enough(options.token_threshold, around.now())

    return wanted


def _too_early(
    layout: Layout, options: IngestOptions, around: Surroundings, pool: Pool
) -> IngestReport | None:
    """Why no run may begin now, as far as that shows without loading what writes memory."""
    now = around.now()
    state = ledger.load_state(layout)
    if not options.force and state.is_waiting(now):
        return IngestReport("backoff", f"not before {state.not_before}: {state.last_error}")
    tokens = sum(w.tokens for w in pool.batch())
    capped = ledger.over_cap(layout, tokens, options.daily_usd, now)
    return IngestReport("capped", capped) if capped else None


def _ended(layout: Layout, around: Surroundings, report: IngestReport, pool: Pool) -> IngestReport:
    if report.outcome == "capped":
        ledger.note_cap(layout, report.detail, around.now())
    return replace(report, pending_tokens=pool.tokens)


def _sum(total: IngestReport, report: IngestReport) -> IngestReport:
    """The later report, with the sums of both; what is in memory stays `written`."""
    quiet = report.outcome == "waiting" and total.outcome != "waiting"
    return replace(
        report,
        outcome=total.outcome if quiet else report.outcome,
        detail=total.detail if quiet else report.detail,
        added=total.added + report.added,
        batches=total.batches + report.batches,
        messages=total.messages + report.messages,
        changed_files=tuple(dict.fromkeys((*total.changed_files, *report.changed_files))),
        cost_usd=round(total.cost_usd + report.cost_usd, 6),
    )
