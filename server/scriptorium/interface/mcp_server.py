"""The six tools over the Model Context Protocol, on stdin and stdout.

Owns the protocol's shapes: definitions, annotations, results, the client's name and project.
Promises that stdout carries nothing but the protocol, that `initialize` is answered before any
memory is touched, that SIGINT and SIGTERM end the process at once, and that what was asked before
the end of input is done and answered. Tools are synchronous and run in worker threads, many at
once.
"""

from __future__ import annotations

import functools
import re
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as Definition

from scriptorium import __version__
from scriptorium.interface import requests, tools
from scriptorium.interface.envelope import Answer

if TYPE_CHECKING:
    from scriptorium.interface.memory import Memory

CODEX_PROJECT = "codex/sandbox-state-meta"
"""The capability by which Codex names its project in the `_meta` of each call."""

type Context = ServerRequestContext[dict[str, Any]]
type Opener = Callable[[Path | None], Memory]
"""Opens the memory for a project's folder, or None where the client names none."""


@dataclass(slots=True)
class Serving:
    """The memories that one server process has open: one, or one a project that Codex names."""

    opener: Opener
    clock: Callable[[], datetime]
    _memories: dict[Path | None, Memory] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def memory(self, project: Path | None) -> Memory:
        with self._guard:
            if project not in self._memories:
                self._memories[project] = self.opener(project)
            memory = self._memories[project]
            memory.layers = memory.layers.again()
            return memory

    def answer(
        self, tool: str, given: Mapping[str, object], *, provider: str, project: Path | None
    ) -> Answer:
        """The tool's answer; whatever a call needs is loaded with the first one."""
        from scriptorium.interface import calling  # noqa: PLC0415
        from scriptorium.interface.call import Call  # noqa: PLC0415

        def context() -> Call:
            return Call(self.memory(project), provider, self.clock())

        return calling.call(tool, given, context)


def build(serving: Serving, instructions: str) -> Server[dict[str, Any]]:
    """The server, to be run over any transport."""
    definitions = [_definition(tool) for tool in tools.TOOLS.values()]

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=definitions)

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        run = functools.partial(
            serving.answer,
            params.name,
            params.arguments or {},
            provider=provider(context),
            project=project(context),
        )
        return _result(await anyio.to_thread.run_sync(run))

    return Server(
        "scriptorium",
        version=__version__,
        title="Scriptorium memory",
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(opener: Opener, instructions: str) -> None:
    """Serves stdin and stdout until the end of input."""
    serving = Serving(opener, lambda: datetime.now(UTC))
    with suppress(BrokenPipeError):  # the client is gone, and nobody is left to be told
        anyio.run(_serve, build(serving, instructions))


async def _serve(server: Server[dict[str, Any]]) -> None:
    # The event loop's own SIGINT handler would wait for the next line of input.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = server.create_initialization_options(experimental_capabilities={CODEX_PROJECT: {}})
    async with stdio_server() as (read, write):
        await server.run(*requests.streams(read, write), options)


def provider(context: Context) -> str:
    """The client's name as sources record it: `claude-code` for Claude Code and for no name."""
    params = context.session.client_params
    return provider_name(params.client_info.name if params else "")


def provider_name(client: str) -> str:
    """A client's name as one safe part of a source id: `[a-z0-9._-]`, at most 64 characters."""
    name = re.sub(r"[^a-z0-9._-]+", "-", client.lower()).strip("-.")[:64].rstrip("-.")
    return name or "claude-code"


def project(context: Context) -> Path | None:
    """The folder that Codex names in the call's `_meta`, if it is an absolute local one."""
    state = dict(context.meta or {}).get(CODEX_PROJECT)
    address = state.get("sandboxCwd") if isinstance(state, Mapping) else None
    if not isinstance(address, str) or "\0" in unquote(address):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    path = Path(unquote(parts.path))
    return path if parts.scheme == "file" and path.is_absolute() else None


def _definition(tool: tools.Tool) -> Definition:
    if tool.writes:
        # Nothing is lost for good: sources stay, facts are added beside the old ones.
        hints = ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=False,
            open_world_hint=False,
        )
    else:
        hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return Definition(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.schema),
        annotations=hints,
    )


def _result(answer: Answer) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text())],
        structured_content=dict(answer.payload),
        is_error=not answer.ok,
    )
