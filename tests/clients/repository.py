"""This checkout as a repository at its public address, without the network: Git's `insteadOf`."""

from __future__ import annotations

import subprocess
from pathlib import Path

PUBLIC = ("https://github.com/", "git@github.com:", "ssh://git@github.com/")
VERSIONED = (
    ".claude-plugin/plugin.json",
    ".claude-plugin/marketplace.json",
    ".codex-plugin/plugin.json",
    "marketplace.json",
    "server/scriptorium/__init__.py",
)
WHO = ["-c", "user.name=a", "-c", "user.email=a@example.org"]


class Repository:
    """A bare repository, reached as Fzkuji/Scriptorium, and a work tree to publish from."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.work = folder / "work"
        self._bare = folder / "public" / "Fzkuji" / "Scriptorium.git"
        self.config = folder / "gitconfig"
        addresses = "".join(f"\tinsteadOf = {public}\n" for public in PUBLIC)
        self.config.write_text(f'[url "file://{folder}/public/"]\n{addresses}')
        for name in _files(checkout):
            copy = self.work / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((checkout / name).read_bytes())
            copy.chmod((checkout / name).stat().st_mode)
        _git("init", "-q", "--bare", "-b", "main", str(self._bare))
        _git("init", "-q", "-b", "main", str(self.work))
        self.publish("First")

    def publish(self, message: str) -> None:
        _git("-C", str(self.work), "add", "-A", "-f")
        _git("-C", str(self.work), *WHO, "commit", "-q", "-m", message)
        _git("-C", str(self.work), "push", "-q", str(self._bare), "HEAD:main")

    def raise_version(self, old: str, new: str) -> None:
        for name in VERSIONED:
            file = self.work / name
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(f'"{old}"', f'"{new}"'), encoding="utf-8")
        self.publish(f"Version {new}")


def _files(checkout: Path) -> list[str]:
    listed = _git("-C", str(checkout), "ls-files", "-z", "-co", "--exclude-standard")
    return [name for name in listed.split("\0") if name and (checkout / name).is_file()]


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True
    ).stdout
