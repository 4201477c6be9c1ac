"""Commits an update to Git: exactly its files, beside whatever else the user is doing there.

The commit is built in an index of its own and put on the branch only if that did not move
meanwhile. The user's index gets the new state of these files just before, so that a process
killed in between leaves them staged, never their reversal. A merge, rebase, cherry-pick, revert
or bisect in progress is left alone: committing there would end it, or land on a commit that is
not kept.
"""

from __future__ import annotations

import os
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scriptorium.errors import GitCommitFailed
from scriptorium.workspace.git_run import Git, GitError

type Mode = Literal["auto", "on", "off"]

LIMIT = 28.0
"""Seconds that all Git commands of a commit may take; with the time to stop one, 30 at most."""
MESSAGE_LENGTH = 200
_DEFAULT_MESSAGE = "Update memory"
BY_HAND = "Edit memory by hand"
DETACHED = (
    "no branch is checked out, and a commit would belong to none. Run `git switch` with your"
    " branch's name; commits made meanwhile come along with `git merge` and the name that `git"
    " switch` tells."
)
_ATTEMPTS = 3
LOCK_WAIT = 1.0
_IN_PROGRESS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "BISECT_LOG": "bisect",
}


@dataclass(frozen=True, slots=True)
class GitOutcome:
    """What became of a commit. Both None: none is wanted here (off, or not a repository's root)."""

    commit: str | None = None
    """The new commit's id."""
    reason: str | None = None
    """Why there is none although one was wanted: a sentence for a person."""


def commit(
    root: Path,
    mode: Mode,
    paths: Sequence[str],
    message: str | None,
    *,
    limit: float = LIMIT,
    environ: Mapping[str, str] = os.environ,
    every: Callable[[], Iterable[str]] = tuple,
) -> GitOutcome:
    """The files, as they are on disk now (or deleted), are committed, and nothing else is.

    `paths` are relative to `root`; a branch's first commit takes the files of `every` too, which
    were there before the repository was. In mode `auto` only a workspace that is itself the top of
    a work tree is committed, and a failure is a reason in the outcome; in mode `on` a larger
    repository around it will do, and a failure raises GitCommitFailed. `environ` is what Git
    inherits: the search path and HOME, and of its own variables only configuration and identity.
    """
    if mode == "off" or not paths or (mode == "auto" and not os.path.lexists(root / ".git")):
        return GitOutcome()
    git = Git(root, limit, environ, root.parent if mode == "auto" else None)
    try:
        check_place(git, own_root=mode == "auto")
        return _commit(git, paths, one_line(message), every)
    except GitError as error:
        if mode == "on":
            raise GitCommitFailed(
                f"Memory is saved, but not committed to Git: {error}",
                details={"memory_committed": True, "git_committed": False},
            ) from error
        return GitOutcome(reason=str(error))


def one_line(message: str | None) -> str:
    """The message as one line of text: no control characters, 200 characters at most."""
    spaced = "".join(
        " " if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") else character
        for character in message or ""
    )
    return " ".join(spaced.split())[:MESSAGE_LENGTH].rstrip() or _DEFAULT_MESSAGE


def check_place(git: Git, *, own_root: bool) -> None:
    """The directory is in a work tree (`own_root`: its top) with a branch, and nothing is in
    progress there. Raises GitError.
    """
    inside, prefix, directory = git(
        "rev-parse", "--is-inside-work-tree", "--show-prefix", "--absolute-git-dir"
    ).split("\n")
    if inside != "true" or (own_root and prefix):
        raise GitError("the workspace's `.git` is not a repository with a work tree here.")
    for name, operation in _IN_PROGRESS.items():
        if (Path(directory) / name).exists():
            raise GitError(
                f"a {operation} is in progress in the repository. Finish or abort it;"
                " the changed files are in the work tree."
            )
    if not (Path(directory) / "HEAD").read_bytes().startswith(b"ref: "):
        raise GitError(DETACHED)


def _commit(
    git: Git, paths: Sequence[str], message: str, every: Callable[[], Iterable[str]]
) -> GitOutcome:
    identity = missing_identity(git)
    for attempt in range(_ATTEMPTS):
        head = git.asked("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if head is None:
            paths = sorted({*paths, *every()})
        new = build(git, head, paths, message, identity)
        if new is None:
            return GitOutcome(reason="the files are already committed as they are.")
        stage(git, paths)
        try:
            git("update-ref", "-m", f"commit: {message}", "HEAD", new, head or "")
        except GitError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return GitOutcome(new)
    raise GitError("the branch keeps moving.")


def build(
    git: Git, head: str | None, paths: Sequence[str], message: str, identity: tuple[str, ...]
) -> str | None:
    """A commit on top of `head` that differs in the paths only; None if they do not differ."""
    with tempfile.TemporaryDirectory(prefix="scriptorium-git-") as directory:
        index = Path(directory) / "index"
        git("read-tree", head or "--empty", index=index)
        update_index(git, paths, index)
        tree = git("write-tree", index=index)
    if head is not None and tree == git("rev-parse", f"{head}^{{tree}}"):
        return None
    parents = () if head is None else ("-p", head)
    return git(
        "commit-tree", tree, *parents, "-F", "-", stdin=f"{message}\n".encode(), options=identity
    )


def stage(git: Git, paths: Sequence[str]) -> None:
    """The user's index holds the files as they are; another Git command is waited for briefly."""
    end = time.monotonic() + LOCK_WAIT
    while True:
        try:
            update_index(git, paths, None)
        except GitError as error:
            if "lock file" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def update_index(git: Git, paths: Sequence[str], index: Path | None) -> None:
    """The paths in the index are as on disk: plumbing, to which ignore rules do not apply."""
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    git("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=names, index=index)


def missing_identity(git: Git) -> tuple[str, ...]:
    """Options that name us as the author in what the user's configuration leaves open."""
    known = git.asked("config", "--name-only", "--get-regexp", r"^user\.(name|email)$") or ""
    ours = {"user.name": "Scriptorium", "user.email": "scriptorium@localhost"}
    return tuple(f"{key}={value}" for key, value in ours.items() if key not in known.split())
