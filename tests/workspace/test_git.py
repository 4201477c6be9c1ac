"""An update is committed to Git: exactly its files, and never at the user's expense."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scriptorium.errors import GitCommitFailed
from scriptorium.workspace import git
from scriptorium.workspace.git import GitOutcome


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any configuration, and an environment without any Git in it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Path:
    """A repository with one commit, which is a workspace too."""
    root = tmp_path / "memory"
    root.mkdir()
    run(root, "init", "--quiet", "--initial-branch=main")
    run(root, "config", "user.name", "A Person")
    run(root, "config", "user.email", "person@example.org")
    write(root, "core.md", "first\n")
    run(root, "add", "--all")
    run(root, "commit", "--quiet", "--message=first")
    return root


def run(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def write(root: Path, rel: str, text: str) -> str:
    (root / rel).parent.mkdir(parents=True, exist_ok=True)
    (root / rel).write_text(text, encoding="utf-8")
    return rel


def committed_files(root: Path) -> list[str]:
    return run(root, "show", "--root", "--no-renames", "--name-status", "--format=", "HEAD").split(
        "\n"
    )


def test_a_commit_holds_exactly_the_changed_files(repo: Path) -> None:
    write(repo, "topics/a.md", "a\n")
    write(repo, "core.md", "second\n")
    write(repo, "notes.txt", "not ours\n")
    outcome = git.commit(repo, "auto", ["core.md", "topics/a.md"], "remember")

    assert outcome == GitOutcome(run(repo, "rev-parse", "HEAD"))
    assert committed_files(repo) == ["M\tcore.md", "A\ttopics/a.md"]
    assert run(repo, "status", "--porcelain") == "?? notes.txt"
    assert run(repo, "log", "-1", "--format=%an|%s") == "A Person|remember"


def test_deleted_files_are_committed_and_files_that_never_were_are_no_error(repo: Path) -> None:
    (repo / "core.md").unlink()
    outcome = git.commit(repo, "on", ["core.md", "topics/never.md"], None)
    assert outcome.commit is not None
    assert committed_files(repo) == ["D\tcore.md"]
    assert run(repo, "status", "--porcelain") == ""


def test_files_are_committed_past_the_workspaces_own_ignore_rule(repo: Path) -> None:
    write(repo, ".gitignore", "*\n")
    write(repo, "topics/a.md", "a\n")
    write(repo, "topics/b.md", "b\n")
    assert git.commit(repo, "auto", ["topics/a.md"], "x").commit
    assert committed_files(repo) == ["A\ttopics/a.md"]


def test_names_with_special_characters_are_plain_names(repo: Path) -> None:
    names = [
        write(repo, f"topics/{name}", "x\n") for name in ("*.md", "a b.md", "名前.md", "-x.md")
    ]
    write(repo, "topics/other.md", "x\n")
    assert git.commit(repo, "auto", names, "x").commit
    assert len(committed_files(repo)) == 4


def test_what_the_user_staged_stays_staged_and_is_not_committed(repo: Path) -> None:
    write(repo, "work.txt", "staged\n")
    write(repo, "gone.txt", "x\n")
    run(repo, "add", "work.txt", "gone.txt")
    write(repo, "work.txt", "and edited after\n")
    write(repo, "core.md", "second\n")
    assert git.commit(repo, "auto", ["core.md"], "x").commit
    assert committed_files(repo) == ["M\tcore.md"]
    assert run(repo, "status", "--porcelain") == "A  gone.txt\nAM work.txt"
    assert run(repo, "show", ":work.txt") == "staged"


def test_nothing_is_committed_when_nothing_differs(repo: Path) -> None:
    head = run(repo, "rev-parse", "HEAD")
    outcome = git.commit(repo, "on", ["core.md"], "x")
    assert outcome.commit is None
    assert outcome.reason
    assert run(repo, "rev-parse", "HEAD") == head


def test_off_never_commits(repo: Path) -> None:
    write(repo, "core.md", "second\n")
    assert git.commit(repo, "off", ["core.md"], "x") == GitOutcome()
    assert run(repo, "rev-list", "--count", "HEAD") == "1"


def test_auto_never_commits_into_a_repository_around_the_workspace(repo: Path) -> None:
    inner = repo / "inner"
    write(inner, "core.md", "x\n")
    assert git.commit(inner, "auto", ["core.md"], "x") == GitOutcome()
    (inner / ".git").mkdir()
    broken = git.commit(inner, "auto", ["core.md"], "x")
    assert broken.commit is None
    assert broken.reason
    assert run(repo, "rev-list", "--count", "HEAD") == "1"


def test_on_commits_into_the_repository_around_the_workspace(repo: Path) -> None:
    write(repo, ".gitignore", "inner/\n")
    inner = repo / "inner"
    write(inner, "topics/a.md", "x\n")
    assert git.commit(inner, "on", ["topics/a.md"], "x").commit
    assert committed_files(repo) == ["A\tinner/topics/a.md"]


def test_on_without_a_repository_is_an_error_and_auto_is_not(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "plain"
    write(root, "core.md", "x\n")
    assert git.commit(root, "auto", ["core.md"], "x") == GitOutcome()
    with pytest.raises(GitCommitFailed) as failed:
        git.commit(root, "on", ["core.md"], "x")
    assert failed.value.details == {"memory_committed": True, "git_committed": False}
    assert str(tmp_path) not in failed.value.message


def test_nothing_is_committed_where_no_branch_is_checked_out(repo: Path) -> None:
    run(repo, "checkout", "--quiet", "--detach")
    write(repo, "core.md", "detached\n")
    outcome = git.commit(repo, "auto", ["core.md"], "x")
    assert outcome.commit is None
    assert "git switch" in (outcome.reason or "")
    assert run(repo, "rev-parse", "HEAD") == run(repo, "rev-parse", "main")


def test_a_branchs_first_commit_takes_what_was_there_before_the_repository(repo: Path) -> None:
    run(repo, "checkout", "--quiet", "--orphan", "empty")
    run(repo, "rm", "--quiet", "--cached", "core.md")
    write(repo, "topics/old.md", "old\n")
    every = ["core.md", "topics/old.md"]
    assert git.commit(repo, "auto", ["core.md"], "x", every=lambda: every).commit
    assert run(repo, "rev-list", "--count", "empty") == "1"
    assert run(repo, "ls-tree", "-r", "--name-only", "empty").split("\n") == every
    write(repo, "topics/old.md", "edited\n")
    write(repo, "core.md", "second\n")
    assert git.commit(repo, "auto", ["core.md"], "x", every=lambda: every).commit
    assert committed_files(repo) == ["M\tcore.md"]


def test_an_identity_is_supplied_only_where_none_is_configured(repo: Path) -> None:
    run(repo, "config", "--unset", "user.name")
    run(repo, "config", "--unset", "user.email")
    run(repo, "config", "user.useConfigOnly", "true")
    write(repo, "core.md", "second\n")
    assert git.commit(repo, "auto", ["core.md"], "x").commit
    assert run(repo, "log", "-1", "--format=%an|%ae|%cn") == (
        "Scriptorium|scriptorium@localhost|Scriptorium"
    )


def test_no_hook_no_signing_and_no_editor_is_run(repo: Path) -> None:
    for hook in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
    ):
        write(repo, f".git/hooks/{hook}", f"#!/bin/sh\ntouch {repo}/ran-{hook}\nexit 1\n")
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    for key, value in (
        ("commit.gpgsign", "true"),
        ("gpg.program", "false"),
        ("core.editor", "false"),
        ("core.fsmonitor", f"touch {repo}/ran-fsmonitor; false"),
    ):
        run(repo, "config", key, value)
    write(repo, "core.md", "second\n")
    assert git.commit(repo, "on", ["core.md"], "x").commit
    assert list(repo.glob("ran-*")) == []


def test_variables_of_a_git_that_started_us_do_not_lead_elsewhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    write(repo, "core.md", "second\n")
    found = git.commit(repo, "auto", ["core.md"], "x").commit
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name)
    assert found == run(repo, "rev-parse", "HEAD")
    assert not (other / "index").exists()


def merge(repo: Path) -> None:
    run(repo, "checkout", "--quiet", "-b", "side", "main")
    write(repo, "side.txt", "side\n")
    run(repo, "add", "side.txt")
    run(repo, "commit", "--quiet", "-m", "side")
    run(repo, "checkout", "--quiet", "main")
    run(repo, "merge", "--quiet", "--no-ff", "--no-commit", "side")


def bisect(repo: Path) -> None:
    run(repo, "bisect", "start")


def rebase(repo: Path) -> None:
    (repo / ".git" / "rebase-merge").mkdir()


@pytest.mark.parametrize("begin", [merge, bisect, rebase])
def test_an_operation_in_progress_is_left_alone(repo: Path, begin: Callable[[Path], None]) -> None:
    begin(repo)
    head = run(repo, "rev-parse", "HEAD")
    merging = (repo / ".git" / "MERGE_HEAD").exists()
    write(repo, "core.md", "second\n")

    outcome = git.commit(repo, "auto", ["core.md"], "x")
    assert outcome.commit is None
    assert begin.__name__ in (outcome.reason or "")
    with pytest.raises(GitCommitFailed):
        git.commit(repo, "on", ["core.md"], "x")
    assert run(repo, "rev-parse", "HEAD") == head
    assert (repo / ".git" / "MERGE_HEAD").exists() is merging


def test_an_index_lock_left_behind_fails_before_the_branch_moves(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "LOCK_WAIT", 0.0)
    write(repo, ".git/index.lock", "")
    write(repo, "core.md", "second\n")
    with pytest.raises(GitCommitFailed, match="lock") as failed:
        git.commit(repo, "on", ["core.md"], "x")
    assert str(repo) not in failed.value.message
    assert run(repo, "rev-list", "--count", "HEAD") == "1"
    (repo / ".git" / "index.lock").unlink()
    assert git.commit(repo, "on", ["core.md"], "x").commit


def test_a_linked_worktree_is_the_root_of_a_work_tree(repo: Path, tmp_path: Path) -> None:
    run(repo, "worktree", "add", "--quiet", "-b", "wt", str(tmp_path / "wt"))
    write(tmp_path / "wt", "core.md", "second\n")
    assert git.commit(tmp_path / "wt", "auto", ["core.md"], "x").commit
    assert run(repo, "rev-list", "--count", "wt") == "2"
    assert run(repo, "rev-list", "--count", "main") == "1"


def test_a_branch_that_moves_meanwhile_keeps_both_commits(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repo, "core.md", "ours\n")
    stage = git.stage
    moves = iter([True])

    def move_once(*arguments: object) -> None:
        if next(moves, False):
            run(repo, "commit", "--quiet", "--allow-empty", "-m", "theirs")
        stage(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(git, "stage", move_once)
    assert git.commit(repo, "on", ["core.md"], "ours").commit
    assert run(repo, "log", "--format=%s").split("\n") == ["ours", "theirs", "first"]


def fake_git(tmp_path: Path, script: str) -> dict[str, str]:
    """An environment in which Git is the script."""
    folder = tmp_path / "fake"
    write(folder, "git", f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def test_a_git_that_hangs_is_stopped_with_its_children(repo: Path, tmp_path: Path) -> None:
    environ = fake_git(tmp_path, f"sleep 3600 & echo $! > {tmp_path}/child; wait")
    outcome = git.commit(repo, "auto", ["core.md"], "x", limit=0.3, environ=environ)
    assert outcome.commit is None
    assert outcome.reason
    child = int((tmp_path / "child").read_text(encoding="ascii"))
    assert ends(child)


def ends(pid: int) -> bool:
    """Whether the process is gone, or will be in a moment: the kernel takes its time to kill."""
    patience = time.monotonic() + 10
    while alive(pid) and time.monotonic() < patience:
        os.sched_yield()
    return not alive(pid)


def alive(pid: int) -> bool:
    """Whether the process runs; one that is dead and only waits for its parent does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def test_a_git_that_ignores_being_asked_to_end_is_killed(repo: Path, tmp_path: Path) -> None:
    environ = fake_git(
        tmp_path, f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1; done"
    )
    git.commit(repo, "auto", ["core.md"], "x", limit=0.3, environ=environ)
    pid = int((tmp_path / "pid").read_text(encoding="ascii"))
    try:
        assert ends(pid)
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def test_a_missing_git_is_a_reason_in_auto_and_an_error_in_on(repo: Path, tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path)}
    assert "not installed" in (
        git.commit(repo, "auto", ["core.md"], "x", environ=nowhere).reason or ""
    )
    with pytest.raises(GitCommitFailed):
        git.commit(repo, "on", ["core.md"], "x", environ=nowhere)


def test_a_repository_of_another_owner_gives_the_command_that_helps(
    repo: Path, tmp_path: Path
) -> None:
    said = f"fatal: detected dubious ownership in repository at '{repo}'"
    environ = fake_git(tmp_path, f'echo "{said}" >&2; exit 128')
    reason = git.commit(repo, "auto", ["core.md"], "x", environ=environ).reason or ""
    assert "safe.directory" in reason
    assert str(repo) not in reason


def test_what_git_says_is_passed_on_without_paths_outside_the_workspace(
    repo: Path, tmp_path: Path
) -> None:
    environ = fake_git(
        tmp_path, 'echo "fatal: /home/someone/secret/config: bad line" >&2; exit 128'
    )
    reason = git.commit(repo, "auto", ["core.md"], "x", environ=environ).reason or ""
    assert "bad line" in reason
    assert "someone" not in reason


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("remember\nthe\tthing\r\n", "remember the thing"),
        ("a\x00b\x1b[31mc\u2028d", "a b [31mc d"),
        ("x" * 300, "x" * 200),
        (None, "Update memory"),
        (" \n", "Update memory"),
        ("--amend", "--amend"),
        ("# 記憶", "# 記憶"),
        ("broken \ud800 half", "broken half"),
    ],
)
def test_a_message_is_one_line_of_text(repo: Path, given: str | None, line: str) -> None:
    write(repo, "core.md", "second\n")
    assert git.commit(repo, "on", ["core.md"], given).commit
    assert run(repo, "log", "-1", "--format=%B").strip("\n") == line
