"""A memory in a temporary folder, called as a client calls it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scriptorium.errors import Json
from scriptorium.interface import calling
from scriptorium.interface.call import Call
from scriptorium.interface.envelope import Answer
from scriptorium.interface.memory import Memory
from scriptorium.workspace.layers import LayerSpec, open_layers
from scriptorium.workspace.workspace import Workspace

NOW = datetime(2026, 8, 9, 12, 0, tzinfo=UTC)
MOVE: dict[str, Json] = {
    "label": "new-source-move",
    "role": "user",
    "content": "I have moved to Pudong.",
    "observed_at": "2026-08-03T10:30:00+08:00",
}


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory, and shorthands for calling its tools."""

    memory: Memory

    def call(self, tool: str, /, **arguments: object) -> Answer:
        return calling.call(tool, arguments, lambda: Call(self.memory, "claude-code", NOW))

    def ok(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The data of a call that must succeed."""
        answer = self.call(tool, **arguments)
        assert answer.ok, answer.text()
        return dict(answer.data)

    def refused(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The error of a call that must fail."""
        answer = self.call(tool, **arguments)
        assert not answer.ok, answer.text()
        return dict(answer.error)

    @property
    def revision(self) -> str:
        return str(self.call("memory_status").payload["revision"])

    def update(self, patch: str, *sources: dict[str, Json], **more: object) -> dict[str, Any]:
        return self.ok(
            "memory_update",
            base_revision=self.revision,
            patch=patch,
            sources=list(sources),
            **more,
        )

    @property
    def root(self) -> Path:
        return self.memory.workspace(self.memory.layers.default).root


def creation(path: str, text: str) -> str:
    """A patch that creates a file."""
    lines = text.splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{added}"


def topic(name: str, fact: str, source: str = "new-source-move", time: str = "2026-08-03") -> str:
    """A topic of one block under a heading."""
    return (
        f"# {name.title()}\n\n## Facts\n\n{fact}[^new-evidence-{name}] ^new-block-{name}\n\n"
        f"[^new-evidence-{name}]: Time: `{time}`; Sources: {source}\n"
    )


def digest(root: Path) -> str:
    """A digest over every file of memory: name, bytes, time; the runtime's folder left out."""
    sums = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.relative_to(root).parts[0] == ".scriptorium":
            continue
        sums.update(f"{path.relative_to(root)}\0{path.lstat().st_mtime_ns}\0".encode())
        sums.update(path.read_bytes() if path.is_file() else b"")
    return sums.hexdigest()


type Layered = Callable[..., Remembered]


@pytest.fixture
def layered(tmp_path: Path) -> Layered:
    """Makes a memory of named layers below the temporary folder."""

    def make(*names: str) -> Remembered:
        specs = [LayerSpec(name, str(tmp_path / name)) for name in names]
        layers = open_layers(specs, Workspace.open, cwd=tmp_path)
        return Remembered(Memory(layers))

    return make


@pytest.fixture
def remembered(tmp_path: Path) -> Remembered:
    """An empty memory of one workspace."""
    specs = [LayerSpec(None, str(tmp_path / "memory"))]
    return Remembered(Memory(open_layers(specs, Workspace.open, cwd=tmp_path)))


@pytest.fixture
def residence(remembered: Remembered) -> Remembered:
    """A memory of one topic, `topics/personal/residence.md`, with one block."""
    patch = creation(
        "topics/personal/residence.md", topic("residence", "The user moved to Pudong.")
    )
    remembered.update(patch, MOVE)
    return remembered


@pytest.fixture
def program() -> list[str]:
    """The command line's program."""
    return [sys.executable, "-m", "scriptorium.interface.cli"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own and this checkout's package."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Remembered:
    """A memory of one topic that a whole module reads; no test may change it."""
    root = tmp_path_factory.mktemp("shared") / "memory"
    memory = Memory(open_layers([LayerSpec(None, str(root))], Workspace.open, cwd=root.parent))
    remembered = Remembered(memory)
    text = topic("residence", "The user moved to Pudong.")
    remembered.update(creation("topics/personal/residence.md", text), MOVE)
    return remembered
