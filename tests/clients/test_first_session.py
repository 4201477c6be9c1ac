"""The first session on a machine that has nothing yet, and sessions without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients import anthropic_api, openai_api
from tests.clients.anthropic_api import AnthropicApi
from tests.clients.claude_code import READY, TOOLS, ClaudeCode, wait_for_server
from tests.clients.codex import Codex
from tests.clients.offline import Offline
from tests.clients.openai_api import OpenAiApi
from tests.clients.patience import wait_for
from tests.clients.pool import pending
from tests.clients.residence import PATCH, SOURCE
from tests.clients.scripted import Body, texts

WORDS = "Hello, I am called Ada."
LATER = "What do you remember?"


@pytest.fixture
def claude(
    claude_binary: Path, base_environment: dict[str, str], project: Path
) -> Iterator[ClaudeCode]:
    with AnthropicApi(rest=anthropic_api.say("Hello.")) as api:
        yield ClaudeCode(claude_binary, api, base_environment, project)


@pytest.fixture
def codex(codex_binary: Path, codex_environment: dict[str, str], project: Path) -> Iterator[Codex]:
    with OpenAiApi(rest=openai_api.say("Hello.")) as api:
        yield Codex(codex_binary, api, codex_environment, project)


def is_ready(environments: Path) -> bool:
    return any(environments.glob("start/*"))


def first_line(root: Path) -> str:
    protocol = (root / "protocol" / "session-start.md").read_text(encoding="utf-8")
    return protocol.strip().splitlines()[0]


def save(last: dict[str, Any]) -> dict[str, Any]:
    return {"base_revision": last["revision"], "patch": PATCH, "sources": [SOURCE]}


# --- Claude Code


def claude_steps() -> list[Any]:
    call, last = anthropic_api.call, anthropic_api.last_result
    return [
        call("memory_status"),
        lambda body: call("memory_update", **save(dict(last(body)))),
        anthropic_api.say("Saved."),
    ]


def plugin_tools(body: Body) -> list[str]:
    names = [name for name in anthropic_api.tools(body) if "scriptorium" in name]
    return sorted(name.rpartition("__")[2] for name in names)


@pytest.mark.scenario("A first session where nothing is bootstrapped")
def test_claude_code_works_on_a_fresh_machine_and_the_next_session_has_the_tools(
    claude: ClaudeCode, root: Path, nothing_bootstrapped: dict[str, str], tmp_path: Path
) -> None:
    claude.environment |= nothing_bootstrapped
    claude.install(root)
    assert claude.ask(WORDS)["result"] == "Hello."
    assert first_line(root) in texts(claude.api.requests[0]["messages"])

    # The server's start went on without the session, and so did the hand-over of the turn.
    wait_for(lambda: WORDS in pending(claude.memory), 150)
    assert is_ready(tmp_path / "environments")
    claude.api.requests.clear()
    claude.api.steps = claude_steps()
    assert claude.ask("I have moved to Pudong.")["result"] == "Saved."
    assert plugin_tools(claude.api.requests[0]) == TOOLS
    assert (claude.memory / "topics/personal/residence.md").exists()
    assert pending(claude.memory).count(WORDS) == 1


@pytest.mark.scenario("In a terminal: a first session where nothing is bootstrapped")
def test_a_terminal_on_a_fresh_machine_answers_at_once_and_has_the_tools_later_in_the_session(
    claude: ClaudeCode, root: Path, nothing_bootstrapped: dict[str, str], tmp_path: Path
) -> None:
    claude.environment |= nothing_bootstrapped
    claude.install(root)
    claude.answer_first_questions()
    claude.more = {"MCP_TIMEOUT": "120000"}  # ms; on a busy machine its half minute is too short
    with claude.terminal() as screen:
        screen.wait_for(READY)
        screen.type(WORDS)
        screen.wait_for("Hello.")
        first = claude.api.requests[0]
        assert first_line(root) in texts(first["messages"])
        assert plugin_tools(first) == []

        wait_for(lambda: is_ready(tmp_path / "environments"), 100)
        wait_for_server(screen)
        screen.type(LATER)
        wait_for(lambda: LATER in pending(claude.memory))
        second = next(b for b in claude.api.requests if LATER in texts(b["messages"]))
        assert plugin_tools(second) == TOOLS
        screen.type("/exit")
        wait_for(screen.is_over)
    assert pending(claude.memory) == [WORDS, LATER]


@pytest.mark.scenario("A session offline, everything bootstrapped")
def test_claude_code_has_its_memory_without_a_network(
    claude: ClaudeCode, root: Path, tmp_path: Path
) -> None:
    claude.install(root)
    claude.warm(root)
    claude.api.steps = claude_steps()
    with Offline(claude.api, tmp_path) as offline:
        claude.binary = offline.wrap(claude.binary)
        claude.more = {**offline.environment, "ANTHROPIC_BASE_URL": offline.url}
        assert claude.ask("I have moved to Pudong.")["result"] == "Saved."
    assert plugin_tools(claude.api.requests[0]) == TOOLS
    assert first_line(root) in texts(claude.api.requests[0]["messages"])
    assert (claude.memory / "topics/personal/residence.md").exists()
    wait_for(lambda: pending(claude.memory) == ["I have moved to Pudong."])


# --- Codex


def codex_steps() -> list[Any]:
    call, last = openai_api.call, openai_api.last_result
    return [
        call("memory_status"),
        lambda body: call("memory_update", **save(dict(last(body)))),
        openai_api.say("Saved."),
    ]


@pytest.mark.scenario("A first session where nothing is bootstrapped")
def test_codex_works_on_a_fresh_machine_and_the_next_session_has_the_tools(
    codex: Codex, root: Path, nothing_bootstrapped: dict[str, str], tmp_path: Path
) -> None:
    codex.environment |= nothing_bootstrapped
    codex.install(root)
    assert codex.ask(WORDS).strip() == "Hello."
    assert first_line(root) in texts(codex.api.requests[0]["input"])

    wait_for(lambda: WORDS in pending(codex.memory), 150)
    assert is_ready(tmp_path / "environments")
    codex.api.steps = codex_steps()
    assert codex.ask("I have moved to Pudong.").strip() == "Saved."
    assert (codex.memory / "topics/personal/residence.md").exists()
    assert pending(codex.memory).count(WORDS) == 1


@pytest.mark.scenario("A session offline, everything bootstrapped")
def test_codex_has_its_memory_without_a_network(codex: Codex, root: Path, tmp_path: Path) -> None:
    codex.install(root)
    codex.warm()
    codex.api.steps = codex_steps()
    with Offline(codex.api, tmp_path) as offline:
        settings = codex.folder / "config.toml"
        settings.write_text(settings.read_text().replace(codex.api.url, offline.url))
        codex.binary = offline.wrap(codex.binary)
        codex.more = offline.environment
        assert codex.ask("I have moved to Pudong.").strip() == "Saved."
    assert first_line(root) in texts(codex.api.requests[0]["input"])
    assert (codex.memory / "topics/personal/residence.md").exists()
    wait_for(lambda: pending(codex.memory) == ["I have moved to Pudong."])


@pytest.mark.scenario("A session where the bootstrap fails")
def test_codex_goes_on_where_the_bootstrap_fails_and_the_next_session_is_told(
    codex: Codex, root: Path, nothing_bootstrapped: dict[str, str], tmp_path: Path
) -> None:
    codex.install(root)
    codex.environment |= {**nothing_bootstrapped, "PIP_CACHE_DIR": "", "UV_CACHE_DIR": ""}
    with Offline(codex.api, tmp_path) as offline:
        if not offline.is_isolated:
            pytest.skip("NOT TESTED: network namespaces are not permitted")
        settings = codex.folder / "config.toml"
        settings.write_text(settings.read_text().replace(codex.api.url, offline.url))
        codex.binary = offline.wrap(codex.binary)
        pip = codex.home / ".config" / "pip" / "pip.conf"
        pip.parent.mkdir(parents=True)
        pip.write_text("[global]\nretries = 0\n")  # it would try for half a minute
        assert codex.ask(WORDS).strip() == "Hello."
        wait_for((tmp_path / "environments" / "last-error.txt").exists, 60)
        codex.api.requests.clear()
        assert codex.ask(WORDS).strip() == "Hello."
    assert "could not start its server" in texts(codex.api.requests[0]["input"])
