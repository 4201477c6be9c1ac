"""Which Python the server runs on, and uv where there is one or has to be one.

Promises: no interpreter is believed before it ran; one that the pinned wheels were made for is
preferred to a newer one. Python 3.8, standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from steps import BuildError, download, is_ready, mark_ready, run, works

OLDEST = (3, 12)
NEWEST_WITH_WHEELS = (3, 14)
PROBE = """
import json, os, platform, sys
parts = (platform.python_implementation(), sys.version.split()[0], platform.machine())
print(json.dumps([sys.version_info[:2], "-".join(parts), os.path.realpath(sys.executable)]))
"""
PIP = (
    "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-compile",
    "--no-deps", "--require-hashes", "--only-binary", ":all:",
)  # fmt: skip


class Interpreter(NamedTuple):
    version: tuple[int, ...]
    identity: str
    """Implementation, full version and machine: what an environment was made for."""
    path: str


class Uv:
    """The user's own uv, else ours in DIR/uv, installed from the package index when needed."""

    def __init__(self, root: Path, envs: Path) -> None:
        self._lock = root / "requirements-uv.lock"
        self._folder = envs / "uv"
        self.found = _installed_uv()

    def path(self) -> str:
        """Raises BuildError where there is none and none can be had."""
        return self.found or self._ours()

    def _ours(self) -> str:
        uv = str(self._folder / "bin" / "uv")
        if not (is_ready(self._folder) and works([uv, "--version"])):
            shutil.rmtree(self._folder, ignore_errors=True)
            try:
                self._install()
            except BuildError as error:
                raise BuildError(f"uv cannot be installed: {error}") from error
            mark_ready(self._folder)
        self.found = uv
        return uv

    def _install(self) -> None:
        python, where = sys.executable, ["--target", str(self._folder)]
        if not works([python, "-I", "-c", "import pip"]):
            run([python, "-I", "-m", "venv", str(self._folder)])
            python, where = str(self._folder / "bin" / "python"), []
        download([python, *PIP, *where, "-r", str(self._lock)])


def find(uv: Uv) -> Interpreter:
    """The one to use: uv's choice where the user has uv, else what is there, else what uv gets."""
    if uv.found:
        with contextlib.suppress(BuildError):
            return _by_uv(uv.found)
    newer = None
    for candidate in _candidates():
        interpreter = _probe(candidate)
        if interpreter and OLDEST <= interpreter.version <= NEWEST_WITH_WHEELS:
            return interpreter
        if interpreter and interpreter.version > NEWEST_WITH_WHEELS:
            newer = newer or interpreter
    if newer:
        return newer
    try:
        download([uv.path(), "python", "install", "{}.{}".format(*OLDEST)])
        return _by_uv(uv.path())
    except BuildError as error:
        raise BuildError(
            f"found no Python 3.12 or newer (install one), and could not get one: {error}"
        ) from error


def _by_uv(uv: str) -> Interpreter:
    wanted = ">={}.{},<={}.{}.999".format(*OLDEST, *NEWEST_WITH_WHEELS)
    answer = run([uv, "python", "find", "--system", "--no-project", wanted])
    interpreter = _probe(answer.strip().split("\n")[-1])
    if interpreter is None:
        raise BuildError("uv found a Python that does not run")
    return interpreter


def _candidates() -> list[str]:
    """The places that python.sh, which says in which order, knows."""
    script = Path(__file__).resolve().parent / "python.sh"
    command = ["/bin/sh", "-c", '. "$0"; python_places', str(script)]
    places = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    return [os.fsdecode(line) for line in places.splitlines() if line]


def _probe(python: str) -> Interpreter | None:
    """Run it: a shim or a broken link may stand where a Python seems to be."""
    command = [python, "-I", "-c", PROBE]
    try:
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=30).stdout
        version, identity, path = json.loads(answer)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(tuple(version), identity, path)


def _installed_uv() -> str | None:
    home = os.path.expanduser("~")  # noqa: PTH111  Path.home() may raise
    places = [f"{home}/.local/bin/uv", f"{home}/.cargo/bin/uv", "/opt/homebrew/bin/uv"]
    for uv in [shutil.which("uv"), *places]:
        if uv and works([uv, "--version"]):
            return uv
    return None
