"""`scriptorium forget`: a person takes something out of memory for good.

Promises to show everything that goes before it goes, and to ask, unless told `--yes`; where nobody
can be asked, nothing is done. Of several layers one is acted on: the one that holds it, and where
several do, the one that `--layer` names. Cut short at any instant, it is ended by the next one.
Afterwards it looks for the text below the workspace, and says where it still is and how Git's
history is rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence

from scriptorium.capture import forgetting as waiting
from scriptorium.errors import (
    ConcurrentUpdate,
    GitCommitFailed,
    InvalidArgument,
    Json,
    ScriptoriumError,
)
from scriptorium.interface import erasing, history, opening
from scriptorium.interface.doomed import Doomed, chosen, planned, record, show
from scriptorium.interface.memory import Memory
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings
from scriptorium.interface.terminal import Terminal, plain
from scriptorium.workspace import erasure, forgotten
from scriptorium.workspace import forget as forgetting
from scriptorium.workspace.erasure import Leftovers
from scriptorium.workspace.forget import UnknownBlock

_TRIES = 3
"""How often a plan is made anew when memory moves on meanwhile, and the plan does not."""


def forget(arguments: Arguments, around: Surroundings) -> int:
    memory = opening.memory(arguments, around)
    try:
        doomed = chosen(memory, arguments, around.err)
    except UnknownBlock as error:
        around.err.line(f"scriptorium: {error.message}")
        return 1
    if not arguments.json:
        show(doomed, around.out)
    if not doomed.somewhere and doomed.earlier is None:
        return _nothing(arguments, around)
    if arguments.dry_run:
        if arguments.json:
            around.out.json({"ok": True, "dry_run": True, **record(doomed)})
        return 0
    if not arguments.yes and not _agreed(around):
        return 1
    layout = doomed.workspace.layout
    with waiting.held(layout):
        forgotten.begin(layout, doomed.forgotten)
        reason = None if doomed.plan.empty else _carried_out(doomed, memory, arguments, around)
        erasing.finish(doomed.workspace, around.clock())
    return _ended(doomed, reason, arguments, around)


def _carried_out(
    doomed: Doomed, memory: Memory, arguments: Arguments, around: Surroundings
) -> str | None:
    """Memory is without what was shown; why that is not committed to Git, where it is not.

    Raises ConcurrentUpdate when memory has changed so that more, or less, would go than was shown;
    and as `forget.forget`. Nothing has changed then.
    """
    plan = doomed.plan
    for attempt in range(_TRIES):
        try:
            done = forgetting.forget(doomed.workspace, plan, mode=memory.git, now=around.clock())
        except ConcurrentUpdate:
            plan = planned(doomed.workspace, arguments)
            if attempt + 1 < _TRIES and plan.same(doomed.plan):
                continue
            _take_back(doomed)
            raise ConcurrentUpdate(
                "Nothing was forgotten: memory changed meanwhile. Look at what would go now, and"
                " forget again."
            ) from None
        except GitCommitFailed as error:
            return error.message
        except ScriptoriumError:
            _take_back(doomed)
            raise
        return done.git_reason
    raise AssertionError("unreachable")  # the last attempt returns or raises


def _take_back(doomed: Doomed) -> None:
    """What was not forgotten is not erased from copies later; what was before still is."""
    forgotten.end(doomed.workspace.layout)
    if doomed.earlier is not None:
        forgotten.begin(doomed.workspace.layout, doomed.earlier)


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


def _ended(doomed: Doomed, reason: str | None, arguments: Arguments, around: Surroundings) -> int:
    """Tells what was forgotten and where it still is; 1 where some file holds it, or may."""
    layout = doomed.workspace.layout
    left = erasure.leftovers(layout, doomed.forgotten.traces)
    copies = erasure.conflict_copies(layout)
    texts = [arguments.match] if arguments.match is not None else doomed.forgotten.traces.folded
    rewriting = history.rewriting(layout.root, texts)
    if arguments.json:
        done: dict[str, Json] = {"ok": True, "forgotten": True, **record(doomed)}
        done |= {"left": [*left.holding], "unread": [*left.unread], "git_reason": reason}
        around.out.json({**done, "conflict_copies": copies, "history": rewriting})
    else:
        _print_end(doomed, left, [path for path in copies if path not in left.holding], around.out)
        if reason is not None:
            around.out.line(f"Not committed to Git: {plain(reason)}")
        for line in rewriting:
            around.out.line(plain(line))
        around.out.line(
            "The clients' own transcripts of your sessions are not Scriptorium's, and keep what was"
            " said until they are deleted."
        )
    return 1 if left.holding or left.unread else 0


def _print_end(doomed: Doomed, left: Leftovers, copies: Sequence[str], out: Terminal) -> None:
    plan = doomed.plan
    counts = [
        (len(plan.blocks), "blocks"),
        (len(plan.sources), "messages"),
        (len(plan.lines), "lines"),
        (len(doomed.pending), "pending messages"),
    ]
    told = ", ".join(f"{n} {what[:-1] if n == 1 else what}" for n, what in counts if n)
    out.line(f"Forgotten: {told or 'what caches and logs held'}.")
    if left.holding:
        out.heading(
            "It is still in these files; edit or delete them, or let `scriptorium forget --match`"
            " take the words out:"
        )
    for path in left.holding:
        out.line(f"  {plain(path)}")
    for path in left.unread:
        out.line(f"This could not be read, and not be searched: {plain(path)}")
    for path in copies:
        out.line(f"A copy kept of a hand edit, look into it: {plain(path)}")
