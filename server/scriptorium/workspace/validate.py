"""The check of a whole workspace: every topic, link and source, and the views against a rebuild.

Promises: finds every problem there is, in the order of the files, and changes nothing. The views
are rebuilt in memory. Every source file is read, so that an edit in place shows too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scriptorium.errors import ScriptoriumError
from scriptorium.format import markdown, paths, sources
from scriptorium.format.model import Problem, RelPath
from scriptorium.workspace import view_files
from scriptorium.workspace.checking import State, check_core, check_topic
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.workspace import Workspace


def validate(workspace: Workspace) -> list[Problem]:
    """Every problem of the workspace, sorted by path and line; none in a sound one."""
    with workspace.tracking() as tracker:
        tracker.doubt_sources()
    return workspace.reading(_validated)


def contract_problems(
    snapshot: Snapshot, exists: Callable[[RelPath], bool] | None = None
) -> list[Problem]:
    """Every breach of the contract by the files of memory, the views left aside.

    `exists` tells of files that are no memory, where the disk is not to be asked.
    """
    state = State(snapshot.mirror, exists or snapshot.exists)
    problems = {*snapshot.problems}
    for path in sorted(snapshot.mirror.files):
        problems.update(_file(snapshot, path, state))
    return _in_order(problems)


def _validated(snapshot: Snapshot) -> list[Problem]:
    return _in_order({*contract_problems(snapshot), *_views(snapshot)})


def _in_order(problems: set[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.message))


def _file(snapshot: Snapshot, path: RelPath, state: State) -> Iterator[Problem]:
    """What is wrong with one file. A file that cannot be read is among the snapshot's problems."""
    entry = snapshot.mirror.files[path]
    if not entry.sound:
        return
    match paths.kind(path):
        case "core":
            text = snapshot.text(path)
            yield from check_core(text, state) if text is not None else ()
        case "topic":
            yield from _unwritable(path)
            text = snapshot.text(path)
            if text is not None:
                yield from check_topic(path, markdown.parse_topic(text), state)
        case "source":
            yield from _misplaced(snapshot, path)
        case _:
            pass


def _unwritable(path: RelPath) -> Iterator[Problem]:
    """A name that a person gave, under which the topic can be read and never updated."""
    try:
        paths.rel_path(path)
    except ScriptoriumError as error:
        message = f"no update can edit the file under this name. {error.message}"
        yield Problem(path, 1, "unwritable-name", message)


def _misplaced(snapshot: Snapshot, path: RelPath) -> Iterator[Problem]:
    """Records that stand in another file than their thread's, so that links to them lead astray."""
    for record in snapshot.mirror.records(path):
        home = sources.thread_path(record)
        if home != path:
            message = f"the record of {record} belongs into {home}. Move it back."
            yield Problem(path, 1, "misplaced-source", message)


def _views(snapshot: Snapshot) -> Iterator[Problem]:
    for path, how in view_files.differing(snapshot.layout.root, snapshot.mirror):
        message = f"{how}. The next update writes it anew."
        yield Problem(path, 1, "stale-view", message)
