"""The steps of a build: running a command, small files that are whole or not there, and the stamp.

Python 3.8, standard library only.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

# A user's own defaults about *where* to install do not hold here; their indexes and proxies do.
NOT_PASSED_ON = {
    "VIRTUAL_ENV", "CONDA_PREFIX", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV",
    "PIP_CONSTRAINT", "UV_PYTHON", "UV_CONSTRAINT", "UV_PROJECT_ENVIRONMENT",
}  # fmt: skip

LONGEST = 300
"""Characters of what a program said that a line for the user repeats."""


class BuildError(Exception):
    """The environment cannot be made; the text is one line for the user."""


def run(command: Sequence[str]) -> str:
    """What the command printed (the build log has it too). Raises BuildError, its last words."""
    environment = {"UV_SYSTEM_CERTS": "1"}  # as pip does; uv's own bundle knows no proxy's root
    environment.update((k, v) for k, v in os.environ.items() if k not in NOT_PASSED_ON)
    print("+", *command, flush=True)
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{command[0]}: {error.strerror}") from error
    output = done.stdout.decode("utf-8", "replace")
    print(output, flush=True)
    if done.returncode:
        raise BuildError(f"{Path(command[0]).name} failed: {last_words(output)}")
    return output


def download(command: Sequence[str]) -> str:
    """`run`, of a command that asks a package index."""
    try:
        return run(command)
    except BuildError as error:
        raise BuildError(f"{error}; is the package index reachable?") from error


def last_words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "× ", "caused by"))]
    return (errors or lines or ["it said nothing"])[-1][:LONGEST]


def works(command: Sequence[str]) -> bool:
    try:
        return subprocess.call(command, stdout=subprocess.DEVNULL, timeout=30) == 0
    except (OSError, subprocess.SubprocessError):
        return False


def read(path: Path) -> str:
    """The text, stripped; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def is_ready(folder: Path) -> bool:
    return (folder / ".ready").exists()


def mark_ready(folder: Path, text: str = "") -> None:
    """The last step of a build: what stands before it is whole."""
    write(folder / ".ready", text)
