"""One batch of pending messages becomes memory: the writer is asked, its answer checked and
installed.

Promises: sources, topics, views and the list of archived messages move in one transaction; a run
is on record before it can cost anything; the errors of an answer are fed back once. The caller
holds `area.writer_lock`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from scriptorium.capture import answer, archived, area, clients, known, ledger, render, request
from scriptorium.capture.answer import Answer, Refused
from scriptorium.capture.child import Failed, Kind, Result, Usage
from scriptorium.capture.clients import Client
from scriptorium.capture.known import Search
from scriptorium.capture.ledger import Run, State
from scriptorium.capture.options import IngestOptions, Surroundings
from scriptorium.capture.pool import Waiting
from scriptorium.capture.prompts import protocol
from scriptorium.errors import (
    BrokenContract,
    ConcurrentUpdate,
    GitCommitFailed,
    InternalError,
    InvalidArgument,
    PathOutsideWorkspace,
    ScriptoriumError,
)
from scriptorium.format import ids, times
from scriptorium.format.model import RelPath
from scriptorium.format.tokens import estimate_tokens
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.storage import advice
from scriptorium.workspace.transaction import Update, update
from scriptorium.workspace.workspace import Workspace

ATTEMPTS = 2
"""The first answer, and one with its errors mended."""
_LOCK_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Written:
    """The batch is in memory."""

    messages: int
    changed_files: tuple[str, ...]
    cost_usd: float


@dataclass(frozen=True, slots=True)
class NotWritten:
    """The batch is not in memory, and nothing changed."""

    kind: Kind
    error: str
    cost_usd: float


@dataclass(slots=True)
class Desk:
    """What one ingest writes with."""

    workspace: Workspace
    search: Search
    options: IngestOptions
    around: Surroundings
    _system: str = field(default_factory=lambda: protocol("writer"))

    def write(self, batch: Sequence[Waiting], client: Client) -> Written | NotWritten:
        """The batch is in memory, or nothing changed but the record. Raises OSError."""
        zone = ledger.local(self.around.now()).tzinfo
        shown = known.about(batch, self.workspace.snapshot(), self.search)
        text = asked = request.prompt(batch, shown, zone)
        cost = 0.0
        kind: Kind = "malformed"
        errors: Sequence[str] = ()
        for _ in range(ATTEMPTS):
            run = self._begin(batch, client, asked)
            result = clients.ask(client, self._system, asked, budget=self._left())
            run = _told(run, result)
            cost += run.cost_usd
            if isinstance(result, Failed):
                self._end(replace(run, outcome="failed", kind=result.kind, error=result.message))
                return NotWritten(result.kind, result.message, cost)
            checked = answer.check(result.answer, messages=len(batch), is_block=self._is_block)
            if isinstance(checked, Answer):
                try:
                    done = self._install(batch, checked, known.places(shown), run)
                except (BrokenContract, InvalidArgument, PathOutsideWorkspace) as error:
                    kind, checked = "refused-by-memory", Refused(_problems(error))
                except (ScriptoriumError, OSError) as error:
                    # Also for a full disk the next try has to wait: each one is paid for.
                    said = error.message if isinstance(error, ScriptoriumError) else advice(error)
                    self._end(replace(run, outcome="failed", kind="other", error=said))
                    return NotWritten("other", said, cost)
                else:
                    self._end(done)
                    return Written(len(batch), done.changed_files, cost)
            errors = checked.errors
            self._end(replace(run, outcome="failed", kind=kind, error="; ".join(errors[:3])))
            asked = request.again(text, result.answer, errors)
        return NotWritten(kind, "; ".join(errors[:3]), cost)

    def _begin(self, batch: Sequence[Waiting], client: Client, prompt: str) -> Run:
        """The run is on record, with its estimated cost, before it begins."""
        now = ledger.local(self.around.now())
        tokens = estimate_tokens(prompt) + estimate_tokens(self._system)
        layout = self.workspace.layout
        origin = f"{now.isoformat()} {batch[0].key} {len(ledger.runs(layout))}"
        run = Run(
            id=hashlib.sha256(origin.encode("utf-8", "replace")).hexdigest()[:16],
            time=now.isoformat(timespec="milliseconds"),
            agent=client.agent,
            model=client.model,
            messages=len(batch),
            input_tokens=tokens,
            cost_usd=ledger.estimate(tokens),
        )
        ledger.save_state(layout, replace(ledger.load_state(layout), run=run))
        return run

    def _end(self, run: Run) -> None:
        """The run is recorded and not under way any more."""
        layout = self.workspace.layout
        ledger.record(layout, run)
        ledger.save_state(layout, replace(ledger.load_state(layout), run=None))

    def _left(self) -> float:
        spent = ledger.spent_today(self.workspace.layout, self.around.now())
        return self.options.daily_usd - spent

    def _is_block(self, block: str) -> bool:
        return self.workspace.snapshot().locate_block(block) is not None

    def _install(
        self, batch: Sequence[Waiting], checked: Answer, places: render.Places, run: Run
    ) -> Run:
        """The answer is in memory with its sources; the run, to be recorded.

        Raises ScriptoriumError and OSError.
        """
        written = replace(run, outcome="written", changed_files=_topics(checked))
        layout = self.workspace.layout
        now = ledger.local(self.around.now())
        keys = [k for waiting in batch for k in waiting.message.keys]
        runtime: dict[str, bytes | None] = {
            **archived.extended(layout, keys, now),
            area.named(ledger.STATE): State(run=written).dump(),
        }
        try:
            written = replace(
                written, changed_files=self._update(batch, checked, places, runtime, now)
            )
        except BrokenContract as error:
            # A file that a person left in breach of the contract takes nothing; what belongs there
            # goes into a file beside. If the answer itself is at fault, that is refused too.
            places = replace(places, closed=_paths(error))
            written = replace(
                written, changed_files=self._update(batch, checked, places, runtime, now)
            )
        return written

    def _update(
        self,
        batch: Sequence[Waiting],
        checked: Answer,
        places: render.Places,
        runtime: dict[str, bytes | None],
        now: datetime,
    ) -> tuple[str, ...]:
        """The authored files that changed, everything being installed."""

        def edits(snapshot: Snapshot) -> dict[RelPath, str | None]:
            return render.edits(checked, snapshot, places)

        asked = Update(
            base_revision=None,
            sources=tuple(_source(n, w) for n, w in enumerate(batch, 1)),
            commit_message=f"Remember {len(batch)} messages",
            git=self.options.git_commit,
            edits=edits,
            runtime=runtime,
        )
        for attempt in range(_LOCK_ATTEMPTS):
            try:
                result = update(self.workspace, asked, now=now)
            except ConcurrentUpdate:  # another writer is slow; the answer is paid for
                if attempt == _LOCK_ATTEMPTS - 1:
                    raise
            except (GitCommitFailed, InternalError) as error:
                if error.details.get("memory_committed") is not True:
                    raise
                ledger.log(self.workspace.layout, now.isoformat(), error.message)
                return _topics(checked)
            else:
                return tuple(
                    p for p in result.changed_files if p.startswith(("topics/", "core.md"))
                )
        return ()


def prompt_for(
    workspace: Workspace, search: Search, batch: Sequence[Waiting], now: datetime
) -> str:
    """What `write` would ask for the batch."""
    shown = known.about(batch, workspace.snapshot(), search)
    return request.prompt(batch, shown, ledger.local(now).tzinfo)


def _topics(checked: Answer) -> tuple[str, ...]:
    core = ("core.md",) if checked.core else ()
    return (*dict.fromkeys(a.topic for a in checked.additions), *core)


def _source(number: int, waiting: Waiting) -> SourceInput:
    message = waiting.message
    moment = times.moment(message.time)
    return SourceInput(
        label=render.label(number),
        role=message.role,
        content=message.text,
        observed_at=moment.isoformat() if moment else None,
        id=ids.source_id(message.provider, message.thread, message.id),
    )


def _told(run: Run, result: Result) -> Run:
    """The run with what the client said it took; the estimate where it said nothing."""
    if isinstance(result, Failed) and not result.ran:
        return replace(run, input_tokens=0, cost_usd=0.0, estimated=False)
    usage = result.usage
    if usage == Usage():
        return run
    cost = usage.cost_usd
    if cost is None:
        cost = ledger.estimate(usage.input_tokens, usage.output_tokens)
    return replace(
        run,
        model=usage.model or run.model,
        input_tokens=usage.input_tokens or run.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=cost,
        estimated=usage.cost_usd is None,
    )


def _paths(error: BrokenContract) -> frozenset[RelPath]:
    problems = error.details.get("problems")
    rows = problems if isinstance(problems, list) else []
    told = {str(row["path"]) for row in rows if isinstance(row, dict)} | {error.path or ""}
    return frozenset(RelPath(path) for path in told if path)


def _problems(error: ScriptoriumError) -> tuple[str, ...]:
    problems = error.details.get("problems")
    if not isinstance(problems, list):
        return (error.message,)
    return tuple(f"{p['path']}: {p['message']}" for p in problems if isinstance(p, dict))[:20]
