"""`relations.json` of one state after another, at the price of the links that changed.

Promises: the text is that of `views.relations` over every link of the state, to the byte, whatever
was rendered before. Keeps the lines of each file, because a large workspace has tens of thousands
of them and an update touches a handful.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import chain

from scriptorium.format import views
from scriptorium.format.model import BlockId, RelPath
from scriptorium.format.views import Relation
from scriptorium.workspace.mirror import EMPTY, Mirror


class Relations:
    """The lines of the last state that was rendered."""

    def __init__(self) -> None:
        self._shown = EMPTY
        self._links: dict[RelPath, str] = {}
        """By the file that links."""
        self._backlinks: dict[RelPath, str] = {}
        """By the file that is linked to."""

    def render(self, mirror: Mirror) -> str:
        """The view's text for the state."""
        before, self._shown = self._shown, mirror
        origins = concerned(before, mirror, _changed(before, mirror))
        found = cache(partial(relations_of, mirror))
        links = [*chain.from_iterable(map(found, origins))]
        links += chain.from_iterable(relations_of(before, path) for path in origins)
        for path in origins:
            _keep(self._links, path, views.links(found(path)))
        for path in {link.target_path for link in links}:
            _keep(self._backlinks, path, views.backlinks(_relations_to(mirror, path, found)))
        return views.relations_file(_joined(self._links), _joined(self._backlinks))


def relations_of(mirror: Mirror, path: RelPath) -> set[Relation]:
    """The links from blocks of the file to blocks that exist."""
    return {
        Relation(path, link.origin, link.path, BlockId(link.target))
        for link in mirror.topic(path).links
        if link.origin is not None and mirror.holds(link)
    }


def concerned(before: Mirror, after: Mirror, paths: Iterable[RelPath]) -> set[RelPath]:
    """The files whose relations may differ between two states whose files differ at
    `paths` only.
    """
    found = set(paths)
    for path in list(found):
        ids = {b.id for b in before.topic(path).blocks} ^ {b.id for b in after.topic(path).blocks}
        for block in ids:
            found.update(before.linkers(block), after.linkers(block))
    return found


def _relations_to(
    mirror: Mirror, path: RelPath, found: Callable[[RelPath], set[Relation]]
) -> Iterator[Relation]:
    origins = {p for block in mirror.topic(path).blocks for p in mirror.linkers(block.id)}
    for origin in origins:
        yield from (r for r in found(origin) if r.target_path == path)


def _changed(before: Mirror, after: Mirror) -> list[RelPath]:
    """The files whose entry is not the same one. Cheaper than it looks: a look-up for each file."""
    known = before.files
    changed = [path for path, entry in after.files.items() if known.get(path) is not entry]
    return changed + [path for path in known if path not in after.files]


def _keep(lines: dict[RelPath, str], path: RelPath, new: list[str]) -> None:
    if new:
        lines[path] = views.joined(new)
    else:
        lines.pop(path, None)


def _joined(lines: dict[RelPath, str]) -> str:
    return views.joined(lines[path] for path in sorted(lines))
