"""`scriptorium demo`: the whole loop, in a throw-away workspace, over a real stdio server.

Promises that every answer shown is the server's own, that the exit code is 1 as soon as one is
not as it should be, and that nothing but a temporary folder is written.
"""

# ruff: noqa: PLC0415  the client library takes half a second to load

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scriptorium import __version__
from scriptorium.errors import InternalError, Json
from scriptorium.interface.envelope import mapping, records, sequence
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings
from scriptorium.interface.terminal import Style, Terminal, plain

if TYPE_CHECKING:
    from mcp import Client

_TOPIC = "topics/personal/residence.md"
_WORDS = "I have moved to Pudong. The office is close by now, I walk there."
_PATCH = f"""\
--- /dev/null
+++ b/{_TOPIC}
@@ -0,0 +1,7 @@
+# Residence
+
+## Where the user lives
+
+The user moved to Pudong and walks to the office.[^new-evidence-move] ^new-block-residence
+
+[^new-evidence-move]: Time: `2026-08-03`; Sources: new-source-move
"""


_WIDTH = min(92, shutil.get_terminal_size((96, 24)).columns - 4)
"""Columns of a line of an answer, which stands behind four of the margin."""


class _UnexpectedError(InternalError):
    """An answer was not what the demo is there to show."""


def demo(arguments: Arguments, around: Surroundings) -> int:
    import anyio

    folder = Path(tempfile.mkdtemp(prefix="scriptorium-demo-"))
    try:
        anyio.run(_Demo(around, folder / "memory").run)
    except Exception as error:  # noqa: BLE001  a newcomer is told what failed, whatever it is
        around.out.line(around.out.paint(f"✗ {_reason(error)}", "red"))
        return 1
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    out = around.out
    out.line()
    if arguments.keep:
        out.line(f"The workspace is kept in {folder / 'memory'}.")
    out.line(out.paint("✓ Everything worked.", "green", "bold") + " Your own memory:")
    out.line("  claude plugin marketplace add Fzkuji/Scriptorium")
    out.line("  claude plugin install scriptorium@scriptorium")
    return 0


@dataclass(frozen=True, slots=True)
class _Demo:
    around: Surroundings
    root: Path

    @property
    def out(self) -> Terminal:
        return self.around.out

    async def run(self) -> None:
        self.out.heading("Scriptorium: a memory of Markdown files, served over MCP")
        self.out.line(self.out.paint("$ scriptorium mcp --workspace memory", "dim"))
        async with _client(self.around, self.root) as client:
            start = await self._status(client)
            block = await self._update(client, start)
            await self._search(client)
            await self._read(client, block)
            await self._refused(client, start)
        self._tree()
        self._markdown()

    async def _status(self, client: Client) -> str:
        self._calls("memory_status", "what is there, and at which revision?")
        answer = await self._ask(client, "memory_status", {})
        data = mapping(answer["data"])
        self._says(
            f"{data['topic_files']} topics, {data['blocks']} blocks, {data['sources']} sources"
        )
        self._says(f"revision {answer['revision']}")
        return str(answer["revision"])

    async def _update(self, client: Client, revision: str) -> str:
        self._calls("memory_update", "remember it, with the words it rests on")
        self._given("source", f"user, 2026-08-03: “{_WORDS}”")
        for line in _PATCH.splitlines():
            style: Style = "green" if line.startswith("+") else "dim"
            self.out.line("    " + self.out.paint(line, style))
        answer = await self._ask(client, "memory_update", _update(revision))
        data = mapping(answer["data"])
        for kind in ("block_ids", "evidence_ids", "source_ids"):
            for name, stable in mapping(data[kind]).items():
                self._says(f"{name} → {stable}")
        for path in sequence(data["changed_files"]):
            self._says(f"wrote {path}")
        return str(mapping(data["block_ids"])["new-block-residence"])

    async def _search(self, client: Client) -> None:
        self._calls("memory_search", "another session, another day: where does the user live?")
        self._given("query", "user lives")
        answer = await self._ask(client, "memory_search", {"query": "user lives", "top_k": 3})
        results = records(mapping(answer["data"])["results"])
        if not results or results[0]["path"] != _TOPIC:
            raise _UnexpectedError("the search did not find the block")
        for hit in results:
            mark = f"^{hit['block_id']}" if "block_id" in hit else str(hit["source_id"])
            self._says(f"{hit['rank']}. {hit['path']} {mark}")
            self._says(f"   {_first(str(hit['content']))}")

    async def _read(self, client: Client, block: str) -> None:
        self._calls("memory_read", "and how do we know?")
        self._given("block_id", block)
        given = {"path": _TOPIC, "block_id": block}
        answer = await self._ask(client, "memory_read", given)
        for evidence in records(mapping(answer["data"])["evidence"]):
            for source in records(evidence["sources"]):
                if source.get("content") != _WORDS:
                    raise _UnexpectedError("the block does not show the words it rests on")
                self._says(f"{evidence['id']}, held {evidence['time']}: the {source['role']} said")
                self._says(f"   “{source['content']}”")

    async def _refused(self, client: Client, stale: str) -> None:
        self._calls("memory_update", "a second session still works from the first revision")
        answer = await self._ask(client, "memory_update", _update(stale), error="CONCURRENT_UPDATE")
        error = mapping(answer["error"])
        self._says(f"{error['code']}: {error['message']}")

    async def _ask(
        self, client: Client, tool: str, given: Mapping[str, Json], error: str | None = None
    ) -> Mapping[str, Json]:
        result = await client.call_tool(tool, dict(given))
        text = getattr(result.content[0], "text", "")
        answer: Mapping[str, Json] = json.loads(text)
        code = None if answer["ok"] else str(mapping(answer["error"])["code"])
        if code != error:
            raise _UnexpectedError(f"{tool}: expected {error or 'an answer'}, got {text[:500]}")
        return answer

    def _calls(self, tool: str, why: str) -> None:
        self.out.line()
        self.out.line(
            f"{self.out.paint('▸ ' + tool, 'bold', 'cyan')}  {self.out.paint(why, 'dim')}"
        )

    def _given(self, name: str, value: str) -> None:
        self.out.line(f"    {self.out.paint(name + ':', 'dim')} {value}")

    def _says(self, text: str) -> None:
        """A line of the answer, wrapped as a person reads it."""
        for part in textwrap.wrap(plain(text), _WIDTH) or [""]:
            self.out.line(f"  {self.out.paint('│', 'dim')} {part}")

    def _tree(self) -> None:
        self.out.line()
        self.out.heading("The files it left")
        self.out.line("  memory/")
        _print_tree(self.root, "  ", self.out)

    def _markdown(self) -> None:
        self.out.line()
        self.out.heading(_TOPIC)
        for line in (self.root / _TOPIC).read_text(encoding="utf-8").splitlines():
            styles: tuple[Style, ...] = ("bold",) if line.startswith("#") else ()
            styles = ("dim",) if line.startswith("[^") else styles
            self.out.line("  " + self.out.paint(line, *styles))


@asynccontextmanager
async def _client(around: Surroundings, root: Path) -> AsyncIterator[Client]:
    """A client of a server process whose HOME is empty, so that no settings of the user apply."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp_types import Implementation

    isolated = ["-I"] if sys.flags.isolated else []
    server = StdioServerParameters(
        command=sys.executable,
        args=[*isolated, "-m", "scriptorium.interface.cli", "mcp", "--workspace", str(root)],
        env={**around.environ, "HOME": str(root.parent)},
    )
    name = Implementation(name="demo", version=__version__)
    async with Client(stdio_client(server), mode="legacy", client_info=name) as client:
        yield client


def _reason(error: BaseException) -> str:
    """The first cause: the client wraps what happens while it is open, level by level."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error.message if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"


def _update(revision: str) -> dict[str, Json]:
    source: dict[str, Json] = {
        "label": "new-source-move",
        "role": "user",
        "content": _WORDS,
        "observed_at": "2026-08-03T10:30:00+08:00",
    }
    return {
        "base_revision": revision,
        "sources": [source],
        "patch": _PATCH,
        "commit_message": "Record the move to Pudong",
    }


def _print_tree(folder: Path, indent: str, out: Terminal) -> None:
    shown = [entry for entry in sorted(folder.iterdir()) if entry.name != ".gitignore"]
    for entry in shown:
        last = entry == shown[-1]
        name = entry.name + ("/" if entry.is_dir() else "")
        hidden = entry.name.startswith(".")
        note = out.paint("  the runtime's own: lock, journal, caches", "dim") if hidden else ""
        out.line(f"{indent}{'└── ' if last else '├── '}{out.paint(name, 'cyan')}{note}")
        if entry.is_dir() and not hidden:
            _print_tree(entry, indent + ("    " if last else "│   "), out)


def _first(text: str) -> str:
    return plain(text).strip().splitlines()[0][:120] if text.strip() else ""
