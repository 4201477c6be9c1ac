"""Which view files an update has to write, so that the views show what the files will say.

Promises: what it writes makes the views on disk equal to a full rebuild, byte for byte, at the
price of those that changed; a view that someone edited or deleted is restored; a view that is as it
should be is not written. Only files with the name of a view are touched: what else lies in
`timeline/` stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scriptorium.format.model import RelPath
from scriptorium.format.views import RECENT_PATH, RELATIONS_PATH
from scriptorium.workspace import rendering, scan
from scriptorium.workspace.catalog import EVERYTHING
from scriptorium.workspace.facts import digest
from scriptorium.workspace.journal import Change
from scriptorium.workspace.mirror import EMPTY, Mirror
from scriptorium.workspace.scan import Signature

type Known = Mapping[RelPath, tuple[str | None, Signature]]
"""The views as they were last installed: digest (None: removed) and signature."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The views that were looked into."""

    changes: tuple[Change, ...]
    blocked: frozenset[str]
    """The views for which something that is no file stands in the way; they stay stale."""
    digests: dict[RelPath, str | None]
    """What each of them will be, also where nothing has to be written; None: no file."""


def plan(root: Path, after: Mirror, known: Known, keys: set[str], now_ns: int) -> Plan:
    """The changes after which the views show `after`.

    `keys` are the views that may have changed since the `known` ones were installed; EVERYTHING
    among them means that nothing is known of the disk. Views whose signature is not the known one
    join them."""
    disk = _on_disk(root)
    moved = {p for p in disk.keys() | known.keys() if disk.get(p) != _signature(known, p)}
    contents = {path: _read(root, path, now_ns) for path in moved if path in disk}
    wanted = set(keys)
    for path in moved:
        was = known[path][0] if path in known else None
        if was != _digest(contents.get(path)):
            wanted |= {key for key in (rendering.key_of(path),) if key}
    if EVERYTHING in keys:
        wanted |= rendering.every_key(after)
    wanted.discard(EVERYTHING)
    digests = {path: _digest(contents.get(path)) for path in moved}
    before = digests | {path: known[path][0] for path in disk if path not in moved}
    changes = []
    blocked = set()
    for key in sorted(wanted):
        path = rendering.path_of(key)
        content = _content(after, key)
        if _digest(content) == before.get(path):
            digests[path] = before.get(path)
        elif scan.obstacle(root, path):
            blocked.add(key)
        else:
            digests[path] = _digest(content)
            changes.append(Change(path, before.get(path), content))
    return Plan(tuple(changes), frozenset(blocked), digests)


def differing(root: Path, mirror: Mirror) -> list[tuple[RelPath, str]]:
    """(path, how) for every view on disk that a full rebuild would write otherwise."""
    disk = _on_disk(root)
    expected = {rendering.path_of(key): key for key in rendering.every_key(mirror)}
    found = [(path, "shows nothing that the topics say") for path in disk.keys() - expected.keys()]
    for path, key in expected.items():
        content = _read(root, path, 0) if path in disk else None
        wanted = _content(mirror, key)
        if content is None and wanted == _content(EMPTY, key):
            continue  # a workspace that was never updated has no empty views
        if content != wanted:
            found.append((path, "is missing" if content is None else "is not what the topics say"))
    return sorted(found)


def _content(mirror: Mirror, key: str) -> bytes | None:
    text = rendering.render(mirror, key)
    return None if text is None else text.encode("utf-8")


def _on_disk(root: Path) -> dict[RelPath, Signature]:
    """The view files there are."""
    found = scan.scan(root, "timeline", {}).files
    views = {path: signature for path, signature in found.items() if rendering.key_of(path)}
    for path in (RECENT_PATH, RELATIONS_PATH):
        try:
            signature = scan.look(root, path)
        except OSError:
            continue
        if signature is not None:
            views[path] = signature
    return views


def _signature(known: Known, path: RelPath) -> Signature | None:
    """The signature by which the file is known; None where there is to be no file."""
    digest_, signature = known.get(path, (None, scan.UNSETTLED))
    return None if digest_ is None else signature


def _read(root: Path, path: RelPath, now_ns: int) -> bytes | None:
    try:
        content = scan.read(root, path, now_ns)
    except OSError:
        return None
    return None if content is None else content[0]


def _digest(content: bytes | None) -> str | None:
    return None if content is None else digest(content)
