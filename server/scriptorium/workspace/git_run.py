"""Runs Git so that it asks nothing, runs nothing of the user's but filters, and ends in time.

Owns the environment and the options of every Git command here, and the deadline that they share.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_KEPT = {
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
}
"""What is configuration and identity. The rest (GIT_DIR, GIT_INDEX_FILE, …) belongs to whoever
started us, a Git hook perhaps, and would send the commit into another repository."""

_OPTIONS = (
    "commit.gpgsign=false",
    "core.hooksPath=/dev/null",
    "core.editor=true",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "i18n.commitEncoding=UTF-8",
    "maintenance.auto=false",
)
_TERM_WAIT = 1.0
_ABSOLUTE = re.compile(r"(?<![\w.])/[^\s'\":]+")


class GitError(Exception):
    """A Git command failed, could not be started, or did not end; says why and what to do."""


@dataclass(slots=True)
class Git:
    """Git commands in one directory, which all together end `limit` seconds from now at most."""

    directory: Path
    limit: float
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    ceiling: Path | None = None
    """No repository is looked for in this directory or above it."""
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limit

    def __call__(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: Path | None = None,
        options: tuple[str, ...] = (),
    ) -> str:
        """The command's output without the final line end. Raises GitError."""
        status, out, err = self._run(arguments, stdin, index, options)
        if status != 0:
            raise GitError(self._explain(err or f"git {arguments[0]} exited with {status}"))
        return out.decode("utf-8", "surrogateescape").removesuffix("\n")

    def raw(
        self,
        *arguments: str,
        stdin: bytes = b"",
        accepted: tuple[int, ...] = (0,),
        options: tuple[str, ...] = (),
    ) -> bytes:
        """The output as bytes of a command that ends with one of these codes. Raises GitError."""
        status, out, err = self._run(arguments, stdin, None, options)
        if status not in accepted:
            raise GitError(self._explain(err or f"git {arguments[0]} exited with {status}"))
        return out

    def asked(self, *arguments: str) -> str | None:
        """The output of a command whose failure is an answer: None then. Raises GitError."""
        status, out, _ = self._run(arguments, b"", None, ())
        return None if status else out.decode("utf-8", "surrogateescape").removesuffix("\n")

    def _run(
        self, arguments: tuple[str, ...], stdin: bytes, index: Path | None, options: tuple[str, ...]
    ) -> tuple[int, bytes, str]:
        settings = [word for option in (*_OPTIONS, *options) for word in ("-c", option)]
        try:
            process = subprocess.Popen(
                ["git", *settings, *arguments],
                cwd=self.directory,
                env=self._environment(index),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # no terminal to ask on, and one group to kill
            )
        except FileNotFoundError:
            raise GitError("Git is not installed, or not on PATH. Install it.") from None
        except OSError as error:
            raise GitError(f"Git cannot be started: {error.strerror}.") from error
        with process:
            try:
                out, err = process.communicate(stdin or None, timeout=self.left())
            except subprocess.TimeoutExpired:
                _end(process)
                raise GitError(
                    f"`git {arguments[0]}` did not end within {self.limit:g} s and was stopped."
                    " Run `git status` in the workspace to see what holds it up."
                ) from None
        return process.returncode, out, err.decode("utf-8", "replace").strip()

    def left(self) -> float:
        """Seconds until the deadline, 0 when it is over."""
        return max(0.0, self._deadline - time.monotonic())

    def _environment(self, index: Path | None) -> dict[str, str]:
        environment = {
            name: value
            for name, value in self.environ.items()
            if not name.startswith("GIT_") or name in _KEPT
        }
        environment |= {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "C",
        }
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        if self.ceiling is not None:
            environment["GIT_CEILING_DIRECTORIES"] = str(self.ceiling)
        return environment

    def _explain(self, said: str) -> str:
        """What Git said, as advice where we know some, and without paths outside the workspace."""
        if "dubious ownership" in said:
            return (
                "Git refuses the repository because another user owns it. Run"
                " `git config --global --add safe.directory` with the workspace's path."
            )
        if ".lock" in said and "File exists" in said:
            return (
                "a lock file of Git is in the way (index.lock, or a ref's): another Git command is"
                " running, or died. If none is running, delete it."
            )
        if "not a git repository" in said:
            return "the workspace is in no Git repository. Run `git init` in it."
        lines = [line for line in said.splitlines() if not line.startswith("hint:")]
        text = " ".join(lines[:3]).replace(str(self.directory), ".")
        return _ABSOLUTE.sub("…", text)[:500]


def _end(process: subprocess.Popen[bytes]) -> None:
    """The command and its children are gone; Git is given a moment to remove its lock files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TERM_WAIT)
    # A grandchild that left the group may hold the pipes open: do not wait for their end.
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
