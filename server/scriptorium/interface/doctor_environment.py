"""`doctor`'s look at the installation: launcher, Python, dependencies. Changes nothing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from shlex import quote

from scriptorium import __version__
from scriptorium.interface.client_files import PLUGIN, installed_plugin
from scriptorium.interface.finding import Finding, broken, note, ok, warning
from scriptorium.interface.surroundings import Surroundings

_AREA = "environment"
_DEPENDENCIES = (
    "mcp",
    "PyYAML",
    "patch-ng",
    "rank-bm25",
    "filelock",
    "httpx",
    "snowballstemmer",
)


def findings(around: Surroundings) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield ok(_AREA, f"scriptorium {__version__} on Python {version} ({sys.executable})")
    yield from _dependencies()
    yield from _launcher(around)
    if shutil.which("git", path=around.environ.get("PATH")) is None:
        mend = "install git, or set git_commit: off"
        yield note(_AREA, "git is not on PATH: memory is kept, but not versioned", mend)


def _dependencies() -> Iterator[Finding]:
    versions = []
    for name in _DEPENDENCIES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            mend = f"{sys.executable} -m pip install {name}"
            yield broken(_AREA, f"the package {name} is missing", mend)
    yield ok(_AREA, ", ".join(versions))


def _launcher(around: Surroundings) -> Iterator[Finding]:
    folder = environments(around)
    error = folder / "last-error.txt"
    if error.exists():
        reason = error.read_text(encoding="utf-8", errors="replace").splitlines()[:1]
        mend = f"mend the cause, then start a session, or rm {quote(str(error))}"
        why = " ".join(reason)
        yield warning(_AREA, f"the launcher could not make its environment last time: {why}", mend)
    yield from _unfinished(folder)
    root = around.environ.get("SCRIPTORIUM_PLUGIN_ROOT")
    if root is not None:
        yield ok(_AREA, f"started by the plugin's launcher in {root}; environments in {folder}")
    else:
        yield note(_AREA, "started without the plugin's launcher")
    plugin = Path(root) if root is not None else installed_plugin(around)
    if plugin is not None:
        yield from _hooks(plugin)


def _unfinished(folder: Path) -> Iterator[Finding]:
    """Environments that the launcher's index names, and that are not whole: it makes them anew."""
    for entry in sorted((folder / "start").glob("*")):
        named = entry.read_text(encoding="utf-8", errors="replace").strip()
        place = folder / named
        if named and not named.startswith("/") and not _whole(place):
            mend = f"rm {quote(str(entry))}, then start a session: it is made anew"
            yield warning(_AREA, f"the environment {place} is not whole", mend)


def _whole(environment: Path) -> bool:
    deps = environment / "deps"
    here = (environment / ".ready").is_file() and (environment / "bin" / "python").exists()
    return here and (deps.exists() or not deps.is_symlink())


def _hooks(root: Path) -> Iterator[Finding]:
    if not (root / "hooks" / "hooks.json").is_file():
        mend = f"claude plugin uninstall {PLUGIN} && claude plugin install {PLUGIN}"
        yield broken(_AREA, f"{root} registers no hooks", mend)
    for name in ("session-start", "stop"):
        script = root / "hooks" / name
        if not os.access(script, os.X_OK):
            yield broken(
                _AREA, f"the hook {script} cannot be run", f"chmod +x {quote(str(script))}"
            )


def environments(around: Surroundings) -> Path:
    """Where the launcher keeps its environments."""
    named = around.environ.get("SCRIPTORIUM_ENV_DIR")
    return Path(named).expanduser() if named else around.home / ".scriptorium" / "env"
