"""`doctor`'s look at a workspace's repository: whether each update is committed, and what is not.

Asks Git with a short time of its own, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from scriptorium.interface.finding import Finding, broken, note, ok, warning
from scriptorium.workspace import git as committing
from scriptorium.workspace.git_run import Git, GitError
from scriptorium.workspace.workspace import Workspace

if TYPE_CHECKING:
    from scriptorium.interface.config import GitMode

_SECONDS = 5.0


def findings(area: str, workspace: Workspace, mode: GitMode) -> Iterator[Finding]:
    root = workspace.root
    if mode == "off":
        yield note(area, "updates are not committed to Git: git_commit is off")
        return
    git = root / ".git"
    if not git.exists():
        mend = f"git -C {quote(str(root))} init"
        if mode == "on":
            yield broken(area, "git_commit is on, but this is no Git repository of its own", mend)
        else:
            yield note(area, "not under version control", mend)
        return
    asked = Git(root, _SECONDS, ceiling=root.parent)
    try:
        committing.check_place(asked, own_root=True)
    except GitError as error:
        mend = f"git -C {quote(str(root))} status"
        yield warning(area, f"updates are not committed to Git: {error}", mend)
    else:
        yield ok(area, "each update is committed to the workspace's own Git repository")
        yield from _uncommitted(area, workspace, asked)
    if (git / "index.lock").exists():
        mend = f"end what uses it, then rm {quote(str(git / 'index.lock'))}"
        yield warning(area, "Git's index is locked: commits fail", mend)


def _uncommitted(area: str, workspace: Workspace, git: Git) -> Iterator[Finding]:
    """Files of memory that no commit has, such as those from before the repository was made."""
    listed = git.asked("ls-tree", "-r", "-z", "--name-only", "HEAD") or ""
    missing = {info.path for info in workspace.snapshot().files()} - set(listed.split("\0"))
    if missing and listed:
        count = len(missing)
        files = "1 file of memory is" if count == 1 else f"{count} files of memory are"
        mend = f"cd {quote(str(workspace.root))} && git add -f core.md topics sources && git commit"
        yield note(area, f"{files} in no commit yet", mend)
