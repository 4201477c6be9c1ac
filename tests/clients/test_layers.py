"""A user's own server with two layers, by `claude mcp add`: a project's memory and a global one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.clients.anthropic_api import AnthropicApi, last_result, say
from tests.clients.claude_code import TOOLS, ClaudeCode
from tests.clients.residence import PATCH, SOURCE
from tests.clients.scripted import Answer, Body, texts

PREFIX = "mcp__scriptorium__"
TOPIC = "topics/personal/residence.md"


@pytest.fixture
def claude(
    claude_binary: Path, base_environment: dict[str, str], project: Path, root: Path
) -> Iterator[ClaudeCode]:
    with AnthropicApi() as api:
        claude = ClaudeCode(claude_binary, api, base_environment, project)
        claude.warm(root)
        layers = ("--workspace", "project=.memory", "--workspace", "global=~/memory")
        launcher = root / "bin" / "scriptorium"
        claude.run("mcp", "add", "--scope", "user", "scriptorium", "--", launcher, "mcp", *layers)
        yield claude


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        [*command, *arguments],
        check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def repository(project: Path) -> Path:
    (project / "src" / "deep").mkdir(parents=True)
    (project / "src" / "deep" / "code.py").write_text("pass\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "First")
    return project


def place(repository: Path, name: str) -> Path:
    """A folder that a session may be started in."""
    match name:
        case "repository":
            return repository
        case "subdirectory":
            return repository / "src" / "deep"
        case _:
            worktree = repository.parent / "worktree"
            git(repository, "worktree", "add", "-q", "-b", "side", str(worktree))
            return worktree


def call(tool: str, **arguments: Any) -> Answer:
    return {"tool": PREFIX + tool, "input": arguments}


def save(body: Body, **more: Any) -> Answer:
    revision = last_result(body)["revision"]
    given = {"base_revision": revision, "patch": PATCH, "sources": [SOURCE]}
    return call("memory_update", **given, **more)


def save_in_global(body: Body) -> Answer:
    return save(body, layer="global")


def results(claude: ClaudeCode) -> list[Mapping[str, Any]]:
    """The envelopes that the model was given, in order."""
    contents = [message["content"] for message in claude.api.requests[-1]["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    given = [block["content"] for block in blocks if block.get("type") == "tool_result"]
    return [json.loads(texts(content)) for content in given]


@pytest.mark.scenario("Layers by `mcp add`, from a repository, a subdirectory, a linked worktree")
@pytest.mark.parametrize("started_in", ["repository", "subdirectory", "linked worktree"])
def test_both_layers_are_served_and_a_write_lands_in_its_own(
    claude: ClaudeCode, repository: Path, scriptorium: Any, started_in: str
) -> None:
    folder = place(repository, started_in)
    claude.api.steps = [
        call("memory_status"),
        save,
        save_in_global,
        call("memory_search", query="Pudong", top_k=10),
        say("Saved."),
    ]
    allowed = ("--allowedTools", ",".join(PREFIX + tool for tool in TOOLS))
    claude.run("-p", "I have moved to Pudong.", *allowed, cwd=folder)

    status, own, other, search = results(claude)
    assert sorted(status["data"]["layers"]) == ["global", "project"]
    assert status["data"]["default_layer"] == "project"
    assert (own["data"]["layer"], other["data"]["layer"]) == ("project", "global")
    found = {result["path"] for result in search["data"]["results"]}
    assert {f"project:{TOPIC}", f"global:{TOPIC}"} <= found

    memories = (repository / ".memory", claude.home / "memory")
    for memory in memories:
        assert (memory / TOPIC).is_file()
        assert (memory / ".gitignore").read_text() == "*\n"
        scriptorium("validate", "--workspace", str(memory))
    assert not (folder / ".memory").exists() or folder == repository
    for tree in {repository, folder}:
        assert git(tree, "status", "--porcelain") == ""
