"""Codex as a person uses it, in a terminal: trusting the plugin's hooks, and what they do then.

The test is the user here: it trusts with the keys that a user presses, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.codex import Codex, files
from tests.clients.openai_api import OpenAiApi, say
from tests.clients.patience import wait_for
from tests.clients.pool import pending
from tests.clients.scripted import Body, texts
from tests.clients.tmux import Terminal

READY = "scripted default"  # the line below the input
FRAME = "<scriptorium-memory>"
ANSWER = "Hello from the script."


@pytest.fixture
def codex(
    codex_binary: Path, codex_environment: dict[str, str], project: Path, root: Path
) -> Iterator[Codex]:
    with OpenAiApi(rest=say(ANSWER)) as api:
        api.aside = [(is_title, say('{"title": "Hello"}'))]
        codex = Codex(codex_binary, api, codex_environment, project)
        codex.install(root)
        codex.warm()
        yield codex


def is_title(body: Body) -> bool:
    return "Generate a concise, single-line task title" in request_text(body)


def request_text(body: Body) -> str:
    return texts(body["input"])


def remember(codex: Codex, core: str) -> None:
    codex.memory.mkdir(parents=True, exist_ok=True)
    (codex.memory / "core.md").write_text(f"{core}\n", encoding="utf-8")


def trust_folder(screen: Terminal) -> None:
    """The first question of a first start, which is not ours."""
    question = "Trust this folder?"
    screen.wait_for(question)
    screen.press_until("Enter", lambda: question not in screen.screen())


def choose(screen: Terminal, answer: str) -> None:
    """The answer to what it asks about hooks, by its number; a first session follows."""
    screen.wait_for(f"  {answer}")  # not marked yet
    screen.press_until(answer[0], lambda: f"  {answer}" not in screen.screen())
    if f"› {answer}" in screen.screen():  # of the answers, only the one that trusts wants Enter
        screen.press_until("Enter", lambda: answer not in screen.screen())
    screen.wait_for(READY)


def asked(codex: Codex, screen: Terminal, words: str) -> str:
    """The text of the request that a prompt makes, once it is answered."""
    screen.type(words)
    wait_for(lambda: any(words in request_text(body) for body in codex.api.requests))
    screen.wait_for(ANSWER)
    return next(text for text in map(request_text, codex.api.requests) if words in text)


def turn(codex: Codex, screen: Terminal, words: str) -> str:
    """A turn from the first key to what its Stop hook left; the text of the request it made."""
    text = asked(codex, screen, words)
    wait_for(lambda: words in pending(codex.memory))
    return text


def leave(screen: Terminal) -> None:
    screen.type("/quit")
    wait_for(screen.is_over)


@pytest.mark.scenario("In a terminal: hooks trusted when it asks, a restart, `resume`")
def test_hooks_that_the_user_trusted_stay_trusted_and_each_session_reads_memory_anew(
    codex: Codex, root: Path
) -> None:
    before = files(codex.plugin)
    protocol = (root / "protocol" / "session-start.md").read_text(encoding="utf-8")
    remember(codex, "Memory at startup.")
    with codex.terminal() as screen:
        trust_folder(screen)
        screen.wait_for("2 hooks are new or changed")
        choose(screen, "2. Trust all and continue")
        started = turn(codex, screen, "Hello for the first time.")
        assert "Memory at startup." in started
        assert protocol.strip().splitlines()[0] in started
        assert started.count(FRAME) == 1
        leave(screen)
    (transcript,) = (codex.folder / "sessions").rglob("*.jsonl")
    session = transcript.stem[-36:]

    # The terminal's sessions live in a server that outlives it: that one starts anew, too.
    codex.run("app-server", "daemon", "stop")
    remember(codex, "Memory after a restart.")
    with codex.terminal() as screen:
        screen.wait_for(READY)
        restarted = turn(codex, screen, "Hello after a restart.")
        assert "Memory after a restart." in restarted
        assert "Hello for the first time." not in restarted
        leave(screen)

    remember(codex, "Memory when resumed.")
    with codex.terminal("resume", session) as screen:
        screen.wait_for(READY)
        resumed = turn(codex, screen, "Hello after resuming.")
        leave(screen)
    assert "Hello for the first time." in resumed
    assert "Memory when resumed." in resumed
    assert "Memory at startup." in resumed  # it is a part of what was said
    assert resumed.count(FRAME) == 2
    assert pending(codex.memory) == [
        "Hello for the first time.",
        "Hello after a restart.",
        "Hello after resuming.",
    ]
    assert files(codex.plugin) == before

    (codex.plugin / "note.txt").touch()
    with codex.terminal() as screen:
        screen.wait_for("2 hooks are new or changed")


@pytest.mark.scenario("In a terminal: hooks not trusted at first, and later in `/hooks`")
def test_hooks_do_nothing_until_the_user_trusts_them_in_the_list_of_hooks(codex: Codex) -> None:
    remember(codex, "Memory at startup.")
    with codex.terminal() as screen:
        trust_folder(screen)
        choose(screen, "3. Continue without trusting")
        assert FRAME not in asked(codex, screen, "Hello without hooks.")

        screen.type("/hooks")
        screen.wait_for("t trust all")
        assert pending(codex.memory) == []
        screen.press_until("t", lambda: "t trust all" not in screen.screen())
        settings = codex.folder / "config.toml"
        wait_for(lambda: settings.read_text(encoding="utf-8").count("trusted_hash") == 2)
        screen.press_until("Escape", lambda: "Lifecycle hooks" not in screen.screen())
        assert FRAME not in turn(codex, screen, "Hello with hooks.")
        leave(screen)
    assert pending(codex.memory) == ["Hello without hooks.", "Hello with hooks."]
    with codex.terminal() as screen:
        screen.wait_for(READY)
        assert "Memory at startup." in turn(codex, screen, "Hello once more.")
        leave(screen)


@pytest.mark.scenario("In a terminal: startup, `/clear`, `/compact`")
def test_startup_clear_and_compact_each_read_memory_anew_and_each_turn_waits_once(
    codex: Codex,
) -> None:
    remember(codex, "Memory at startup.")
    with codex.terminal("--dangerously-bypass-hook-trust") as screen:
        trust_folder(screen)
        screen.wait_for(READY)
        assert "Memory at startup." in turn(codex, screen, "Hello for the first time.")

        remember(codex, "Memory when cleared.")
        screen.type("/clear")
        screen.wait_for_end_of("Hello for the first time.")
        cleared = turn(codex, screen, "Hello after clearing.")
        assert "Memory when cleared." in cleared
        assert "Memory at startup." not in cleared
        assert "Hello for the first time." not in cleared

        remember(codex, "Memory when compacted.")
        screen.type("/compact")
        screen.wait_for("Context compacted")
        compacted = turn(codex, screen, "Hello after compacting.")
        assert "Memory when compacted." in compacted
        assert "Memory when cleared." not in compacted
        leave(screen)
    assert pending(codex.memory) == [
        "Hello for the first time.",
        "Hello after clearing.",
        "Hello after compacting.",
    ]
