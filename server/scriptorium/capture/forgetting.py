"""What waits to be written, without what a person wants forgotten.

The messages count as taken in, so that reading their transcript again does not bring them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from scriptorium.capture import archived, area, pending
from scriptorium.capture.pool import Pool, Waiting
from scriptorium.errors import ConcurrentUpdate
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.runtime_files import write_runtime


def waiting(layout: Layout, matches: Callable[[str], bool]) -> tuple[Waiting, ...]:
    """The messages, pending or set aside, whose text is to be forgotten. Raises OSError."""
    every = (*pending.load_set_aside(layout), *pending.load(layout).waiting)
    return tuple(one for one in every if matches(one.message.text))


@contextmanager
def held(layout: Layout) -> Iterator[None]:
    """Nobody else changes what waits. Raises ConcurrentUpdate while an ingest does for too long."""
    with area.pool_lock(layout) as alone:
        if not alone:
            raise ConcurrentUpdate(
                "`scriptorium ingest` is at work on the pending messages. Run this again."
            )
        yield


def forget(layout: Layout, matches: Callable[[str], bool], now: datetime) -> None:
    """None of them waits any more. The caller has them `held`. Raises OSError."""
    gone = waiting(layout, matches)
    if not gone:
        return
    keys = [key for one in gone for key in one.message.keys]
    for name, content in archived.extended(layout, keys, now).items():
        write_runtime(layout, name, content, sync=True)
    _keep(layout, matches)


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
