"""The server with the official client libraries, in every protocol version they speak."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp_types import (
    ClientCapabilities,
    Implementation,
    InitializedNotification,
    InitializeRequest,
    InitializeRequestParams,
    InitializeResult,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from tests.clients.claude_code import TOOLS
from tests.clients.residence import PATCH, SOURCE

type Json = Mapping[str, Any]

UPDATE = {"base_revision": "$revision", "patch": PATCH, "sources": [SOURCE]}
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("memory_status", {}),
    ("memory_update", UPDATE),
    ("memory_search", {"query": "where does the user live"}),
    ("memory_read", {"path": "topics/nowhere.md"}),
]
# What the TypeScript libraries list; a test below holds this list against theirs.
TYPESCRIPT = {
    "sdk": ("2024-10-07", *HANDSHAKE_PROTOCOL_VERSIONS),
    "client": ("2024-10-07", *HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS),
}
ANSWERED_WITH = {"2024-10-07": HANDSHAKE_PROTOCOL_VERSIONS[-1]}
"""A version that the server does not speak is answered with its newest, for the client to take."""


@pytest.fixture
def server(root: Path, base_environment: dict[str, str], tmp_path: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=str(root / "bin" / "scriptorium"),
        args=["mcp", "--workspace", str(tmp_path / "memory")],
        env=base_environment,
    )


def check(names: list[str], answers: list[Json], memory: Path, provider: str) -> None:
    """The six tools are listed; a write and a search succeed; a refusal is flagged as one."""
    assert sorted(names) == TOOLS
    assert [bool(answer.get("isError")) for answer in answers] == [False, False, False, True]
    for answer in answers:
        (content,) = answer["content"]
        assert json.loads(content["text"]) == answer["structuredContent"]
    _, update, search, refusal = (answer["structuredContent"] for answer in answers)
    block = update["data"]["block_ids"]["new-block-home"]
    assert search["data"]["results"][0]["block_id"] == block
    assert refusal["error"]["code"] == "INVALID_ARGUMENT"
    assert f"^{block}" in (memory / "topics/personal/residence.md").read_text(encoding="utf-8")
    assert update["data"]["source_ids"]["new-source-move"].startswith(f"{provider}/")


# --- Python


async def talk(client: Client | ClientSession) -> tuple[list[str], list[Json]]:
    names = [tool.name for tool in (await client.list_tools()).tools]
    answers: list[Json] = []
    for name, arguments in STEPS:
        given = dict(arguments)
        if given.get("base_revision"):
            given["base_revision"] = answers[-1]["structuredContent"]["revision"]
        result = await client.call_tool(name, given)
        answers.append(result.model_dump(mode="json", by_alias=True, exclude_none=True))
    return names, answers


async def shake_hands(session: ClientSession, version: str) -> InitializeResult:
    """The library's own handshake, but with a version of the test's choice."""
    about = Implementation(name="python-library", version="1.0.0")
    parameters = InitializeRequestParams(
        protocol_version=version, capabilities=ClientCapabilities(), client_info=about
    )
    result = await session.send_request(InitializeRequest(params=parameters), InitializeResult)
    session.adopt(result)
    await session.send_notification(InitializedNotification())
    return result


@pytest.mark.scenario("List and call the tools", client="Python library")
@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_the_python_library_lists_and_calls_the_tools_after_a_handshake(
    server: StdioServerParameters, tmp_path: Path, version: str
) -> None:
    async def run() -> None:
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            result = await shake_hands(session, version)
            assert result.protocol_version == version
            assert result.instructions
            names, answers = await talk(session)
        check(names, answers, tmp_path / "memory", "python-library")

    anyio.run(run)


@pytest.mark.scenario("List and call the tools", client="Python library")
@pytest.mark.parametrize("mode", [*MODERN_PROTOCOL_VERSIONS, "auto", "legacy"])
def test_the_python_library_lists_and_calls_the_tools_as_it_connects_by_itself(
    server: StdioServerParameters, tmp_path: Path, mode: str
) -> None:
    about = Implementation(name="python-library", version="1.0.0")
    newest = HANDSHAKE_PROTOCOL_VERSIONS[-1] if mode == "legacy" else MODERN_PROTOCOL_VERSIONS[-1]

    async def run() -> None:
        async with Client(server, mode=mode, client_info=about) as client:
            assert client.protocol_version == newest
            names, answers = await talk(client)
        check(names, answers, tmp_path / "memory", "python-library")

    anyio.run(run)


# --- TypeScript


def typescript(node_modules: Path, *arguments: str, environment: dict[str, str]) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("NOT TESTED WITH THE TYPESCRIPT LIBRARIES: node is not on PATH")
    done = subprocess.run(
        [node, Path(__file__).with_name("protocol_client.mjs"), node_modules, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("library", TYPESCRIPT)
def test_all_versions_of_the_typescript_libraries_are_tested(
    node_modules: Path, base_environment: dict[str, str], library: str
) -> None:
    spoken = typescript(node_modules, library, environment=base_environment)
    assert sorted(spoken) == sorted(TYPESCRIPT[library])


@pytest.mark.scenario("List and call the tools", client="TypeScript library")
@pytest.mark.parametrize(
    ("library", "version"),
    [(library, version) for library, versions in TYPESCRIPT.items() for version in versions],
)
def test_the_typescript_libraries_list_and_call_the_tools(
    server: StdioServerParameters,
    node_modules: Path,
    base_environment: dict[str, str],
    tmp_path: Path,
    library: str,
    version: str,
) -> None:
    steps = json.dumps([{"name": name, "arguments": given} for name, given in STEPS])
    report = typescript(
        node_modules, library, version, steps, server.command, *server.args,
        environment=base_environment,
    )  # fmt: skip
    assert report["version"] == ANSWERED_WITH.get(version, version)
    assert report["server"]["name"] == "scriptorium"
    assert report["instructions"]
    names = [tool["name"] for tool in report["tools"]]
    check(names, report["answers"], tmp_path / "memory", f"typescript-{library}")
