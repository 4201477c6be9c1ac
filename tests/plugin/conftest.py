"""A machine to start the plugin on, with its own home and PATH, and a plugin with a stub server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uv

STUB = '''
"""Tells what it was started as."""
import json, os, sys

def main():
    print(json.dumps({
        "pid": os.getpid(), "arguments": sys.argv[1:], "stdin": sys.stdin.read(),
        "python": sys.executable, "path": sys.path, "root": os.environ["SCRIPTORIUM_PLUGIN_ROOT"],
        "text": "as first written",
    }))
    return 0

if __name__ == "__main__":
    import filelock
    sys.exit(main())
'''
SHELL_TOOLS = (
    "sh",
    "cat",
    "cksum",
    "uname",
    "readlink",
    "id",
    "mkdir",
    "rm",
    "mktemp",
    "setsid",
    "nohup",
)
ABOUT_INDEXES = re.compile(r"PIP_|SSL_|UV_|REQUESTS_CA|CURL_CA|NODE_EXTRA|.*_PROXY$|.*_proxy$")


@dataclass
class Machine:
    home: Path
    path: list[Path]
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def envs(self) -> Path:
        return self.home / ".scriptorium" / "env"

    def environment(self) -> dict[str, str]:
        """What the machine's processes see: nothing of the tests' own, but where indexes are."""
        kept = {k: v for k, v in os.environ.items() if ABOUT_INDEXES.match(k)}
        path = ":".join(map(str, self.path))
        return {**kept, "HOME": str(self.home), "PATH": path, **self.extra}

    def start(
        self, command: Sequence[str | Path], *, cwd: Path | None = None, **streams: int
    ) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | streams
        return subprocess.Popen(command, env=self.environment(), cwd=cwd or self.home, **pipes)

    def run(
        self, command: Sequence[str | Path], stdin: bytes = b"", *, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            input=stdin,
            env=self.environment(),
            cwd=cwd or self.home,
            capture_output=True,
            timeout=120,
            check=False,
        )

    def told(self, launcher: Path, *arguments: str, stdin: bytes = b"") -> Mapping[str, object]:
        """What the stub server that the launcher became says."""
        done = self.run([launcher, *arguments], stdin)
        assert done.returncode == 0, done.stderr.decode()
        answer: Mapping[str, object] = json.loads(done.stdout)
        return answer


@pytest.fixture(scope="session")
def shell_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a POSIX shell script needs, and no Python."""
    return links(tmp_path_factory.mktemp("tools"), SHELL_TOOLS)


def links(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        place = shutil.which(name)
        if place:
            (folder / name).symlink_to(place)
    return folder


@pytest.fixture
def bare_machine(tmp_path: Path, shell_tools: Path, cache: Path) -> Machine:
    """No Python and no uv on PATH; a Python that can run the server where pyenv keeps it."""
    home = tmp_path / "home"
    hidden = home / ".pyenv" / "versions" / "3.x"
    hidden.parent.mkdir(parents=True)
    hidden.symlink_to(sys.base_prefix)
    downloads = {"PIP_CACHE_DIR": str(cache / "pip"), "UV_CACHE_DIR": str(cache / "uv")}
    return Machine(home, [shell_tools], downloads)


@pytest.fixture
def machine(bare_machine: Machine, uv_folder: Path) -> Machine:
    """The same with uv on PATH, which is quicker."""
    bare_machine.path.append(uv_folder)
    return bare_machine


@pytest.fixture(scope="session")
def older_python() -> Path | None:
    """A Python that may bootstrap but not run the server."""
    for name in ("python3.11", "python3.10", "python3.9", "python3.8"):
        for folder in ("/usr/bin", "/usr/local/bin"):
            if Path(folder, name).exists():
                return Path(folder, name)
    return None


@pytest.fixture(scope="session")
def uv_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tests' own uv and nothing else."""
    folder = tmp_path_factory.mktemp("uv")
    places = (parent / "bin" / "uv" for parent in Path(uv.__file__).parents)
    (folder / "uv").symlink_to(next(place for place in places if place.exists()))
    return folder


@pytest.fixture
def plugin(tmp_path: Path, root: Path) -> Path:
    """A small plugin: the real launcher, one pinned package, a stub instead of the server."""
    return make_plugin(root, tmp_path / "plugin")


def make_plugin(root: Path, target: Path) -> Path:
    for folder in ("bin", "hooks", "server/bootstrap"):
        shutil.copytree(root / folder, target / folder)
    pinned = (root / "requirements.lock").read_text(encoding="utf-8")
    one = re.search(r"^filelock==.*?(?=^\S)", pinned, re.MULTILINE | re.DOTALL)
    assert one is not None
    write(target / "requirements.lock", one[0])
    shutil.copy(root / "requirements-uv.lock", target)
    write(target / "protocol" / "session-start.md", "Search memory before you answer.\n")
    write(target / "server" / "scriptorium" / "__init__.py", "")
    write(target / "server" / "scriptorium" / "interface" / "__init__.py", "")
    write(target / "server" / "scriptorium" / "interface" / "cli.py", STUB)
    return target


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
