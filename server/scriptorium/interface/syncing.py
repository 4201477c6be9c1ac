"""`scriptorium sync`: one memory on several machines, through the workspace's own Git remote.

Promises one line for each workspace that was synced, or their results as JSON. Of several layers,
those that are a repository of their own are synced.
"""

from __future__ import annotations

import os
from dataclasses import asdict

from scriptorium.capture import forgetting as waiting
from scriptorium.errors import Json
from scriptorium.interface import erasing, opening
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings
from scriptorium.interface.terminal import plain
from scriptorium.workspace import forgotten
from scriptorium.workspace import sync as syncing
from scriptorium.workspace.sync import SyncResult
from scriptorium.workspace.workspace import Workspace


def sync(arguments: Arguments, around: Surroundings) -> int:
    memory = opening.memory(arguments, around)
    roots = [memory.workspace(name).root for name in memory.layers.names]
    own = [root for root in roots if os.path.lexists(root / ".git")]
    results: list[Json] = []
    for root in own or roots:
        # A fresh clone has no runtime directory yet.
        workspace = Workspace.open(root, create=True, ignore=False)
        result = syncing.sync(
            workspace,
            arguments.remote,
            accept_rewrite=arguments.accept_rewrite,
            environ=around.environ,
        )
        if forgotten.unfinished(workspace.layout) is not None:
            with waiting.held(workspace.layout):
                erasing.finish(workspace, around.clock())
        results.append({"workspace": str(root), **asdict(result)})
        if not arguments.json:
            around.out.line(_told(str(root), result))
    if arguments.json:
        around.out.json({"ok": True, "synced": results})
    return 0


def _told(root: str, result: SyncResult) -> str:
    done = []
    if result.committed:
        done.append(f"committed {_count(len(result.committed), 'file')} changed here")
    if result.received:
        done.append(f"received {_count(len(result.received), 'file')}")
    if result.sent:
        done.append(f"sent {_count(result.sent, 'commit')}")
    what = ", ".join(done) or "nothing new on either side"
    return f"Synced {plain(root)} with {plain(result.remote)}: {what}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
