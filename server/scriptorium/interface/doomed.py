"""What `forget` would take, in the layer that holds it, and how a person sees that.

Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scriptorium.capture import forgetting as waiting
from scriptorium.errors import InvalidArgument, Json
from scriptorium.format.model import RelPath
from scriptorium.interface.memory import Memory
from scriptorium.interface.parser import Arguments
from scriptorium.interface.terminal import Terminal, plain
from scriptorium.workspace import erasure, forgotten
from scriptorium.workspace import forget as forgetting
from scriptorium.workspace.forget import Passage, Plan, UnknownBlock
from scriptorium.workspace.forgotten import Forgotten
from scriptorium.workspace.workspace import Workspace

_SHOWN = 50
"""Passages that are shown of each kind; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """What would be forgotten in one layer."""

    layer: str | None
    """None where there is only one."""
    workspace: Workspace
    plan: Plan
    pending: tuple[str, ...]
    """The texts of messages that wait to be written, and go."""
    earlier: Forgotten | None
    """What an earlier `forget` was cut short of erasing."""
    somewhere: bool
    """Whether anything is there to be forgotten, if only in a cache or a log."""

    @property
    def forgotten(self) -> Forgotten:
        return self.plan.forgotten.with_(self.earlier)


def chosen(memory: Memory, arguments: Arguments, err: Terminal) -> Doomed:
    """What would be forgotten, in the layer that holds it.

    Raises InvalidArgument where several hold it and none is named, and as `forget.plan_block`.
    """
    if arguments.layer is not None:
        return _doomed(memory, arguments.layer, arguments)
    for name, why in memory.layers.failures.items():
        err.line(f"scriptorium: layer {name} is left out: {why}")
    names = memory.layers.names or (memory.layers.default,)
    if arguments.match is None:
        block = arguments.block_id.removeprefix("^")
        held = memory.snapshots().layers.items()
        holding = [name for name, snapshot in held if snapshot.locate_block(block)]
        names = tuple(holding or filter(lambda name: _unfinished(memory, name), names)) or names[:1]
    each = [_doomed(memory, name, arguments) for name in names]
    found = [doomed for doomed in each if doomed.somewhere]
    if len(found) > 1:
        listed = ", ".join(str(doomed.layer) for doomed in found)
        raise InvalidArgument(
            f"Several layers hold it: {listed}. Forget it in one after the other, with `--layer`."
        )
    return (found or [doomed for doomed in each if doomed.earlier] or each)[0]


def _unfinished(memory: Memory, layer: str) -> bool:
    return forgotten.unfinished(memory.workspace(layer).layout) is not None


def _doomed(memory: Memory, layer: str, arguments: Arguments) -> Doomed:
    workspace = memory.workspace(layer)
    layout = workspace.layout
    earlier = forgotten.unfinished(layout)
    try:
        plan = planned(workspace, arguments)
    except UnknownBlock:
        if earlier is None:
            raise
        # The block is gone since an earlier run, and copies of it are not.
        plan = workspace.reading(forgetting.plan_nothing)
    pending = waiting.waiting(layout, plan.forgotten.with_(earlier).spoken.stand_in)
    found = not plan.empty or bool(pending)
    return Doomed(
        layer if memory.layered else None,
        workspace,
        plan,
        tuple(one.message.text for one in pending),
        earlier,
        found or bool(erasure.leftovers(layout, plan.forgotten.traces).holding),
    )


def planned(workspace: Workspace, arguments: Arguments) -> Plan:
    if arguments.match is not None:
        text = arguments.match
        return workspace.reading(lambda snapshot: forgetting.plan_match(snapshot, text))
    block = arguments.block_id.removeprefix("^")
    return workspace.reading(lambda snapshot: forgetting.plan_block(snapshot, block))


def show(doomed: Doomed, out: Terminal) -> None:
    """Prints what would go, and what stays and why."""
    plan = doomed.plan
    if doomed.layer is not None:
        out.heading(f"In layer {doomed.layer}")
    _list(out, "Blocks that go", plan.blocks)
    _list(out, "Messages whose words go; their headings stay", plan.sources)
    _list(out, "Lines that go", plan.lines)
    waits = [Passage(RelPath("waiting to be written"), 0, text) for text in doomed.pending]
    _list(out, "Messages that wait to be written, and go", waits)
    if doomed.earlier is not None:
        out.line("An earlier `forget` was cut short; what it left in copies goes now.")
        out.line()
    if plan.kept:
        out.heading("Messages that stay, for another block rests on them")
        for passage in plan.kept:
            out.line(f"  {plain(passage.id)}: {passage.text}")
    _list(out, "Blocks that stay, though words that they rest on go", plan.bared)
    _list(out, "Lines that hold the text and stay: edit them by hand", plan.stays)
    for text in plan.short:
        out.line(
            f"Too short to be looked for in other files: {plain(text)}. `scriptorium forget"
            " --match` looks for it."
        )


def _list(out: Terminal, title: str, passages: Sequence[Passage]) -> None:
    if not passages:
        return
    out.heading(f"{title}: {len(passages)}")
    for passage in passages[:_SHOWN]:
        place = f"{passage.path}:{passage.line}" if passage.line else str(passage.path)
        out.line(f"  {out.paint(plain(place), 'cyan')}  {out.paint(plain(passage.id), 'dim')}")
        for line in plain(passage.text).splitlines()[:6]:
            out.line(f"    {line[:400]}")
    if len(passages) > _SHOWN:
        out.line(f"  and {len(passages) - _SHOWN} more")
    out.line()


def record(doomed: Doomed) -> dict[str, Json]:
    plan = doomed.plan
    layer: dict[str, Json] = {} if doomed.layer is None else {"layer": doomed.layer}
    return layer | {
        "blocks": [_passage(p) for p in plan.blocks],
        "sources": [_passage(p) for p in plan.sources],
        "lines": [_passage(p) for p in plan.lines],
        "bared": [_passage(p) for p in plan.bared],
        "kept": [{"id": p.id, "path": p.path, "cited_by": p.text} for p in plan.kept],
        "stays": [_passage(p) for p in plan.stays],
        "short": [*plan.short],
        "pending": len(doomed.pending),
    }


def _passage(passage: Passage) -> dict[str, Json]:
    return {"path": passage.path, "line": passage.line, "id": passage.id, "text": passage.text}
