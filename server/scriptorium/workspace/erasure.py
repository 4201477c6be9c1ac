"""After something was forgotten: the copies that memory's own machinery made of it.

    journals    of installed updates, which hold the files as they were: settled and dropped
    catalog     rewritten, so that no page of the database keeps an old row
    logs        without the lines that hold the text
    litter      temporaries of killed writers, anywhere in the runtime directory: removed
    copies      `*.conflict-…` files, which are a person's to delete: named

Touches no authored file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scriptorium.format.traces import Traces
from scriptorium.workspace import catalog_file, disk, install, journal
from scriptorium.workspace.layout import Layout

_LOGS = (".log", ".jsonl")


def sweep(layout: Layout, traces: Traces) -> None:
    """Journals, catalog and logs hold nothing of what was forgotten.

    Raises InternalError where the journals cannot be dropped, ConcurrentUpdate when the lock is
    held for too long.
    """
    with journal.locked(layout):
        journal.recover(layout)
        journal.settle(layout)
        install.remove_litter(Path(folder) for folder, _, _ in os.walk(layout.runtime_dir))
        catalog_file.purge(layout.catalog, traces.stand_in)
    for name in disk.current.listing(layout.runtime_dir):
        if name.endswith(_LOGS):
            _drop_lines(layout, name, traces)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Files below the workspace, `.git` left aside, sorted."""

    holding: tuple[str, ...]
    """Those that still hold the text."""
    unread: tuple[str, ...]
    """Those, and directories, that could not be read."""


def leftovers(layout: Layout, traces: Traces) -> Leftovers:
    """Looks for the text in every file."""
    holding, unread = [], []

    def unlisted(error: OSError) -> None:
        unread.append(Path(error.filename).relative_to(layout.root).as_posix())

    for place in _files(layout.root, unlisted):
        path = place.relative_to(layout.root).as_posix()
        try:
            text = place.read_bytes().decode("utf-8", "replace")
        except OSError:
            unread.append(path)
        else:
            if traces.stand_in(text):
                holding.append(path)
    return Leftovers(tuple(sorted(holding)), tuple(sorted(unread)))


def conflict_copies(layout: Layout) -> list[str]:
    """The copies kept of hand edits, which may hold anything."""
    found = (p.relative_to(layout.root).as_posix() for p in _files(layout.root))
    return sorted(path for path in found if ".conflict-" in path.rpartition("/")[2])


def _files(root: Path, unlisted: Callable[[OSError], None] | None = None) -> Iterator[Path]:
    for folder, folders, names in os.walk(root, onerror=unlisted):
        if ".git" in folders:
            folders.remove(".git")
        for name in names:
            place = Path(folder, name)
            if not place.is_symlink() and place.is_file():
                yield place


def _drop_lines(layout: Layout, name: str, traces: Traces) -> None:
    """The log has no line that holds the text, plainly or as JSON writes it."""
    with suppress(OSError):
        lines = (disk.current.read(layout.runtime_dir / name) or b"").splitlines(keepends=True)
        kept = [line for line in lines if not _holds(line, traces)]
        if len(kept) < len(lines):
            journal.write_runtime(layout, name, b"".join(kept))


def _holds(line: bytes, traces: Traces) -> bool:
    text = line.decode("utf-8", "replace")
    if traces.stand_in(text):
        return True
    try:
        return traces.stand_in(json.dumps(json.loads(text), ensure_ascii=False))
    except (ValueError, RecursionError):
        return False
