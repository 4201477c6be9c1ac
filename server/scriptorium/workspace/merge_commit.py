"""The commit of a merge: Git's merged tree set right, and what it stands on.

Writes objects only: no file, index or branch. The views and sources that Git merged by lines are
replaced by those that were made here, and no runtime file is ever in a tree.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scriptorium.format.model import RelPath
from scriptorium.workspace import git as committing
from scriptorium.workspace import merging
from scriptorium.workspace.git_run import Git
from scriptorium.workspace.merging import FILE, Blob, Merged


@dataclass(frozen=True, slots=True)
class Sides:
    """The commits that a merge stands on."""

    head: str | None
    """Where the branch is; None before its first commit."""
    ours: str
    """`head` and what was not committed yet."""
    theirs: str | None
    remote: str
    committed: tuple[RelPath, ...]
    """The files in which `ours` differs from `head`."""
    rewritten: bool = False
    """`theirs` replaces what `ours` stands on, and has what is new in it on top."""


def commit(git: Git, merged: Merged, made: Mapping[str, bytes | None], sides: Sides) -> str:
    """The commit of the merge; an older one where that has the same tree."""
    tree = _tree(git, merged, made)
    parents, message = _parents(git, sides)
    if sides.head is None and sides.theirs and _has_tree(git, sides.theirs, tree):
        return sides.theirs  # a new machine that brings nothing of its own
    if len(parents) == 1 and _has_tree(git, parents[0], tree):
        return parents[0]
    return git(
        "commit-tree",
        tree,
        *(word for parent in parents for word in ("-p", parent)),
        "-F",
        "-",
        stdin=f"{message}\n".encode(),
        options=committing.missing_identity(git),
    )


def _parents(git: Git, sides: Sides) -> tuple[list[str], str]:
    """What the merge's commit stands on, and its message."""
    ours, theirs = sides.ours, sides.theirs
    if theirs is not None and sides.rewritten:
        return [theirs], "Keep what was new here"
    if theirs is not None and merging.is_ancestor(git, ours, theirs):
        return [theirs], "Rebuild views"
    if theirs is not None and not merging.is_ancestor(git, theirs, ours):
        return [ours, theirs], f"Merge memory from {sides.remote}"
    if ours == sides.head:
        return [ours], "Rebuild views"
    return ([sides.head] if sides.head else []), committing.BY_HAND


def _has_tree(git: Git, commit: str, tree: str) -> bool:
    return git("rev-parse", f"{commit}^{{tree}}") == tree


def _tree(git: Git, merged: Merged, made: Mapping[str, bytes | None]) -> str:
    """Git's merged tree with our views, sources and attributes in it, and no runtime file."""
    entries = dict(merged.views)
    for path, content in made.items():
        entries[path] = None
        if content is not None:
            entries[path] = Blob(FILE, git("hash-object", "-w", "--stdin", stdin=content))
    listed = git.raw("ls-tree", "-r", "-z", "--name-only", merged.tree)
    for name in filter(None, listed.split(b"\0")):
        if merging.is_runtime(os.fsdecode(name)):
            entries[os.fsdecode(name)] = None
    with tempfile.TemporaryDirectory(prefix="scriptorium-git-") as directory:
        index = Path(directory) / "index"
        git("read-tree", merged.tree, index=index)
        lines = b"".join(_entry(path, blob) for path, blob in entries.items())
        if lines:
            git("update-index", "-z", "--index-info", stdin=lines, index=index)
        return git("write-tree", index=index)


def _entry(path: str, blob: Blob | None) -> bytes:
    """What tells `update-index --index-info` of the file; without a blob, that it is gone."""
    head = f"{blob.mode} {blob.id}" if blob else f"0 {'0' * 40}"
    return head.encode("ascii") + b"\t" + os.fsencode(path) + b"\0"
