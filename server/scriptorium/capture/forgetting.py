"""What waits to be written, without what a person wants forgotten.

The messages count as taken in, so that reading their transcript again does not bring them back.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from scriptorium.capture import archived, area, pending
from scriptorium.capture.pool import Pool, Waiting
from scriptorium.errors import ConcurrentUpdate
from scriptorium.workspace.layout import Layout


def waiting(layout: Layout, matches: Callable[[str], bool]) -> tuple[Waiting, ...]:
    """The messages, pending or set aside, whose text is to be forgotten. Raises OSError."""
    every = (*pending.load_set_aside(layout), *pending.load(layout).waiting)
    return tuple(one for one in every if matches(one.message.text))


def forget(layout: Layout, matches: Callable[[str], bool], now: datetime) -> int:
    """None of them waits any more; how many did.

    Raises OSError, and ConcurrentUpdate while an ingest holds the pool.
    """
    if not waiting(layout, matches):
        return 0
    with area.pool_lock(layout) as held:
        if not held:
            raise ConcurrentUpdate(
                "`scriptorium ingest` is at work on the pending messages. Run this again."
            )
        gone = waiting(layout, matches)
        keys = [key for one in gone for key in one.message.keys]
        for name, content in archived.extended(layout, keys, now).items():
            area.replace(layout.runtime_dir / name, content)
        _keep(layout, matches)
    return len(gone)


def _keep(layout: Layout, matches: Callable[[str], bool]) -> None:
    aside = pending.load_set_aside(layout)
    rest = tuple(one for one in aside if not matches(one.message.text))
    pool = pending.load(layout)
    left = tuple(one for one in pool.waiting if not matches(one.message.text))
    if len(rest) < len(aside):
        pending.bring_back(layout)
        pending.keep_only(layout, Pool((*rest, *left)))
        if rest:
            pending.set_aside(layout, rest)
    else:
        pending.keep_only(layout, Pool(left))
