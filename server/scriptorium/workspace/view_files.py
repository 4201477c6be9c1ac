"""Which view files an update has to write, so that the views show what the files will say.

Promises: what it writes makes the views on disk equal to a full rebuild, byte for byte, at the
price of those that changed; a view that someone edited or deleted is restored; a view that is as it
should be is not written. Only files with the name of a view are touched: what else lies in
`timeline/` stays.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from scriptorium.format.model import RelPath
from scriptorium.format.views import RECENT_PATH, RELATIONS_PATH
from scriptorium.workspace import rendering, scan
from scriptorium.workspace.catalog_file import EVERYTHING
from scriptorium.workspace.digests import digest_of
from scriptorium.workspace.journal import Change
from scriptorium.workspace.mirror import EMPTY, Mirror
from scriptorium.workspace.relating import Relations
from scriptorium.workspace.signatures import Signature, Signatures

LOOKS = 100
"""How many of the views that should be as they were are looked at by an update."""


@dataclass(slots=True)
class Known:
    """The views as they were last installed, or found to be right."""

    digests: dict[RelPath, str] = field(default_factory=dict)
    signatures: Signatures = field(default_factory=Signatures)
    relations: Relations = field(default_factory=Relations)
    _turn: list[RelPath] | None = None
    """The views that are still to be looked at in this turn; None: all, and the directories too."""

    def next(self) -> list[RelPath] | None:
        """The views to look at; None: the whole disk."""
        if len(self.signatures) <= LOOKS or self._turn is None:
            self._turn = []
            return None
        if not self._turn:
            self._turn = list(self.signatures)
        chosen, self._turn = self._turn[:LOOKS], self._turn[LOOKS:]
        return chosen

    def know(self, path: RelPath, digest_: str | None, signature: Signature) -> None:
        """The view has that digest; None: there is no such view."""
        if digest_ is None:
            self.digests.pop(path, None)
            self.signatures.pop(path, None)
        else:
            self.digests[path] = digest_
            self.signatures[path] = signature


@dataclass(frozen=True, slots=True)
class Plan:
    """The views that were looked into."""

    changes: tuple[Change, ...]
    blocked: frozenset[str]
    """The views for which something that is no file stands in the way; they stay stale."""
    digests: dict[RelPath, str | None]
    """What each of them will be, also where nothing has to be written; None: no file."""


def plan(root: Path, after: Mirror, known: Known, keys: set[str]) -> Plan:
    """The changes after which the views show `after`.

    `keys` are the views that may have changed since the `known` ones were installed; EVERYTHING
    among them means that nothing is known of the disk. Views that are not as known join them.
    """
    wanted = keys - {EVERYTHING}
    likely = {rendering.path_of(key) for key in wanted}
    found = {path: digest_of(_read(root, path)) for path in _moved(root, known, likely)}
    for path, now in found.items():
        key = rendering.key_of(path)
        if key is not None and now != known.digests.get(path):
            wanted.add(key)
    if EVERYTHING in keys:
        wanted |= rendering.every_key(after)
    digests = dict(found)
    changes = []
    blocked = set()
    for key in sorted(wanted):
        path = rendering.path_of(key)
        content = _content(after, key, known.relations)
        before = found[path] if path in found else known.digests.get(path)
        if digest_of(content) == before:
            digests[path] = before
        elif scan.obstacle(root, path):
            blocked.add(key)
        else:
            digests[path] = digest_of(content)
            changes.append(Change(path, before, content))
    return Plan(tuple(changes), frozenset(blocked), digests)


def differing(root: Path, mirror: Mirror) -> list[tuple[RelPath, str]]:
    """(path, how) for every view on disk that a full rebuild would write otherwise."""
    disk = set(_moved(root, Known()))
    expected = {rendering.path_of(key): key for key in rendering.every_key(mirror)}
    found = [(path, "shows nothing that the topics say") for path in disk - expected.keys()]
    for path, key in expected.items():
        content = _read(root, path) if path in disk else None
        wanted = _content(mirror, key)
        if content is None and wanted == _content(EMPTY, key):
            continue  # a workspace that was never updated has no empty views
        if content != wanted:
            differs = "is not what the topics say"
            found.append((path, _absence(root, path) if content is None else differs))
    return sorted(found)


def _absence(root: Path, path: RelPath) -> str:
    """That the view is missing, and what keeps an update from writing it."""
    obstacle = scan.obstacle(root, path)
    return f"is missing: {obstacle} is in its way. Move that away" if obstacle else "is missing"


def _moved(root: Path, known: Known, likely: Collection[RelPath] = ()) -> list[RelPath]:
    """The views, of those whose turn it is and the `likely` ones, that are not as known."""
    signatures = known.signatures
    chosen = known.next()
    if chosen is not None:
        looked = {*chosen, *likely, RECENT_PATH, RELATIONS_PATH}
        return [path for path in looked if _look(root, path) != signatures.get(path)]
    timeline = scan.scan(root, "timeline", signatures, {})
    moved = [path for path in timeline.changed if rendering.key_of(path)]
    for path in (RECENT_PATH, RELATIONS_PATH):
        timeline.seen += path in signatures
        if _look(root, path) != signatures.get(path):
            moved.append(path)
    return moved + scan.gone(root, "timeline", signatures, timeline)


def _look(root: Path, path: RelPath) -> Signature | None:
    try:
        return scan.look(root, path)
    except OSError:
        return None


def _content(mirror: Mirror, key: str, relations: Relations | None = None) -> bytes | None:
    text = rendering.render(mirror, key, relations)
    return None if text is None else text.encode("utf-8")


def _read(root: Path, path: RelPath) -> bytes | None:
    try:
        content = scan.read(root, path, 0)
    except OSError:
        return None
    return None if content is None else content[0]
