"""The copies that memory's machinery made of what was forgotten: erased, also after a kill.

Touches what waits to be written, journals, catalog, logs and the caches of search, in this order.
"""

from __future__ import annotations

from datetime import datetime

from scriptorium.capture import forgetting as waiting
from scriptorium.search import purging
from scriptorium.workspace import erasure, forgotten
from scriptorium.workspace.workspace import Workspace


def finish(workspace: Workspace, now: datetime) -> bool:
    """No copy holds what was forgotten; False where there was nothing to do.

    The caller has the waiting messages `held`. Raises OSError, InternalError where the journals
    cannot be dropped, ConcurrentUpdate when the lock is held for too long.
    """
    layout = workspace.layout
    what = forgotten.unfinished(layout)
    if what is None:
        return False
    waiting.forget(layout, what.spoken.stand_in, now.astimezone())
    erasure.sweep(layout, what.traces)
    purging.purge(workspace)
    forgotten.end(layout)
    return True
