"""The real clients, from npm, in an empty home each time; the plugin's environment made once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.clients import leftovers, scenarios
from tests.clients.repository import Repository

HERE = Path(__file__).resolve().parent
ABOUT_INDEXES = ("PIP_", "SSL_", "UV_", "REQUESTS_CA", "CURL_CA", "NODE_EXTRA")


def pytest_configure(config: pytest.Config) -> None:
    scenarios.configure(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.clients)


@pytest.fixture(scope="session")
def node_modules(cache: Path, real_home: Path) -> Path:
    """What package-lock.json pins, in a cache folder of its own, fetched when it is missing."""
    lock = (HERE / "package-lock.json").read_bytes()
    folder = cache / f"clients-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / ".ready").exists():
            _fetch(folder, real_home)
            (folder / ".ready").touch()
    return folder / "node_modules"


def _fetch(folder: Path, real_home: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("NOT TESTED WITH THE REAL CLIENTS: npm, which brings them, is not on PATH")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder,
        env={**os.environ, "HOME": str(real_home)},
        stdin=subprocess.DEVNULL,
        check=True,
    )


def _platform() -> str:
    system = {"linux": "linux", "darwin": "darwin"}[sys.platform]
    return f"{system}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"


@pytest.fixture(scope="session")
def claude_binary(node_modules: Path) -> Path:
    return node_modules / "@anthropic-ai" / f"claude-code-{_platform()}" / "claude"


@pytest.fixture(scope="session")
def codex_binary(node_modules: Path) -> Path:
    package = node_modules / "@openai" / f"codex-{_platform()}"
    return next(path for path in package.glob("vendor/*/**/codex") if path.is_file())


@pytest.fixture(scope="session")
def environments(root: Path, cache: Path, real_home: Path) -> Path:
    """Where the launcher keeps its environments in these tests, with the one of this checkout."""
    folder = cache / "client-environments"
    subprocess.run(
        [root / "bin" / "scriptorium", "--version"],
        env={**os.environ, "HOME": str(real_home), "SCRIPTORIUM_ENV_DIR": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    return folder


@pytest.fixture
def base_environment(environments: Path, tmp_path: Path) -> dict[str, str]:
    """What `env -i` and a user would give a client: a home, a PATH, and our environments."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {k: v for k, v in os.environ.items() if k.startswith(ABOUT_INDEXES)}
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "SCRIPTORIUM_ENV_DIR": str(environments),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


@pytest.fixture
def codex_environment(base_environment: dict[str, str], cache: Path) -> Iterator[dict[str, str]]:
    """As above, with a home outside the temporary folder: below it Codex makes no helpers."""
    home = Path(tempfile.mkdtemp(prefix="codex-home-", dir=cache))
    yield {**base_environment, "HOME": str(home)}
    leftovers.end(home)
    shutil.rmtree(home)


@pytest.fixture
def nothing_bootstrapped(cache: Path, tmp_path: Path) -> dict[str, str]:
    """No environment; only what a package index sends may have been kept from an earlier run."""
    return {
        "SCRIPTORIUM_ENV_DIR": str(tmp_path / "environments"),
        "PIP_CACHE_DIR": str(cache / "pip"),
        "UV_CACHE_DIR": str(cache / "uv"),
    }


@pytest.fixture
def repository(root: Path, tmp_path: Path, base_environment: dict[str, str]) -> Repository:
    made = Repository(root, tmp_path)
    base_environment["GIT_CONFIG_GLOBAL"] = str(made.config)
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True, stdin=subprocess.DEVNULL)
    return folder


@pytest.fixture
def scriptorium(root: Path, base_environment: dict[str, str]) -> Iterator[Callable[..., str]]:
    """Runs the command line as the user of the home would; what it printed."""

    def run(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [root / "bin" / "scriptorium", *arguments],
            env=base_environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    yield run
