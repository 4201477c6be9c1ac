"""Memory servers side by side: how each is fetched and started, and how it does the same work.

`ALL` names them. Peers are fetched by their own package clients, at a pinned version, into a cache
folder outside the repository, and answer offline afterwards. Work is done only through the tools
that a server lists, in the way its own description says: facts of one subject go into one topic
(Scriptorium), one note (smriti-mcp) or one entity (server-memory).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, override

from mcp import Client, StdioServerParameters

TIMEOUT = 300
"""Seconds that fetching a peer may take."""
PATCH = """\
--- a/{path}
+++ b/{path}
@@ -{line},1 +{line},5 @@
 {last}
+
+{text}[^new-evidence-1] ^new-block-1
+
+[^new-evidence-1]: Time: `2026-05-03`; Sources: new-source-1
"""

type Topics = Mapping[str, Sequence[str]]
"""The facts of each topic, by its path in the generated workspace."""


class Unavailable(Exception):
    """A peer that cannot be used here, and why."""


class Server(Protocol):
    name: str
    version: str

    def fetch(self, cache: Path) -> None:
        """The server is installed below `cache`. Raises Unavailable."""

    def parameters(self, cache: Path, place: Path) -> StdioServerParameters:
        """How it is started over `place`, which holds a generated workspace in `workspace`."""

    async def fill(self, client: Client, topics: Topics) -> None:
        """It holds the facts."""

    async def add(self, client: Client, path: str, text: str) -> None:
        """One more fact of a topic that exists is kept."""

    async def read(self, client: Client, path: str) -> str:
        """Everything of one topic."""

    async def search(self, client: Client, query: str) -> str:
        """The answer to a search, as a model gets it."""


class Scriptorium(Server):
    """This checkout; its workspace is generated, not filled."""

    name = "Scriptorium"

    def __init__(self) -> None:
        from scriptorium import __version__  # noqa: PLC0415 - not needed to fetch the others

        self.version = __version__
        self._root = Path()
        self._revision = ""

    @override
    def fetch(self, cache: Path) -> None:
        """Nothing is to be fetched."""

    @override
    def parameters(self, cache: Path, place: Path) -> StdioServerParameters:
        self._root, self._revision = place / "workspace", ""
        arguments = ["mcp", "--workspace", str(self._root), "--git-commit", "off"]
        module = ["-m", "scriptorium.interface.cli", *arguments]
        environ = _environ(place)
        if "PYTHONPATH" in os.environ:
            environ["PYTHONPATH"] = os.environ["PYTHONPATH"]
        return StdioServerParameters(command=sys.executable, args=module, env=environ)

    @override
    async def fill(self, client: Client, topics: Topics) -> None:
        self._revision = str(json.loads(await call(client, "memory_status"))["revision"])

    @override
    async def add(self, client: Client, path: str, text: str) -> None:
        lines = (self._root / path).read_text(encoding="utf-8").splitlines()
        patch = PATCH.format(path=path, line=len(lines), last=lines[-1], text=text)
        source = {"label": "new-source-1", "role": "user", "content": text}
        answer = await call(
            client, "memory_update", base_revision=self._revision, patch=patch, sources=[source]
        )
        self._revision = str(json.loads(answer)["revision"])

    @override
    async def read(self, client: Client, path: str) -> str:
        return await call(client, "memory_read", path=path)

    @override
    async def search(self, client: Client, query: str) -> str:
        return await call(client, "memory_search", query=query)


class ServerMemory(Server):
    """The knowledge graph in one JSON Lines file, of the protocol's reference servers."""

    name = "@modelcontextprotocol/server-memory"
    version = "2026.8.31"

    @override
    def fetch(self, cache: Path) -> None:
        folder = self._folder(cache)
        if not self._program(cache).exists():
            _run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder),
                 f"{self.name}@{self.version}")  # fmt: skip

    @override
    def parameters(self, cache: Path, place: Path) -> StdioServerParameters:
        environ = {**_environ(place), "MEMORY_FILE_PATH": str(place / "memory.jsonl")}
        program = str(self._program(cache))
        return StdioServerParameters(command="node", args=[program], env=environ)

    @override
    async def fill(self, client: Client, topics: Topics) -> None:
        entities = [
            {"name": name, "entityType": "topic", "observations": list(facts)}
            for name, facts in topics.items()
        ]
        for start in range(0, len(entities), 250):
            await call(client, "create_entities", entities=entities[start : start + 250])

    @override
    async def add(self, client: Client, path: str, text: str) -> None:
        given = [{"entityName": path, "contents": [text]}]
        await call(client, "add_observations", observations=given)

    @override
    async def read(self, client: Client, path: str) -> str:
        return await call(client, "open_nodes", names=[path])

    @override
    async def search(self, client: Client, query: str) -> str:
        return await call(client, "search_nodes", query=query)

    def _folder(self, cache: Path) -> Path:
        return cache / f"server-memory-{self.version}"

    def _program(self, cache: Path) -> Path:
        return self._folder(cache) / "node_modules" / self.name / "dist" / "index.js"


class Smriti(Server):
    """Markdown notes with front matter, one file each."""

    name = "smriti-mcp"
    version = "0.1.5"

    @override
    def fetch(self, cache: Path) -> None:
        if self._program(cache).exists():
            return
        folder = self._folder(cache)
        _run(sys.executable, "-m", "venv", str(folder))
        _run(str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet",
             f"{self.name}=={self.version}")  # fmt: skip

    @override
    def parameters(self, cache: Path, place: Path) -> StdioServerParameters:
        arguments = ["server", "--memory-root", str(place / "notes")]
        program = str(self._program(cache))
        return StdioServerParameters(command=program, args=arguments, env=_environ(place))

    @override
    async def fill(self, client: Client, topics: Topics) -> None:
        for path, facts in topics.items():
            category, title = _note(path)
            meta = {"title": title, "category": category}
            await call(client, "create_memory", meta=meta, content="\n\n".join(facts))

    @override
    async def add(self, client: Client, path: str, text: str) -> None:
        await call(client, "append_memory", id="/".join(_note(path)), content=text)

    @override
    async def read(self, client: Client, path: str) -> str:
        return await call(client, "get_memory", id="/".join(_note(path)))

    @override
    async def search(self, client: Client, query: str) -> str:
        return await call(client, "search_memory", query=query)

    def _folder(self, cache: Path) -> Path:
        return cache / f"smriti-mcp-{self.version}"

    def _program(self, cache: Path) -> Path:
        return self._folder(cache) / "bin" / "smriti-mcp"


def everyone() -> list[Server]:
    """Ours first."""
    return [Scriptorium(), ServerMemory(), Smriti()]


async def call(client: Client, tool: str, **arguments: object) -> str:
    """The text of the tool's answer. Raises RuntimeError for an error."""
    answer = await client.call_tool(tool, arguments)
    text = "".join(getattr(part, "text", "") for part in answer.content)
    if answer.is_error:
        raise RuntimeError(f"{tool}: {text[:300]}")
    return text


def _note(path: str) -> tuple[str, str]:
    """The category and the title of the note for a topic; the server makes its id of both."""
    _, category, name = path.split("/")
    return category, name.removesuffix(".md")


def _environ(place: Path) -> dict[str, str]:
    """A home of its own, and nothing else of this process."""
    return {"HOME": str(place), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def _run(*command: str) -> None:
    if shutil.which(command[0]) is None:
        raise Unavailable(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Unavailable(f"could not be fetched: {last[:120]}")
