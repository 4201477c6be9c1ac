"""Two machines, one memory: `sync` merges what the remote has, and sends it what it lacks.

    fetch                without the lock, which other sessions' updates wait for
    under the lock       what is not committed yet becomes a commit; merge, check, rebuild the
                         views: all of it beside the files. Then one commit of the journal, and
                         the branch moves
    push                 without the lock; once more from the start when the remote moved meanwhile

Promises: until the merged memory is known to keep the contract, no file, no index and no branch
changes; a conflict or a breach leaves every byte as it was, and no conflict marker ever reaches a
file. A process killed at any instant leaves the files before or after the merge, and the next sync
completes it. Nothing is asked, no hook of the user's runs, and it ends in time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from scriptorium.errors import ConcurrentUpdate, GitCommitFailed, InvalidArgument, Json
from scriptorium.format.model import RelPath, Revision
from scriptorium.workspace import git as committing
from scriptorium.workspace import landing, merging, rejoining, remote
from scriptorium.workspace.git_run import Git, GitError
from scriptorium.workspace.merge_commit import Sides
from scriptorium.workspace.remote import RejectedError, Remote
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.workspace import Workspace

LIMIT = 60.0
"""Seconds that all Git commands of a sync may take together."""
_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What was done."""

    remote: str
    """`<remote>/<branch>`."""
    committed: tuple[RelPath, ...]
    """The files whose changes were not committed before."""
    received: tuple[RelPath, ...]
    """The files of memory that the remote changed here, views left aside."""
    sent: int
    """Commits that the remote did not have."""
    commit: str
    """Where the branch is now, here and there."""
    revision: Revision


def sync(
    workspace: Workspace,
    name: str | None = None,
    *,
    accept_rewrite: bool = False,
    limit: float = LIMIT,
    environ: Mapping[str, str] = os.environ,
) -> SyncResult:
    """Both sides have the same memory: that of either, merged.

    `name` is the remote; None: the branch's own, else the only one. Where the remote's history was
    rewritten since the last sync, `accept_rewrite` takes it over, with what is new here on top;
    without it, GitCommitFailed tells of it. Raises InvalidArgument where there is no repository or
    remote; ConcurrentUpdate for a conflict, and BrokenContract's
    children for a breach, after which nothing has changed; GitCommitFailed when Git fails, whose
    `memory_committed` tells whether the merge is done.
    """
    if not os.path.lexists(workspace.root / ".git"):
        raise InvalidArgument(
            f"{workspace.root} is not a Git repository of its own. Make it one: `git init`, then"
            " `git remote add origin URL`."
        )
    git = Git(workspace.root, limit, remote.quiet(environ), workspace.root.parent)
    received: set[RelPath] = set()
    committed: set[RelPath] = set()
    for attempt in range(_ATTEMPTS):
        there = _fetched(git, name, environ)
        if there.rewritten and not accept_rewrite:
            raise _rewritten(there)
        done = _merged(workspace, git, there)
        received.update(done.received)
        committed.update(done.committed)
        try:
            sent = _pushed(git, there, done.commit)
        except RejectedError:
            if attempt + 1 < _ATTEMPTS:
                continue
            raise _failed("the remote keeps moving.", merged=True) from None
        return SyncResult(
            str(there.end),
            tuple(sorted(committed)),
            tuple(sorted(received)),
            sent,
            done.commit,
            done.revision,
        )
    raise AssertionError("unreachable")  # the last attempt returns or raises


@dataclass(frozen=True, slots=True)
class _There:
    """The remote as it was found."""

    end: Remote
    commit: str | None
    """Where it is now; None before its first commit."""
    common: str | None
    """What both had after the last sync; None where that is not known."""
    rewritten: bool
    """`common` is in the history here, and no longer in the remote's."""


def _fetched(git: Git, name: str | None, environ: Mapping[str, str]) -> _There:
    """The remote, and the commit it is at."""
    try:
        committing.check_place(git, own_root=True)
        end = remote.find(git, name, environ)
        common = remote.last_synced(git, end)
        commit = remote.fetch(git, end)
        head = git.asked("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if common is None or commit is None or head is None:
            return _There(end, commit, common, rewritten=False)
        here, there = (merging.is_ancestor(git, common, tip) for tip in (head, commit))
    except GitError as error:
        raise _failed(str(error), merged=False) from error
    if there and not here:
        raise _failed(
            f"the history here was rewritten since the last sync, and that of {end} was not. Send"
            f" it: `git push --force {end.name} HEAD:{end.branch}`.",
            merged=False,
        )
    return _There(end, commit, common, rewritten=here and not there)


def _rewritten(there: _There) -> GitCommitFailed:
    return _failed(
        f"the history of {there.end} was rewritten since the last sync, perhaps to forget"
        " something. Take it over, with what is new here on top: `scriptorium sync"
        " --accept-rewrite`.",
        merged=False,
    )


def _pushed(git: Git, there: _There, commit: str) -> int:
    """The remote is at the commit; how many it lacked. Raises RejectedError."""
    try:
        lacked = "0"
        if commit != there.commit:
            known = [f"^{there.commit}"] if there.commit else []
            lacked = git("rev-list", "--count", commit, *known)
            remote.push(git, there.end, commit)
        remote.remember(git, there.end, commit)
    except GitError as error:
        raise _failed(str(error), merged=True) from error
    return int(lacked)


def _failed(reason: str, *, merged: bool) -> GitCommitFailed:
    state = (
        "Memory is merged and committed here, but the remote does not have it yet"
        if merged
        else "Nothing was merged and nothing changed"
    )
    again = "" if "scriptorium sync" in reason else " Then run `scriptorium sync` again."
    return GitCommitFailed(
        f"{state}: {reason}{again}",
        details={"memory_committed": merged, "git_committed": merged, "pushed": False},
    )


def _merged(workspace: Workspace, git: Git, there: _There) -> landing.Landed:
    """The files and the branch are at the merge of both sides."""
    with workspace.tracking() as tracker:
        tracker.doubt_sources()
    with workspace.writing() as snapshot:
        try:
            landing.finish(workspace.layout, git)
            return _merge(workspace, git, snapshot, there)
        except GitError as error:
            raise _failed(str(error), merged=False) from error


def _merge(workspace: Workspace, git: Git, snapshot: Snapshot, there: _There) -> landing.Landed:
    committing.check_place(git, own_root=True)
    head = git.asked("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    ours, committed = _own(git, snapshot, head)
    related = there.commit is None or git.asked("merge-base", ours, there.commit) is not None
    if not related:
        _check_memory(git, there)
    theirs = _grafted(git, there) if there.rewritten else there.commit
    merged = merging.merge(git, ours, theirs)
    if merged.conflicts:
        raise _conflict(merged.conflicts, there.end, edited=ours != head, related=related)
    since = None if there.rewritten else there.common
    merged = rejoining.rejoined(git, merged, ours, theirs, since)
    sides = Sides(head, ours, there.commit, str(there.end), committed, rewritten=there.rewritten)
    return landing.land(workspace, git, snapshot, merged, sides)


def _grafted(git: Git, there: _There) -> str:
    """What the remote has, as a commit on top of what both had before its history was rewritten."""
    assert there.common is not None  # noqa: S101 - nothing else can be missing from a history
    arguments = ("commit-tree", f"{there.commit}^{{tree}}", "-p", there.common, "-m", "Rewritten")
    return git(*arguments, options=committing.missing_identity(git))


def _own(git: Git, snapshot: Snapshot, head: str | None) -> tuple[str, tuple[RelPath, ...]]:
    """A commit of memory as it is on disk, and what it adds to the branch's; the branch stays."""
    known = git.raw("ls-tree", "-r", "-z", "--name-only", head) if head else b""
    tracked = [os.fsdecode(name) for name in known.split(b"\0") if name]
    memory = {RelPath(p) for p in tracked if landing.is_committed(p)}
    memory |= {info.path for info in snapshot.files()}
    identity = committing.missing_identity(git)
    ours = committing.build(git, head, sorted(memory), committing.BY_HAND, identity)
    if ours is None:
        assert head is not None  # noqa: S101 - without a head there is always something to commit
        return head, ()
    changed = memory if head is None else merging.differing(git, head, ours)
    return ours, tuple(sorted(RelPath(p) for p in changed if landing.is_committed(p)))


def _check_memory(git: Git, there: _There) -> None:
    """What the remote has is a memory. Raises GitError."""
    names = git("ls-tree", "--name-only", there.commit or "").splitlines()
    if not {"core.md", "topics"} & set(names):
        raise GitError(
            f"{there.end} holds no memory: {', '.join(map(str, names[:3]))}. Check `git remote -v`."
        )


def _conflict(
    conflicts: Sequence[merging.Conflict], end: Remote, *, edited: bool, related: bool
) -> ConcurrentUpdate:
    shown = "; ".join(f"{c.path} ({c.told})" for c in conflicts[:5])
    more = f"; and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
    first = "`git add -f core.md topics`, `git commit -m Edits`, then " if edited else ""
    unrelated = "" if related else "--allow-unrelated-histories "
    listed: list[Json] = [
        {"path": c.path, "told": c.told, "lines": [list(span) for span in c.lines]}
        for c in conflicts
    ]
    name = PurePosixPath(conflicts[0].path).name
    return ConcurrentUpdate(
        f"Nothing was merged and nothing changed: both sides changed the same lines: {shown}{more}."
        f" Merge by hand in the workspace: {first}`git merge {unrelated}{end}`, keep in {name} what"
        " is right and remove the markers, `git commit -a`; then `scriptorium sync` again.",
        path=conflicts[0].path,
        details={"conflicts": listed, "changed_files": [c.path for c in conflicts]},
    )
