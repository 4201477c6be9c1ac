"""The heavy second half of an ingest: batch after batch from the pool into memory, under the
writer lock.

Promises: first what a killed ingest left is finished and recorded; the day's cap holds before
every batch; a failed batch stays pending, and after five failures in a row is set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from scriptorium.capture import archived, area, intake, known, ledger, pending
from scriptorium.capture.batch import Desk, NotWritten, Written
from scriptorium.capture.clients import Client
from scriptorium.capture.ledger import State
from scriptorium.capture.options import Agent, IngestOptions, IngestReport, Surroundings
from scriptorium.capture.pool import Pool, Waiting
from scriptorium.format import ids
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.workspace import Workspace

type Wanted = Callable[[Pool], bool]


def write(
    layout: Layout, options: IngestOptions, around: Surroundings, wanted: Wanted
) -> IngestReport:
    """As much of the pool is in memory as is wanted, allowed and possible. Raises OSError."""
    workspace = Workspace.open(layout.root)
    pool = _recovered(workspace, options, around)
    report = IngestReport("retried" if options.retry else "waiting")
    if not wanted(pool):
        return report
    search = known.IndexSearch(workspace)
    try:
        return _batches(Desk(workspace, search, options, around), pool, wanted, report)
    finally:
        search.done()


def _batches(desk: Desk, pool: Pool, wanted: Wanted, report: IngestReport) -> IngestReport:
    layout, options, around = desk.workspace.layout, desk.options, desk.around
    while wanted(pool):
        batch = pool.batch()
        tokens = sum(w.tokens for w in batch)
        capped = ledger.over_cap(layout, tokens, options.daily_usd, around.now())
        if capped is not None:
            return replace(report, outcome="capped", detail=capped)
        result = desk.write(batch, _client(options, around, batch))
        if isinstance(result, NotWritten):
            detail = _failed(layout, around, batch, result)
            cost = round(report.cost_usd + result.cost_usd, 6)
            return replace(report, outcome="failed", detail=detail, cost_usd=cost)
        report = _grown(report, result)
        pool = _reaped(desk.workspace)
    return report


def agent_of(options: IngestOptions, batch: Sequence[Waiting]) -> Agent:
    """The client that writes: the one asked for, else the transcript's, else the messages'."""
    if options.agent is not None:
        return options.agent
    if options.transcript is not None:
        return "codex" if options.transcript.name.startswith("rollout-") else "claude"
    return "codex" if batch[0].message.provider == "codex" else "claude"


def _recovered(workspace: Workspace, options: IngestOptions, around: Surroundings) -> Pool:
    """The pool after a killed ingest's update is finished and its run recorded."""
    layout = workspace.layout
    workspace.snapshot()  # finishes an update that was cut short, before anything below is read
    state = ledger.load_state(layout)
    if state.run is not None:
        ledger.record(layout, state.run)
        state = replace(state, run=None)
        ledger.save_state(layout, state)
    if options.retry:
        with area.pool_lock(layout) as held:
            count = pending.bring_back(layout) if held else 0
        ledger.save_state(layout, State())
        ledger.log(layout, _now(around), f"{count} messages that were set aside are pending again")
    intake.forget_gone(layout)
    return _reaped(workspace)


def _reaped(workspace: Workspace) -> Pool:
    """The pool without what is in memory already, on disk too."""
    layout = workspace.layout
    marks = archived.load(layout)
    snapshot = workspace.snapshot()
    with area.pool_lock(layout) as held:
        pool = pending.load(layout)
        left = pool.without(marks)
        # The lists of archived messages may be gone, as in a clone; the sources themselves tell
        # too.
        waiting = tuple(w for w in left.waiting if snapshot.source_path(_source_id(w)) is None)
        left = Pool(waiting)
        if held and left != pool:
            pending.keep_only(layout, left)
    return left


def _source_id(waiting: Waiting) -> str:
    message = waiting.message
    return ids.source_id(message.provider, message.thread, message.id)


def _client(options: IngestOptions, around: Surroundings, batch: Sequence[Waiting]) -> Client:
    agent = agent_of(options, batch)
    named = options.claude_cli if agent == "claude" else options.codex_cli
    return Client(agent, around.environ, options.model, named)


def _failed(
    layout: Layout, around: Surroundings, batch: Sequence[Waiting], result: NotWritten
) -> str:
    """One more failure is on record; the fifth sets the batch aside. What to tell a person."""
    error = f"{result.kind}: {result.error}"
    state = ledger.failed(ledger.load_state(layout), error, ledger.local(around.now()))
    if state.failures < ledger.MOST_FAILURES:
        ledger.save_state(layout, state)
        return f"{error}; again after {state.not_before}"
    with area.pool_lock(layout) as held:
        if not held:
            return error
        pending.set_aside(layout, batch)
    ledger.save_state(layout, State(last_error=error))
    told = (
        f"{len(batch)} messages are set aside after {state.failures} failures;"
        " bring them back with --retry"
    )
    ledger.log(layout, _now(around), told)
    return f"{error}; {told}"


def _grown(report: IngestReport, result: Written) -> IngestReport:
    return replace(
        report,
        outcome="written",
        batches=report.batches + 1,
        messages=report.messages + result.messages,
        changed_files=tuple(dict.fromkeys((*report.changed_files, *result.changed_files))),
        cost_usd=round(report.cost_usd + result.cost_usd, 6),
    )


def _now(around: Surroundings) -> str:
    return ledger.local(around.now()).isoformat()
