"""`memory_status`: how much there is, at which revision, and what is wrong.

Promises an answer whatever state the layers are in: a part that cannot be had is reported as
such. Never writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields

from scriptorium.capture import ingest
from scriptorium.capture.options import IngestStatus
from scriptorium.errors import Json
from scriptorium.format.model import Problem
from scriptorium.interface import envelope
from scriptorium.interface.call import Call, Reading
from scriptorium.interface.envelope import Answer, success
from scriptorium.interface.memory import Memory, Snapshots
from scriptorium.search import embedding as endpoints
from scriptorium.workspace.snapshot import Counts


def status(call: Reading) -> Answer:
    """Counts, problems, embedding and ingest; by layer where there are several."""
    snapshots = call.snapshots
    counted = {name: snapshot.counts() for name, snapshot in snapshots.layers.items()}
    data: dict[str, Json] = dict(_total(list(counted.values())))
    problems = _problems(call.memory, snapshots)
    shown = envelope.take(problems, envelope.ROOM // 3)
    data["problems"] = shown
    if len(shown) < len(problems):
        data |= {
            "truncated": True,
            "problems_total": len(problems),
            "go_on": "`scriptorium validate` lists every problem.",
        }
    data["embedding"] = embedding(call.memory)
    ingested = {name: ingest_status(call, name) for name in snapshots.layers}
    data["ingest"] = _ingest_total(list(ingested.values()))
    if call.memory.layered:
        data["layers"] = _layers(snapshots, counted, ingested)
        data["default_layer"] = call.memory.layers.default
    return success(data, snapshots.revision)


def ingest_status(call: Call, layer: str) -> dict[str, Json]:
    """What capture has pending in a layer, and how its last run went."""
    try:
        state = ingest.status(call.memory.workspace(layer), call.now)
    except (OSError, ValueError) as error:
        state = IngestStatus(last_error=f"the record of ingest cannot be read: {error}")
    return asdict(state)


def embedding(memory: Memory) -> dict[str, Json]:
    """Whether the configured endpoint gives vectors; asked at most once a minute."""
    return dict(asdict(endpoints.status(memory.endpoint)))


def left_out(failures: Mapping[str, str]) -> list[dict[str, Json]]:
    """A problem for each layer that is not there; `failures` says why, by the layer's name."""
    return [
        {"path": name, "line": 0, "code": "layer-left-out", "message": reason}
        for name, reason in failures.items()
    ]


def problem_record(path: str, problem: Problem) -> dict[str, Json]:
    """A problem as answers show it, with its path as they write it."""
    return {
        "path": path,
        "line": problem.line,
        "code": problem.rule,
        "message": envelope.clip(problem.message, 500),
    }


def _total(counts: list[Counts]) -> dict[str, Json]:
    names = [field.name for field in fields(Counts)]
    return {name: sum(getattr(count, name) for count in counts) for name in names}


def _problems(memory: Memory, snapshots: Snapshots) -> list[Json]:
    return [
        *left_out(snapshots.failures),
        *(
            problem_record(memory.qualify(name, problem.path), problem)
            for name, snapshot in snapshots.layers.items()
            for problem in snapshot.problems
        ),
    ]


def _ingest_total(each: list[dict[str, Json]]) -> dict[str, Json]:
    """One record for all layers: sums, and the newest run with its error."""
    if len(each) == 1:
        return each[0]
    total: dict[str, Json] = asdict(IngestStatus())
    for one in each:
        for name in ("pending_tokens", "spent_usd_today", "set_aside"):
            total[name] = _number(total[name]) + _number(one[name])
        newer = str(one["last_run"] or "") >= str(total["last_run"] or "")
        if newer and (one["last_run"] or one["last_error"]):
            total |= {"last_run": one["last_run"], "last_error": one["last_error"]}
    return total


def _number(value: Json) -> float:
    return value if isinstance(value, (int, float)) else 0


def _layers(
    snapshots: Snapshots, counted: dict[str, Counts], ingested: dict[str, dict[str, Json]]
) -> dict[str, Json]:
    layers: dict[str, Json] = {
        name: {
            **_total([counted[name]]),
            "ingest": ingested[name],
            "revision": str(snapshot.revision),
        }
        for name, snapshot in snapshots.layers.items()
    }
    return layers | {name: {"error": reason} for name, reason in snapshots.failures.items()}
