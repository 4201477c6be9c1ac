"""What of a workspace's files is told to those who list them: sizes of views, and faults
of files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scriptorium.format import paths
from scriptorium.format.model import Problem, RelPath
from scriptorium.format.views import RECENT_PATH, RELATIONS_PATH
from scriptorium.workspace.facts import SourceFacts, TopicFacts
from scriptorium.workspace.mirror import Mirror


@dataclass(frozen=True, slots=True)
class FileInfo:
    path: RelPath
    kind: paths.Kind
    bytes: int
    headings: tuple[str, ...]


def file_problems(mirror: Mirror) -> Iterator[Problem]:
    for path in sorted(path for path, entry in mirror.files.items() if not entry.sound):
        facts = mirror.facts(path)
        if isinstance(facts, SourceFacts):
            yield from (Problem(path, line, "damaged-source", m) for line, m in facts.faults)
        elif isinstance(facts, TopicFacts):
            yield Problem(path, 1, "not-utf-8", f"{facts.fault}: save the file as UTF-8.")
    named: dict[str, list[RelPath]] = {}
    for path in sorted(mirror.files):
        named.setdefault(paths.twin_key(path), []).append(path)
    for places in (p for p in named.values() if len(p) > 1):
        for path in places:
            others = ", ".join(p for p in places if p != path)
            yield Problem(
                path,
                1,
                "case-only-twin",
                f"the name differs from {others} only in case or Unicode form; some systems take"
                " them for one file. Rename one.",
            )


def views(root: Path) -> Iterator[FileInfo]:
    for name in (RECENT_PATH, RELATIONS_PATH):
        size = _size(root / name)
        if size is not None:
            yield FileInfo(name, paths.kind(name), size, ())
    for path, size in walk(str(root), "timeline"):
        title = path.removeprefix("timeline/").removesuffix(".md").replace("/", "-")
        yield FileInfo(RelPath(path), "timeline", size, (title,))


def _size(file: Path) -> int | None:
    try:
        status = file.lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def walk(root: str, directory: str) -> Iterator[tuple[str, int]]:
    """(path, size) of the Markdown files below a directory; links are not followed, and what cannot
    be read is left out.
    """
    try:
        with os.scandir(f"{root}/{directory}") as entries:
            for entry in entries:
                path = f"{directory}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    yield from walk(root, path)
                elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                    yield path, entry.stat(follow_symlinks=False).st_size
    except OSError:
        return
