"""Where the clients' programs are, also when a hook runs without the user's PATH.

Looks where installers put them; starts nothing. The environment is given, not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_IN_HOME = (
    ".local/bin",
    ".claude/local",
    ".claude/local/node_modules/.bin",
    ".codex/bin",
    ".npm-global/bin",
    ".npm/bin",
    ".npm-packages/bin",
    ".volta/bin",
    ".bun/bin",
    ".deno/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".nodenv/shims",
    ".local/share/pnpm",
    "Library/pnpm",
    ".yarn/bin",
    ".config/yarn/global/node_modules/.bin",
    ".cargo/bin",
    "n/bin",
    "bin",
)
_NODE_VERSIONS = (
    (".nvm/versions/node", "bin"),
    (".local/share/fnm/node-versions", "installation/bin"),
    (".fnm/node-versions", "installation/bin"),
    ("Library/Application Support/fnm/node-versions", "installation/bin"),
    (".local/share/mise/installs/node", "bin"),
    (".asdf/installs/nodejs", "bin"),
    (".nodenv/versions", "bin"),
)
_ON_SYSTEM = (
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/opt/local/bin",
    "/usr/bin",
    "/snap/bin",
)


def find(name: str, environ: Mapping[str, str], *, named: str | None = None) -> Path | None:
    """The program's path: the named one, else on PATH, else where installers put it."""
    home = Path(environ.get("HOME") or "/nonexistent")
    if named:
        wanted = home / named[2:] if named.startswith("~/") else Path(named)
        if _runs(wanted):
            return wanted.absolute()
        # A bare word is another name for the program, to be looked for in the same places.
        return None if "/" in named else _in(_folders(environ, home), named)
    return _in(_folders(environ, home), name)


def path_for(program: Path, environ: Mapping[str, str]) -> str:
    """A PATH where the program finds its interpreter: npm puts `node` beside what it installs."""
    beside = [str(program.parent), str(program.resolve().parent)]
    given = [part for part in environ.get("PATH", "").split(os.pathsep) if part]
    usual = ["/usr/local/bin", "/usr/bin", "/bin"]
    return os.pathsep.join(dict.fromkeys([*beside, *given, *usual]))


def _in(folders: Iterator[Path], name: str) -> Path | None:
    return next((folder / name for folder in folders if _runs(folder / name)), None)


def _folders(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    for part in environ.get("PATH", "").split(os.pathsep):
        if Path(part).is_absolute():  # a relative part would depend on the session's directory
            yield Path(part)
    for variable, below in (("NPM_CONFIG_PREFIX", "bin"), ("PNPM_HOME", ""), ("NVM_BIN", "")):
        if environ.get(variable):
            yield Path(environ[variable]) / below
    yield from _npm_prefix(home)
    yield from (home / folder for folder in _IN_HOME)
    for versions, below in _NODE_VERSIONS:
        yield from (version / below for version in _newest_first(home / versions))
    yield from (Path(folder) for folder in _ON_SYSTEM)


def _npm_prefix(home: Path) -> Iterator[Path]:
    try:
        text = (home / ".npmrc").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for match in re.finditer(r"^\s*prefix\s*=\s*[\"']?([^\"'\n]+)", text, re.MULTILINE):
        prefix = match[1].strip().replace("${HOME}", str(home))
        yield (home / prefix[2:] if prefix.startswith("~/") else Path(prefix)) / "bin"


def _newest_first(folder: Path) -> list[Path]:
    try:
        versions = list(folder.iterdir())
    except OSError:
        return []
    return sorted(versions, key=_version, reverse=True)


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]{1,6}", folder.name)]


def _runs(program: Path) -> bool:
    try:
        return program.is_file() and os.access(program, os.X_OK)
    except OSError:
        return False
