"""`scriptorium forget`: a person takes something out of memory for good.

Promises to show everything that goes before it goes, and to ask, unless told `--yes`; where nobody
can be asked, nothing is done. Of several layers one is acted on: the one that holds it, and where
several do, the one that `--layer` names. Afterwards it looks for the text below the workspace, and
says where it still is and how Git's history is rewritten.
"""

# ruff: noqa: PLC0415  the caches of search and capture are loaded when something was forgotten

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scriptorium.capture import forgetting as waiting
from scriptorium.errors import InvalidArgument, Json
from scriptorium.interface import opening
from scriptorium.interface.memory import Memory
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings
from scriptorium.interface.terminal import Terminal, plain
from scriptorium.workspace import erasure
from scriptorium.workspace import forget as forgetting
from scriptorium.workspace.forget import Passage, Plan
from scriptorium.workspace.memory import Workspace

_SHOWN = 50
"""Passages that are shown of each kind; the rest is counted."""
_AFTER = "(every other clone has to be cloned anew afterwards)"


@dataclass(frozen=True, slots=True)
class _Doomed:
    """What would be forgotten in one layer."""

    layer: str | None
    """None where there is only one."""
    workspace: Workspace
    plan: Plan
    pending: int
    """Messages that wait to be written, and go."""
    somewhere: bool
    """Whether anything is there to be forgotten, if only in a cache or a log, as after a run that
    was cut short.
    """


def forget(arguments: Arguments, around: Surroundings) -> int:
    memory = opening.memory(arguments, around)
    doomed = _chosen(memory, arguments, around)
    if not arguments.json:
        _show(doomed, around.out)
    if not doomed.somewhere:
        return _nothing(arguments, around)
    if arguments.dry_run:
        if arguments.json:
            around.out.json({"ok": True, "dry_run": True, **_record(doomed)})
        return 0
    if not arguments.yes and not _agreed(around):
        return 1
    if not doomed.plan.empty:
        forgetting.forget(doomed.workspace, doomed.plan, mode=memory.git, now=around.clock())
    _erase(doomed, around)
    return _ended(doomed, arguments, around)


def _chosen(memory: Memory, arguments: Arguments, around: Surroundings) -> _Doomed:
    """What would be forgotten, in the layer that holds it.

    Raises InvalidArgument where several hold it and none is named, and as `forget.plan_block`.
    """
    if arguments.layer is not None:
        return _doomed(memory, arguments.layer, arguments)
    for name, why in memory.layers.failures.items():
        around.err.line(f"scriptorium: layer {name} is left out: {why}")
    names = memory.layers.names or (memory.layers.default,)
    if arguments.match is None:
        block = arguments.block_id.removeprefix("^")
        held = memory.view().layers.items()
        names = tuple(name for name, snapshot in held if snapshot.locate_block(block)) or names[:1]
    each = [_doomed(memory, name, arguments) for name in names]
    holding = [doomed for doomed in each if doomed.somewhere]
    if len(holding) > 1:
        listed = ", ".join(str(doomed.layer) for doomed in holding)
        raise InvalidArgument(
            f"Several layers hold it: {listed}. Forget it in one after the other, with `--layer`."
        )
    return (holding or each)[0]


def _doomed(memory: Memory, layer: str, arguments: Arguments) -> _Doomed:
    workspace = memory.workspace(layer)
    plan = _planned(workspace, arguments)
    pending = len(waiting.waiting(workspace.layout, plan.matches))
    found = not plan.empty or pending > 0
    return _Doomed(
        layer if memory.layered else None,
        workspace,
        plan,
        pending,
        found or next(erasure.leftovers(workspace.layout, plan.matches), None) is not None,
    )


def _show(doomed: _Doomed, out: Terminal) -> None:
    """Prints what would go, and what stays and why."""
    plan = doomed.plan
    if doomed.layer is not None:
        out.heading(f"In layer {doomed.layer}")
    _list(out, "Blocks that go", plan.blocks)
    _list(out, "Messages whose words go; their headings stay", plan.sources)
    _list(out, "Lines that go", plan.lines)
    if doomed.pending:
        out.heading(f"Messages that wait to be written, and go: {doomed.pending}")
    if plan.kept:
        out.heading("Messages that stay, for another block rests on them")
        for passage in plan.kept:
            out.line(f"  {plain(passage.id)}: {passage.text}")
    _list(out, "Lines that hold the text and stay: edit them by hand", plan.stays)


def _planned(workspace: Workspace, arguments: Arguments) -> Plan:
    if arguments.match is not None:
        text = arguments.match
        return workspace.reading(lambda snapshot: forgetting.plan_match(snapshot, text))
    block = arguments.block_id.removeprefix("^")
    return workspace.reading(lambda snapshot: forgetting.plan_block(snapshot, block))


def _nothing(arguments: Arguments, around: Surroundings) -> int:
    if arguments.json:
        around.out.json({"ok": False, "forgotten": False, "left": []})
    else:
        around.out.line("Nothing in memory holds it.")
    return 1


def _agreed(around: Surroundings) -> bool:
    """Whether the person at the terminal says yes. Raises InvalidArgument where there is none."""
    if not around.stdin.isatty():
        raise InvalidArgument(
            "Nothing was forgotten: nobody can be asked here. Look at it with `--dry-run`, then"
            " say `--yes`."
        )
    around.err.stream.write("Forget this for good? [y/N] ")
    around.err.stream.flush()
    agreed = around.stdin.readline().strip().casefold() in ("y", "yes")
    if not agreed:
        around.out.line("Nothing was forgotten.")
    return agreed


def _erase(doomed: _Doomed, around: Surroundings) -> None:
    """What memory's machinery made of the text is gone too."""
    from scriptorium.search import purging

    layout, matches = doomed.workspace.layout, doomed.plan.matches
    waiting.forget(layout, matches, around.clock().astimezone())
    erasure.sweep(layout, matches)
    purging.purge(doomed.workspace)


def _ended(doomed: _Doomed, arguments: Arguments, around: Surroundings) -> int:
    """Tells what was forgotten and where it still is; 1 where some file holds it."""
    layout = doomed.workspace.layout
    left = list(erasure.leftovers(layout, doomed.plan.matches))
    copies = erasure.conflict_copies(layout)
    history = _history(layout.root, arguments.match)
    if arguments.json:
        done: dict[str, Json] = {"ok": True, "forgotten": True, **_record(doomed)}
        around.out.json({**done, "left": left, "conflict_copies": copies, "history": history})
    else:
        _print_end(doomed, left, (path for path in copies if path not in left), around.out)
        for line in history:
            around.out.line(plain(line))
        around.out.line(
            "The clients' own transcripts of your sessions are not Scriptorium's, and keep what was"
            " said until they are deleted."
        )
    return 1 if left else 0


def _print_end(doomed: _Doomed, left: Sequence[str], copies: Iterable[str], out: Terminal) -> None:
    plan = doomed.plan
    counts = [
        (len(plan.blocks), "blocks"),
        (len(plan.sources), "messages"),
        (len(plan.lines), "lines"),
        (doomed.pending, "pending messages"),
    ]
    told = ", ".join(f"{n} {what[:-1] if n == 1 else what}" for n, what in counts if n)
    out.line(f"Forgotten: {told or 'what caches and logs held'}.")
    if left:
        out.heading("It is still in these files; edit or delete them by hand:")
    for path in left:
        out.line(f"  {plain(path)}")
    for path in copies:
        out.line(f"A copy kept of a hand edit, look into it: {plain(path)}")


def _history(root: Path, match: str | None) -> list[str]:
    """What Git keeps, and how it is rewritten."""
    if not os.path.lexists(root / ".git"):
        return []
    rules = "write each forgotten sentence on a line of its own into /tmp/forget.txt"
    if match is not None:
        rule = f"regex:(?i){_regex(match)}==>[forgotten]"
        rules = f"printf '%s\\n' {shlex.quote(rule)} > /tmp/forget.txt"
    place = shlex.quote(str(root))
    return [
        f"Git's history still holds it, here and where it was pushed. To rewrite it: {_AFTER}",
        f"  {rules}",
        f"  cd {place} && git filter-repo --force --replace-text /tmp/forget.txt",
        "  rm /tmp/forget.txt; git remote add origin URL && git push --force --all",
    ]


def _regex(text: str) -> str:
    """The text as a regular expression that Python and filter-repo read alike."""
    return "".join(c if c.isalnum() or c == " " or ord(c) > 127 else f"\\{c}" for c in text)


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


def _record(doomed: _Doomed) -> dict[str, Json]:
    plan = doomed.plan
    layer: dict[str, Json] = {} if doomed.layer is None else {"layer": doomed.layer}
    return layer | {
        "blocks": [_passage(p) for p in plan.blocks],
        "sources": [_passage(p) for p in plan.sources],
        "lines": [_passage(p) for p in plan.lines],
        "kept": [{"id": p.id, "path": p.path, "cited_by": p.text} for p in plan.kept],
        "stays": [_passage(p) for p in plan.stays],
        "pending": doomed.pending,
    }


def _passage(passage: Passage) -> dict[str, Json]:
    return {"path": passage.path, "line": passage.line, "id": passage.id, "text": passage.text}
