"""The other end of a sync: which remote and branch, what is there, and sending a commit to it.

Promises that nothing is asked on a terminal or in a window: where a password or a host's key is
missing, the command fails and says so. Knows nothing of memory.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from scriptorium.errors import InvalidArgument
from scriptorium.workspace import git as committing
from scriptorium.workspace.git_run import Git, GitError

_MOVED = ("[rejected]", "lock", "incorrect old value", "failed to update ref")
"""What tells the slower of two that push at once: the reference is locked, or not as it was."""
_ASKS = frozenset({"SSH_ASKPASS", "GIT_ASKPASS"})


class RejectedError(Exception):
    """The remote has commits that the one that was sent does not build on."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A branch of a remote, and the options with which it is reached."""

    name: str
    branch: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}/{self.branch}"

    @property
    def tracking(self) -> str:
        return f"refs/remotes/{self.name}/{self.branch}"

    @property
    def synced(self) -> str:
        """The reference, here alone, that keeps what both had after the last sync."""
        return f"refs/scriptorium/{self.name}/{self.branch}"


def quiet(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which no credential program opens a window."""
    kept = {name: value for name, value in environ.items() if name not in _ASKS}
    return kept | {"SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}


def find(git: Git, asked: str | None, environ: Mapping[str, str]) -> Remote:
    """The remote to sync with: the one asked for, else the branch's own, else the only one.

    Raises InvalidArgument where there is none, GitError with no branch checked out.
    """
    local = git.asked("symbolic-ref", "--quiet", "--short", "HEAD")
    if local is None:
        raise GitError(committing.DETACHED)
    own = git.asked("config", f"branch.{local}.remote")
    name = asked or own or _only(git)
    if name not in (git.asked("remote") or "").splitlines():
        raise InvalidArgument(
            f"There is no remote {name!r}. Name one: `git remote add {name} URL` in the workspace."
        )
    merge = git.asked("config", f"branch.{local}.merge") if name == own else None
    branch = (merge or local).removeprefix("refs/heads/")
    return Remote(name, branch, ("core.askPass=true", f"core.sshCommand={_ssh(git, environ)}"))


def last_synced(git: Git, remote: Remote) -> str | None:
    """The commit that both had when they last met, as far as it is known here."""
    for reference in (remote.synced, remote.tracking):
        commit = git.asked("rev-parse", "--quiet", "--verify", f"{reference}^{{commit}}")
        if commit is not None:
            return commit
    return None


def remember(git: Git, remote: Remote, commit: str) -> None:
    """The commit is what both have now. Raises GitError."""
    git("update-ref", remote.synced, commit)


def fetch(git: Git, remote: Remote) -> str | None:
    """The commit that the remote's branch is at now; None for an empty remote. Raises GitError."""
    git(
        "fetch",
        "--quiet",
        "--no-tags",
        "--prune",
        "--no-recurse-submodules",
        remote.name,
        f"+refs/heads/*:refs/remotes/{remote.name}/*",
        options=remote.options,
    )
    there = git.asked("rev-parse", "--quiet", "--verify", f"{remote.tracking}^{{commit}}")
    others = _branches(git, remote)
    if there is None and others:
        raise GitError(
            f"{remote.name} has no branch {remote.branch}, but {', '.join(others[:3])}: memory that"
            f" lies on two branches never meets. Use that one: {_renaming(git, others)}."
        )
    return there


def push(git: Git, remote: Remote, commit: str) -> None:
    """The remote's branch is at the commit. Raises RejectedError, and GitError for all else."""
    said = git.raw(
        "push",
        "--porcelain",
        "--no-signed",
        "--no-follow-tags",
        "--recurse-submodules=no",
        remote.name,
        f"{commit}:refs/heads/{remote.branch}",
        accepted=(0, 1),
        options=remote.options,
    ).decode("utf-8", "replace")
    refused = [line for line in said.splitlines() if line.startswith("!")]
    if "Done" in said.splitlines() and not refused:
        return
    reason = (refused or ["no answer"])[0].split("\t")[-1]
    if any(sign in reason for sign in _MOVED):
        raise RejectedError(reason)
    more = " Sync through a bare repository." if "checked out" in reason else ""
    raise GitError(f"{remote.name} refused the commit: {reason}.{more}")


def _only(git: Git) -> str:
    names = (git.asked("remote") or "").split()
    if len(names) > 1 and "origin" not in names:
        raise InvalidArgument(f"Which remote? `--remote` one of {', '.join(names)}.")
    return names[0] if len(names) == 1 else "origin"


def _ssh(git: Git, environ: Mapping[str, str]) -> str:
    """The user's own ssh, told to ask nothing; a command that is no ssh is left as it is."""
    own = environ.get("GIT_SSH_COMMAND") or git.asked("config", "core.sshCommand") or "ssh"
    try:
        program = PurePosixPath(shlex.split(own)[0]).name
    except (ValueError, IndexError):
        return own
    return f"{own} -o BatchMode=yes -o ConnectTimeout=15" if program == "ssh" else own


def _renaming(git: Git, branches: list[str]) -> str:
    """The commands that make the branch here one of the remote's."""
    wanted = "main" if "main" in branches else branches[0]
    local = git("symbolic-ref", "--short", "HEAD")
    steps = [] if local == wanted else [f"`git branch -m {wanted}`"]
    if git.asked("config", f"branch.{local}.merge") is not None:
        steps.append("`git branch --unset-upstream`")
    return ", then ".join(steps)


def _branches(git: Git, remote: Remote) -> list[str]:
    prefix = f"refs/remotes/{remote.name}/"
    names = git("for-each-ref", "--format=%(refname)", prefix).splitlines()
    return sorted(n.removeprefix(prefix) for n in names if n != f"{prefix}HEAD")
