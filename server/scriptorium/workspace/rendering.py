"""Which views a change touches, and what each view says of a state.

A view is named by its key: a time of the timeline (`2026`, `2026-08`, `2026-08-03`), RECENT or
RELATIONS. Promises: a key that `touched` does not give renders to the same bytes before and after.
Does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from scriptorium.format import views
from scriptorium.format.model import RelPath
from scriptorium.format.views import Event, Moment
from scriptorium.workspace import relating
from scriptorium.workspace.facts import UNDATED, TopicFacts
from scriptorium.workspace.mirror import Mirror
from scriptorium.workspace.relating import Relations, relations_of

RECENT = "recent"
RELATIONS = "relations"

_TIMELINE = re.compile(r"timeline/(\d{4})(?:/(\d\d)(?:/(\d\d))?)?\.md")


def path_of(key: str) -> RelPath:
    """The file of the view."""
    if key == RECENT:
        return views.RECENT_PATH
    return views.RELATIONS_PATH if key == RELATIONS else views.timeline_path(key)


def key_of(path: str) -> str | None:
    """The view whose file `path` is; None for a file that is no view."""
    if path == views.RECENT_PATH:
        return RECENT
    if path == views.RELATIONS_PATH:
        return RELATIONS
    match = _TIMELINE.fullmatch(path)
    return "-".join(part for part in match.groups() if part) if match else None


def every_key(mirror: Mirror) -> set[str]:
    """The views that a full rebuild renders."""
    return {RECENT, RELATIONS, *(key for time in mirror.indexes.calendar for key in _periods(time))}


def touched(before: Mirror, after: Mirror, paths: Collection[RelPath]) -> set[str]:
    """The views that may differ between two states whose files differ at `paths` only."""
    keys = {RECENT}
    for path in paths:
        old, new = _by_time(before.topic(path)), _by_time(after.topic(path))
        keys |= {time for time in {*old, *new} if old.get(time) != new.get(time)}
    for time in list(keys - {RECENT}):
        # A coarser period lists the finer ones that exist, and nothing else of them.
        for coarser in _periods(time)[:-1]:
            if _exists(before, time) != _exists(after, time):
                keys.add(coarser)
    concerned = relating.concerned(before, after, paths)
    if any(relations_of(before, path) != relations_of(after, path) for path in concerned):
        keys.add(RELATIONS)
    return keys


def render(mirror: Mirror, key: str, relations: Relations | None = None) -> str | None:
    """The view's text; None when there is nothing to show and no file to keep.

    `relations` remembers the links that were rendered last, and changes nothing in the text.
    """
    if key == RECENT:
        return views.recent_events(_events(mirror))
    if key == RELATIONS:
        return (relations or Relations()).render(mirror)
    moments = [
        Moment(path, block.id, block.headings, text)
        for path in mirror.indexes.calendar.get(key, ())
        for block in mirror.files[path].blocks_at(key)
        for time, text in block.moments
        if time == key
    ]
    return views.timeline(key, moments, _finer(mirror, key))


def _periods(time: str) -> list[str]:
    """The year, month and day that `time` names, coarsest first."""
    return [time[:length] for length in (4, 7, 10) if length <= len(time)]


def _finer(mirror: Mirror, key: str) -> list[str]:
    """The months of a year, or the days of a month, that have a view."""
    return [time for time in _within(key) if _exists(mirror, time)]


def _within(key: str) -> list[str]:
    """The months of a year, or the days of a month."""
    count = {4: 12, 7: 31, 10: 0}[len(key)]
    return [f"{key}-{n:02}" for n in range(1, count + 1)]


def _exists(mirror: Mirror, key: str) -> bool:
    calendar = mirror.indexes.calendar
    return key in calendar or any(_exists(mirror, time) for time in _within(key))


def _by_time(topic: TopicFacts) -> dict[str, list[tuple[str, ...]]]:
    """What a topic gives to the timeline, by time, in its order."""
    shown: dict[str, list[tuple[str, ...]]] = {}
    for block in topic.blocks:
        for time, text in block.moments:
            if time != UNDATED:
                shown.setdefault(time, []).append((block.id, text, *block.headings))
    return shown


def _events(mirror: Mirror) -> Iterator[Event]:
    for path, block in mirror.recent():
        text = " ".join(text for _, text in block.moments)
        observed = mirror.last_observed(block)
        yield Event(path, block.id, block.headings, block.times, observed, text)
