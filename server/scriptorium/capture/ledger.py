"""What capture spent and how its runs ended: the record, the day's cap, and the waiting after
failures.

`ingest.jsonl` has one line a run, `ingest.log` the same for a person; `ingest/state.json` has the
run that is under way and the failures in a row. Promises: a run that was killed is recorded, with
its estimated cost, by the next one. The caller holds `area.writer_lock` to change anything.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Literal

from scriptorium.capture import area
from scriptorium.capture.conversation import Row, object_at, parse_row, text_at
from scriptorium.format import times
from scriptorium.workspace import disk
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.runtime_files import append_runtime, write_runtime

type RunOutcome = Literal["written", "failed", "killed"]

MOST_FAILURES = 5
"""After that many in a row the batch is set aside."""
_FIRST_WAIT = timedelta(minutes=5)
_GROWTH = 4
_LONGEST_WAIT = _FIRST_WAIT * _GROWTH ** (MOST_FAILURES - 1)
"""A time beyond that was written by a clock that ran ahead."""
STATE = "state.json"
_CAPPED = "capped.json"
# US dollars a million tokens, where a client tells no cost: those of a large current model.
_USD_IN, _USD_OUT = 3.0, 15.0
_USUAL_ANSWER = 2_000
_OVERHEAD = 8_000
"""Tokens of a request besides its messages: instructions, core, topics, related blocks."""
_TAIL = 256 << 10
"""Bytes at the end of the record that hold more than a day's runs."""
_LOG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a model: a line of `ingest.jsonl`."""

    id: str
    time: str
    """ISO 8601, local, with its offset."""
    agent: str
    model: str | None
    outcome: RunOutcome = "killed"
    kind: str | None = None
    """Of a failure: see `child.Kind`."""
    error: str | None = None
    messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    estimated: bool = True
    """Whether the tokens and the cost are an estimate, the client having told none."""
    changed_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    failures: int = 0
    not_before: str | None = None
    """No run before this time, after a failure."""
    last_error: str | None = None
    run: Run | None = None
    """The run under way; for the next process, one that was killed before it was recorded."""

    def dump(self) -> bytes:
        return json.dumps(asdict(self)).encode("ascii") + b"\n"

    def is_waiting(self, now: datetime) -> bool:
        """Whether it is too early after a failure; never for longer than a failure can demand."""
        until = times.moment(self.not_before)
        return until is not None and timedelta(0) < until - now <= _LONGEST_WAIT


def load_state(layout: Layout) -> State:
    """The state on disk; the initial one where it is missing or damaged. Raises OSError."""
    row = parse_row(area.read(area.place(layout, STATE))) or {}
    failures, until, error = row.get("failures"), row.get("not_before"), row.get("last_error")
    return State(
        failures=failures if isinstance(failures, int) else 0,
        not_before=until if isinstance(until, str) else None,
        last_error=error if isinstance(error, str) else None,
        run=_run(object_at(row, "run")),
    )


def save_state(layout: Layout, state: State) -> None:
    """The state is on the medium. Raises OSError."""
    write_runtime(layout, area.named(STATE), state.dump(), sync=True)


def failed(state: State, error: str, now: datetime) -> State:
    """The state after one more failure: the wait grows each time."""
    wait = _FIRST_WAIT * _GROWTH ** min(state.failures, MOST_FAILURES)
    return State(state.failures + 1, (now + wait).isoformat(timespec="seconds"), error)


def record(layout: Layout, run: Run) -> None:
    """The run stands in `ingest.jsonl` once, and in `ingest.log`. Raises OSError."""
    if any(known.id == run.id for known in runs(layout)):
        return
    append_runtime(layout, layout.ingest_jsonl.name, json.dumps(asdict(run)).encode("ascii"))
    log(layout, run.time, _sentence(run))


def log(layout: Layout, time: str, line: str) -> None:
    """The line stands in `ingest.log`; the oldest lines make room. Raises OSError."""
    text = f"{time[:19].replace('T', ' ')}  {' '.join(line.split())}\n"
    append_runtime(layout, layout.ingest_log.name, text.encode("utf-8", "replace"))
    info = disk.current.stat(layout.ingest_log)
    if info is not None and info.st_size > _LOG_BYTES:
        kept = area.read(layout.ingest_log)[-_LOG_BYTES // 2 :].partition(b"\n")[2]
        write_runtime(layout, layout.ingest_log.name, kept)


def runs(layout: Layout) -> list[Run]:
    """The newest runs, oldest first: those of today, and some before. Raises OSError."""
    try:
        with layout.ingest_jsonl.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _TAIL, 0))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    found = (_run(parse_row(line) or {}) for line in lines)
    return [run for run in found if run is not None]


def spent_today(layout: Layout, now: datetime) -> float:
    """US dollars of the local day of `now`. Raises OSError."""
    today = local(now).date()
    moments = ((run, times.moment(run.time)) for run in runs(layout))
    spent = (
        r.cost_usd for r, m in moments if m and m.astimezone(local(now).tzinfo).date() == today
    )
    return round(sum(spent), 6)


def estimate(input_tokens: int, output_tokens: int = _USUAL_ANSWER) -> float:
    """About what a request of that size costs, in US dollars."""
    return (input_tokens * _USD_IN + output_tokens * _USD_OUT) / 1e6


def batch_cost(tokens: int) -> float:
    """About what writing a batch of that many tokens costs, in US dollars."""
    return estimate(tokens + _OVERHEAD)


def over_cap(layout: Layout, tokens: int, daily_usd: float, now: datetime) -> str | None:
    """Why a batch of that size must wait for tomorrow; None where it need not. Raises OSError."""
    spent, needed = spent_today(layout, now), batch_cost(tokens)
    if spent + needed <= daily_usd:
        return None
    return (
        f"${spent:.2f} of ${daily_usd:.2f} are spent today and the next batch takes about"
        f" ${needed:.2f}; it waits for tomorrow, or for a higher ingest.daily_usd"
    )


def note_cap(layout: Layout, reason: str, now: datetime) -> None:
    """It is on record that the cap holds back what is pending. Needs no lock. Raises OSError."""
    time = local(now).isoformat(timespec="seconds")
    if cap_note(layout, now) is None:
        log(layout, time, reason)
    content = json.dumps({"time": time, "reason": reason}).encode("ascii")
    write_runtime(layout, area.named(_CAPPED), content)


def cap_note(layout: Layout, now: datetime) -> str | None:
    """What the cap held back today, after the newest run; None for nothing. Raises OSError."""
    row = parse_row(area.read(area.place(layout, _CAPPED))) or {}
    moment, reason = times.moment(text_at(row, "time")), text_at(row, "reason")
    newest = max((m for run in runs(layout) if (m := times.moment(run.time))), default=None)
    if moment is None or (newest is not None and newest > moment):
        return None
    today = local(now)
    return reason if moment.astimezone(today.tzinfo).date() == today.date() else None


def local(now: datetime) -> datetime:
    """The time on the machine's own clock, where it is given in UTC."""
    return now.astimezone() if not now.utcoffset() else now


def _sentence(run: Run) -> str:
    cost = f"${run.cost_usd:.4f}{' (estimated)' if run.estimated else ''}"
    size = f"{run.input_tokens} tokens in, {run.output_tokens} out, {cost}"
    match run.outcome:
        case "written":
            files = ", ".join(run.changed_files) or "nothing worth keeping"
            return f"wrote {run.messages} messages with {run.agent}: {files} ({size})"
        case "failed":
            return f"failed with {run.agent} ({run.kind}): {run.error} ({size})"
        case "killed":
            return f"was killed while {run.agent} was at work; its messages stay pending ({size})"


def _run(row: Row) -> Run | None:
    """A line of the record; None where it is none."""
    known = {field.name for field in fields(Run)}
    values = {name: value for name, value in row.items() if name in known}
    files = values.get("changed_files")
    values["changed_files"] = tuple(files) if isinstance(files, list) else ()
    try:
        run = Run(**values)  # type: ignore[arg-type]
    except TypeError:
        return None
    numbers = isinstance(run.cost_usd, (int, float)) and run.cost_usd >= 0
    return (
        replace(run, cost_usd=float(run.cost_usd))
        if numbers and isinstance(run.time, str)
        else None
    )
