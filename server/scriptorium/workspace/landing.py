"""Puts a merge in place: checked whole in memory, then installed as one commit of the journal.

Owns `sync.json` in the runtime directory: the move of the branch that belongs to the files. It is
installed in the same atomic step as they are, and taken away when the branch has moved; `finish`
moves the branch where a killed sync did not come so far.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from scriptorium.errors import BrokenContract
from scriptorium.format import paths, sources
from scriptorium.format.model import Problem, RelPath, Revision
from scriptorium.workspace import (
    disk,
    forgotten,
    journal,
    lookout,
    merge_commit,
    merging,
    rendering,
    scan,
    view_files,
)
from scriptorium.workspace import git as committing
from scriptorium.workspace.digests import digest_of
from scriptorium.workspace.forgotten import Forgotten
from scriptorium.workspace.git_run import Git, GitError
from scriptorium.workspace.journal import Change
from scriptorium.workspace.layout import Layout, read_bytes
from scriptorium.workspace.lookout import Found
from scriptorium.workspace.merge_commit import Sides
from scriptorium.workspace.merging import Merged
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.validate import contract_problems
from scriptorium.workspace.workspace import Workspace

NOTE = "sync.json"
ATTRIBUTES = ".gitattributes"
RULES = """\
# How Git treats memory when you merge by hand; `scriptorium sync` needs none of it.
# Sources are joined by records, never by lines: Git leaves them to `scriptorium sync`.
sources/** -text -merge
# Views are rebuilt after every merge.
timeline/** -text merge=union
recent_events.jsonl -text merge=union
relations.json -text merge=union
"""

type Contents = dict[RelPath, bytes | None]


@dataclass(frozen=True, slots=True)
class Landed:
    commit: str
    committed: tuple[RelPath, ...]
    received: tuple[RelPath, ...]
    revision: Revision


def is_committed(path: str) -> bool:
    """Whether Scriptorium commits the file by itself: memory, or a view."""
    return paths.is_memory(RelPath(path)) or rendering.key_of(path) is not None


def land(
    workspace: Workspace,
    git: Git,
    snapshot: Snapshot,
    merged: Merged,
    sides: Sides,
) -> Landed:
    """The files, the index and the branch are at the merge.

    The caller holds the lock. Raises GitError, ConcurrentUpdate and BrokenContract's children
    before anything has changed.
    """
    layout = workspace.layout
    contents = _contents(git, layout, merged)
    findings = {p: _found(p, content) for p, content in contents.items() if paths.is_memory(p)}
    with workspace.tracking() as tracker:
        after = tracker.after(findings)
        keys = {*tracker.stale(), *rendering.touched(snapshot.mirror, after, [*findings])}
        views = view_files.plan(workspace.root, after, tracker.views, keys)
    _check(
        snapshot,
        replace(snapshot, mirror=after, revision=after.revision, overlay=dict(contents.items())),
    )
    _check_markers(git, snapshot, contents, sides)
    rules = _rules(layout, contents)
    made: dict[str, bytes | None] = {c.path: c.content for c in views.changes}
    made.update(merged.texts)
    made.update(rules.items())
    target = merge_commit.commit(git, merged, made, sides)
    changes = [_change(layout, path, content) for path, content in (contents | rules).items()]
    changes += views.changes
    if target != sides.head:
        note = json.dumps({"from": sides.head, "to": target}).encode("ascii")
        changes.append(_change(layout, layout.runtime_path(NOTE), note))
    with suppress(OSError):
        _ignore_runtime(layout)
    words = _erased(snapshot, contents)
    if words:
        forgotten.begin(layout, Forgotten.of((), words))
    journal.commit(layout, changes, meta={"sync": target})
    with workspace.tracking() as tracker:
        tracker.installed(findings, views.digests, planned=snapshot.sequence, blocked=views.blocked)
        revision = tracker.mirror.revision
    finish(layout, git)
    return Landed(target, sides.committed, tuple(sorted(contents)), revision)


def finish(layout: Layout, git: Git) -> None:
    """The branch is where the files in place belong, if a sync was killed before it moved.

    The caller holds the lock. Raises GitError; done again it has the same result.
    """
    place = layout.runtime_dir / NOTE
    note = _read_note(place)
    if note is not None:
        old, new = note
        head = git.asked("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if head == old and git.asked("cat-file", "-e", f"{new}^{{commit}}") is not None:
            _move(git, old, new)
    with suppress(FileNotFoundError):
        disk.current.unlink(place)


def _move(git: Git, old: str | None, new: str) -> None:
    """The index has the files as they are on disk, and the branch is at `new`."""
    moved = merging.differing(git, old or merging.empty_tree(git), new)
    gone = [path for path in moved if merging.is_runtime(path)]
    committing.stage(git, [path for path in moved if path not in gone])
    if gone:
        names = b"".join(os.fsencode(path) + b"\0" for path in gone)
        git("update-index", "--force-remove", "-z", "--stdin", stdin=names)
    git("update-ref", "-m", "scriptorium sync", "HEAD", new, old or "")


def _read_note(place: Path) -> tuple[str | None, str] | None:
    try:
        note = json.loads(disk.current.read(place) or b"null")
        return (note["from"], note["to"]) if note else None
    except (ValueError, KeyError, TypeError):
        return None


def _contents(git: Git, layout: Layout, merged: Merged) -> Contents:
    """What becomes of each file that the merge changes. Raises GitError where one cannot stand."""
    blobs = [blob for pair in merged.changed.values() for blob in pair if blob]
    found = merging.contents(git, blobs)
    contents: Contents = {}
    for path, (before, after) in merged.changed.items():
        rel = RelPath(path)
        _check_place(layout, rel, found[before] if before else None, deleted=after is None)
        made = merged.texts.get(path)
        contents[rel] = made if made is not None else found[after] if after else None
    return contents


def _check_place(layout: Layout, path: RelPath, before: bytes | None, *, deleted: bool) -> None:
    """The file can be put there, and what is there is what the merge stands on."""
    if is_committed(path):
        paths.existing_path(path)
    obstacle = None if deleted else scan.obstacle(layout.root, path)
    if obstacle is not None:
        raise GitError(f"{path} cannot be put in place: {obstacle} is something else. Move it.")
    if not is_committed(path) and read_bytes(layout, path) != before:
        raise GitError(
            f"the merge changes {path}, and so did you. Commit it (`git add {path}`,"
            " `git commit`), or move it away."
        )


def _erased(snapshot: Snapshot, contents: Contents) -> list[str]:
    """What messages said here that the merge brings erased."""
    said = []
    for path, content in contents.items():
        if content is not None and paths.kind(path) == "source":
            records, _ = sources.parse(content.decode("utf-8", "replace"))
            bare = {record.id for record in records if not record.content}
            said += [r.content for r in snapshot.sources_of(path) if r.content and r.id in bare]
    return said


def _found(path: RelPath, content: bytes | None) -> Found | None:
    return None if content is None else lookout.found(path, content)


def _check(before: Snapshot, after: Snapshot) -> None:
    """The merged memory keeps the contract, whole. Raises BrokenContract's children."""

    def exists(path: RelPath) -> bool:
        if path in after.overlay:
            return after.overlay[path] is not None
        return before.exists(path)

    problems = contract_problems(after, exists)
    if not problems:
        return
    own = {(p.path, p.rule, p.message) for p in contract_problems(before)}
    new = [p for p in problems if (p.path, p.rule, p.message) not in own]
    raise _breach(new or problems, by_merge=bool(new))


def _breach(problems: Sequence[Problem], *, by_merge: bool) -> BrokenContract:
    who = "merged, memory breaks the contract" if by_merge else "memory here breaks the contract"
    step = (
        "Mend it on the side that is easier to change, sync there, then here."
        if by_merge
        else "Mend the lines and run `scriptorium sync` again."
    )
    intro = f"Nothing was merged and nothing changed: {who}"
    return BrokenContract.of(problems, intro=intro, step=step)


def _check_markers(git: Git, snapshot: Snapshot, contents: Contents, sides: Sides) -> None:
    """No unresolved conflict lands in memory or is sent. Raises InvalidTopicFormat."""
    there = sides.theirs or merging.empty_tree(git)
    sent = {paths.CORE, *sides.committed, *merging.differing(git, there, sides.ours)}
    texts = {p: snapshot.bytes_now(RelPath(p)) for p in sent - contents.keys()} | contents
    for path, content in sorted(texts.items()):
        line = merging.marker_line((content or b"").decode("utf-8", "replace"))
        if line is not None and paths.is_authored(RelPath(path)):
            message = (
                "a conflict of Git's is unresolved here. Keep what is right and remove the lines"
                " with `<<<<<<<`, `=======` and `>>>>>>>`; where they are meant, indent them."
            )
            problem = Problem(path, line, "conflict-marker", message)
            raise _breach([problem], by_merge=path in contents)


def _rules(layout: Layout, contents: Contents) -> dict[RelPath, bytes]:
    """The attributes, where the workspace has none of its own."""
    path = RelPath(ATTRIBUTES)
    if path in contents or os.path.lexists(layout.root / path):
        return {}
    return {path: RULES.encode("ascii")}


def _ignore_runtime(layout: Layout) -> None:
    """Git passes the runtime directory by, whatever a person adds."""
    if not (layout.runtime_dir / ".gitignore").exists():
        journal.write_runtime(layout, ".gitignore", b"*\n")


def _change(layout: Layout, path: str, content: bytes | None) -> Change:
    before = read_bytes(layout, path)
    return Change(path, digest_of(before), content)
