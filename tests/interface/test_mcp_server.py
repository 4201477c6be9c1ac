"""The tools as an MCP client meets them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest

from scriptorium.capture import prompts
from scriptorium.interface import mcp_server
from scriptorium.interface.mcp_server import Serving
from scriptorium.interface.memory import Memory

from .conftest import MOVE, Remembered, creation, topic

type Talk = Callable[[mcp.Client], Awaitable[None]]


def _talk(remembered: Remembered, talk: Talk, mode: str = "legacy") -> None:
    serving = Serving(lambda _: remembered.memory, lambda: datetime.now(UTC))
    server = mcp_server.build(serving, prompts.protocol("instructions"))

    async def run() -> None:
        async with mcp.Client(server, mode=mode) as client:
            await talk(client)

    anyio.run(run)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_six_tools_are_listed_with_their_annotations(remembered: Remembered, mode: str) -> None:
    async def talk(client: mcp.Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [
            "memory_status",
            "memory_list",
            "memory_read",
            "memory_grep",
            "memory_search",
            "memory_update",
        ]
        for tool in listed:
            hints = tool.annotations
            assert hints is not None
            assert hints.open_world_hint is False
            assert hints.read_only_hint is (tool.name != "memory_update")
        assert listed[-1].annotations is not None
        assert listed[-1].annotations.destructive_hint is False

    _talk(remembered, talk, mode)


def test_the_definitions_together_stay_under_nine_kilobytes(remembered: Remembered) -> None:
    async def talk(client: mcp.Client) -> None:
        listed = (await client.list_tools()).tools
        whole = [
            {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
            for t in listed
        ]
        assert len(json.dumps(whole, ensure_ascii=False).encode()) < 9 * 1024
        assert all(len(tool.description or "") <= 4096 for tool in listed)

    _talk(remembered, talk)


def test_every_schema_is_a_flat_object(remembered: Remembered) -> None:
    async def talk(client: mcp.Client) -> None:
        for tool in (await client.list_tools()).tools:
            schema = tool.input_schema
            assert schema["type"] == "object"
            assert schema["additionalProperties"] is False
            assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & set(
                json.dumps(schema).split('"')
            )

    _talk(remembered, talk)


def test_the_instructions_fit_and_name_every_tool_and_argument(remembered: Remembered) -> None:
    async def talk(client: mcp.Client) -> None:
        instructions = client.instructions or ""
        assert len(instructions) <= 4096
        for tool in (await client.list_tools()).tools:
            assert tool.name in instructions
            for argument in tool.input_schema["properties"]:
                assert argument in instructions, (tool.name, argument)

    _talk(remembered, talk)


def test_an_answer_is_the_same_as_text_and_as_structure(remembered: Remembered) -> None:
    async def talk(client: mcp.Client) -> None:
        result = await client.call_tool("memory_status", {})
        assert json.loads(result.content[0].text) == result.structured_content
        assert result.structured_content["ok"] is True
        assert result.is_error is False

    _talk(remembered, talk)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_status", {"verbose": True}),
        ("memory_list", {"limit": "3"}),
        ("memory_read", {}),
        ("memory_search", {"query": "x", "top_k": 51}),
        ("memory_forget", {}),
        ("memory_update", {"base_revision": "x", "patch": "y", "sources": '[{"label": "a"}]'}),
    ],
)
def test_a_bad_call_is_flagged_and_has_our_envelope(
    remembered: Remembered, tool: str, arguments: dict[str, Any]
) -> None:
    async def talk(client: mcp.Client) -> None:
        result = await client.call_tool(tool, arguments)
        assert result.is_error is True
        assert json.loads(result.content[0].text)["error"]["code"] == "INVALID_ARGUMENT"

    _talk(remembered, talk)


def test_a_lone_surrogate_in_memory_does_not_end_the_server(remembered: Remembered) -> None:
    (remembered.root / "core.md").write_bytes(b"# \xed\xa0\x80 core\n")

    async def talk(client: mcp.Client) -> None:
        await client.call_tool("memory_read", {"path": "core.md"})
        assert (await client.call_tool("memory_list", {})).is_error is False

    _talk(remembered, talk)


def test_an_unforeseen_exception_tells_no_path_and_is_logged(
    remembered: Remembered, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Memory, __: object) -> None:
        raise OSError(5, "Input/output error", "/home/secret/place")

    monkeypatch.setattr(Memory, "reading", fail)

    async def talk(client: mcp.Client) -> None:
        result = await client.call_tool("memory_list", {})
        error = json.loads(result.content[0].text)["error"]
        assert error["code"] == "INTERNAL_ERROR"
        assert "/home/secret" not in error["message"]
        assert str(remembered.root) not in error["message"]

    _talk(remembered, talk)
    log = remembered.root / ".scriptorium" / "server.log"
    log.write_bytes(b"x" * (2 << 20))
    _talk(remembered, talk)
    assert log.stat().st_size < 100_000, "a log begins anew when it has grown too long"
    assert "/home/secret/place" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("client", "provider"),
    [
        ("claude-code", "claude-code"),
        ("Claude Code", "claude-code"),
        ("codex-mcp-client", "codex-mcp-client"),
        ("", "claude-code"),
        ("../../etc", "etc"),
        ("浦东", "claude-code"),
        ("a" * 500, "a" * 64),
        ("A/B\0C", "a-b-c"),
    ],
)
def test_the_client_s_name_becomes_a_safe_provider(client: str, provider: str) -> None:
    assert mcp_server.provider_name(client) == provider


def test_sources_carry_the_client_s_name(remembered: Remembered) -> None:
    async def talk(client: mcp.Client) -> None:
        result = await client.call_tool(
            "memory_update",
            {
                "base_revision": remembered.revision,
                "patch": creation("topics/a.md", topic("a", "A fact.")),
                "sources": [MOVE],
            },
        )
        ids = result.structured_content["data"]["source_ids"]
        assert ids["new-source-move"].startswith(f"{mcp_server.provider_name('mcp')}/")

    _talk(remembered, talk)


class _Told:
    """A stand-in for a call's context: only its `_meta`."""

    def __init__(self, meta: object) -> None:
        self.meta = meta


@pytest.mark.parametrize(
    ("meta", "project"),
    [
        (None, None),
        ({}, None),
        ({mcp_server.CODEX_PROJECT: {"sandboxCwd": "file:///home/me/a%20b"}}, Path("/home/me/a b")),
        ({mcp_server.CODEX_PROJECT: {"sandboxCwd": "/home/me"}}, None),
        ({mcp_server.CODEX_PROJECT: {"sandboxCwd": "https://x/home"}}, None),
        ({mcp_server.CODEX_PROJECT: {"sandboxCwd": "file:relative"}}, None),
        ({mcp_server.CODEX_PROJECT: {"sandboxCwd": "file:///a%00b"}}, None),
        ({mcp_server.CODEX_PROJECT: {"sandboxCwd": 3}}, None),
        ({mcp_server.CODEX_PROJECT: "x"}, None),
        ({mcp_server.CODEX_PROJECT: {"sandboxCwd": "file://[x"}}, None),
    ],
)
def test_the_project_is_the_one_that_codex_names(meta: object, project: Path | None) -> None:
    assert mcp_server.project(_Told(meta)) == project  # type: ignore[arg-type]


def test_each_project_has_a_memory_of_its_own_and_keeps_it(remembered: Remembered) -> None:
    opened: list[Path | None] = []

    def opener(project: Path | None) -> Memory:
        opened.append(project)
        return remembered.memory

    serving = Serving(opener, lambda: datetime.now(UTC))
    for project in (None, Path("/a"), Path("/b"), Path("/a"), None):
        serving.memory(project)
    assert opened == [None, Path("/a"), Path("/b")]
