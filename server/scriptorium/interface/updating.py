"""`memory_update`: the one tool that writes, as a thin edge over the transaction.

Promises nothing of its own: the transaction does. Owns the choice of the layer and the reading of
the combined revision.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from datetime import datetime

from scriptorium.errors import GitCommitFailed, InvalidArgument, Json
from scriptorium.interface import envelope
from scriptorium.interface.arguments import Source
from scriptorium.interface.call import Call
from scriptorium.interface.envelope import Answer, success
from scriptorium.interface.memory import Memory
from scriptorium.workspace import transaction
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.layers import own_revision
from scriptorium.workspace.transaction import Update, UpdateResult
from scriptorium.workspace.workspace import Workspace


def update(
    call: Call,
    *,
    base_revision: str,
    patch: str,
    sources: Sequence[Source],
    commit_message: str | None,
    layer: str | None,
) -> Answer:
    """Everything of the update is installed, or nothing is."""
    memory = call.memory
    workspace = memory.layers.get(layer)
    target = layer or memory.layers.default
    wanted = Update(
        base_revision=own_revision(base_revision, target),
        patch=patch,
        layer=target if memory.layered else "",
        sources=tuple(SourceInput(s.label, s.role, s.content, s.observed_at) for s in sources),
        commit_message=commit_message,
        provider=call.provider,
        git=memory.git,
    )
    result = _updated(memory, target, workspace, wanted, call.now)
    return success(_data(memory, target, result), _revision(memory, result))


def _updated(
    memory: Memory, layer: str, workspace: Workspace, wanted: Update, now: datetime
) -> UpdateResult:
    """As `transaction.update`, which raises; what it raises names paths as answers write them."""
    try:
        with memory.within(layer):
            return transaction.update(workspace, wanted, now=now)
    except InvalidArgument as error:
        _check_layer(memory, layer, error)
        raise
    except GitCommitFailed as error:
        if memory.layered:
            error.details["layer"] = layer
        raise


def _check_layer(memory: Memory, layer: str, error: InvalidArgument) -> None:
    """Raises InvalidArgument with the way out where another layer qualifies a refused path."""
    path = (error.path or "").removeprefix(memory.qualify(layer, ""))
    named, colon, _ = path.partition(":")
    if memory.layered and colon and named in memory.layers.order:
        raise InvalidArgument(
            f"{path} is in layer {named}, and the update is for {layer}: pass `layer`:"
            f' "{named}". An update writes one layer; send one for each.',
            path=path,
        )


def _data(memory: Memory, layer: str, result: UpdateResult) -> dict[str, Json]:
    data: dict[str, Json] = {"layer": layer} if memory.layered else {}
    room = envelope.ROOM // 5
    data |= {
        "source_ids": envelope.take_items(result.source_ids, room),
        "block_ids": envelope.take_items(result.block_ids, room),
        "evidence_ids": envelope.take_items(result.evidence_ids, room),
        "changed_files": envelope.take(
            [memory.qualify(layer, path) for path in result.changed_files], room
        ),
        "memory_committed": result.memory_committed,
        "git_committed": result.git_committed,
        "git_commit": result.git_commit,
    }
    if result.git_reason is not None:
        data["git_reason"] = result.git_reason
    whole = (result.source_ids, result.block_ids, result.evidence_ids, result.changed_files)
    shown = (data["source_ids"], data["block_ids"], data["evidence_ids"], data["changed_files"])
    if any(len(a) != len(b) for a, b in zip(whole, shown, strict=True) if isinstance(b, Sized)):
        data |= {"truncated": True, "go_on": "Everything is written; memory_read shows all ids."}
    return data


def _revision(memory: Memory, result: UpdateResult) -> str:
    return memory.snapshots().revision if memory.layered else str(result.revision)
