"""Claude Code as a person uses it, in a terminal: each way a session starts, and each turn's end.

`core.md` differs at each start, so that what reaches the model tells at which start it was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.anthropic_api import AnthropicApi, say, tools
from tests.clients.claude_code import READY, TOOLS, ClaudeCode, wait_for_server
from tests.clients.patience import wait_for
from tests.clients.pool import pending
from tests.clients.scripted import Body, texts
from tests.clients.tmux import Terminal

FRAME = "<scriptorium-memory>"
SUMMARY = "<analysis>All of it.</analysis>\n<summary>The user said hello.</summary>"


@pytest.fixture
def claude(
    claude_binary: Path, base_environment: dict[str, str], project: Path, root: Path
) -> Iterator[ClaudeCode]:
    """Installed, and past the questions that a first interactive start asks."""
    with AnthropicApi(rest=say("Hello from the script.")) as api:
        claude = ClaudeCode(claude_binary, api, base_environment, project)
        claude.install(root)
        claude.warm(root)
        claude.answer_first_questions()
        yield claude


def remember(claude: ClaudeCode, core: str) -> None:
    claude.memory.mkdir(parents=True, exist_ok=True)
    (claude.memory / "core.md").write_text(f"{core}\n", encoding="utf-8")


def turn(claude: ClaudeCode, screen: Terminal, words: str) -> str:
    """A turn from the first key to what its Stop hook left; the text of the request it made."""
    screen.type(words)
    wait_for(lambda: words in pending(claude.memory))
    return next(text for text in map(request_text, claude.api.requests) if words in text)


def request_text(body: Body) -> str:
    return texts(body["messages"])


def is_summary(body: Body) -> bool:
    return "Your task is to create a detailed summary" in request_text(body)


def leave(screen: Terminal) -> None:
    screen.type("/exit")
    wait_for(screen.is_over)


@pytest.mark.scenario("In a terminal: startup, `/clear`, `/compact`")
def test_startup_clear_and_compact_each_read_memory_anew_and_each_turn_waits_once(
    claude: ClaudeCode,
) -> None:
    claude.api.aside = [(is_summary, say(SUMMARY))]
    remember(claude, "Memory at startup.")
    with claude.terminal() as screen:
        screen.wait_for(READY)
        wait_for_server(screen)
        started = turn(claude, screen, "Hello for the first time.")
        assert "Memory at startup." in started
        assert started.count(FRAME) == 1
        ours = [name for name in tools(claude.api.requests[0]) if "scriptorium" in name]
        assert sorted(name.rpartition("__")[2] for name in ours) == TOOLS

        remember(claude, "Memory when cleared.")
        screen.type("/clear")
        screen.wait_for_end_of("Hello for the first time.")
        cleared = turn(claude, screen, "Hello after clearing.")
        assert "Memory when cleared." in cleared
        assert "Memory at startup." not in cleared
        assert "Hello for the first time." not in cleared

        remember(claude, "Memory when compacted.")
        screen.type("/compact")
        screen.wait_for("Compacted")
        compacted = turn(claude, screen, "Hello after compacting.")
        assert "Memory when compacted." in compacted
        assert "Memory when cleared." not in compacted
        assert "The user said hello." in compacted
        leave(screen)
    assert pending(claude.memory) == [
        "Hello for the first time.",
        "Hello after clearing.",
        "Hello after compacting.",
    ]


@pytest.mark.scenario("In a terminal: `--resume`, `--continue`")
def test_a_resumed_and_a_continued_session_read_memory_anew_and_no_turn_waits_twice(
    claude: ClaudeCode,
) -> None:
    remember(claude, "Memory at startup.")
    with claude.terminal() as screen:
        screen.wait_for(READY)
        turn(claude, screen, "Hello for the first time.")
        leave(screen)
    (transcript,) = (claude.home / ".claude" / "projects").rglob("*.jsonl")

    remember(claude, "Memory when resumed.")
    with claude.terminal("--resume", transcript.stem) as screen:
        screen.wait_for(READY)
        resumed = turn(claude, screen, "Hello after resuming.")
        leave(screen)
    assert "Hello for the first time." in resumed
    assert "Memory when resumed." in resumed
    assert "Memory at startup." in resumed  # it is a part of what was said

    remember(claude, "Memory when continued.")
    with claude.terminal("--continue") as screen:
        screen.wait_for(READY)
        continued = turn(claude, screen, "Hello after continuing.")
        leave(screen)
    assert "Hello after resuming." in continued
    assert "Memory when continued." in continued
    assert pending(claude.memory) == [
        "Hello for the first time.",
        "Hello after resuming.",
        "Hello after continuing.",
    ]
