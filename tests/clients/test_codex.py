"""The plugin in the real Codex, against a scripted model."""

from __future__ import annotations

import json

import pytest
from tests.clients.codex import Codex, files
from tests.clients.openai_api import OpenAiApi, call, last_result, outputs, say
from tests.clients.patience import wait_for
from tests.clients.residence import PATCH, SOURCE


@pytest.fixture
def codex(codex_binary, codex_environment, project):
    with OpenAiApi() as api:
        yield Codex(codex_binary, api, codex_environment, project)


@pytest.fixture
def installed(codex, root):
    codex.install(root)
    codex.warm()
    return codex


def save(request, **changes):
    arguments = {
        "base_revision": last_result(request)["revision"],
        "patch": PATCH,
        "sources": [SOURCE],
    }
    return call("memory_update", **(arguments | changes))


def results(codex: Codex) -> list[dict]:
    return [dict(result) for result in outputs(codex.api.requests[-1])]


def told(request) -> str:
    return json.dumps(request["input"], ensure_ascii=False)


@pytest.mark.scenario("The plugin is listed with its server and its skill")
def test_the_plugin_is_listed_with_its_server_and_its_skill(installed):
    assert "scriptorium" in installed.run("plugin", "list")
    assert "scriptorium" in installed.run("mcp", "list")
    installed.api.steps = [say("Hello.")]
    installed.ask("Hello")
    assert "scriptorium:scriptorium" in told(installed.api.requests[0])


@pytest.mark.scenario("Status, update, search and read from an installed plugin")
def test_status_update_search_and_read_work_from_an_installed_plugin(installed, scriptorium):
    before = files(installed.plugin)
    installed.api.steps = [
        call("memory_status"),
        save,
        call("memory_search", query="where does the user live"),
        lambda request: call(
            "memory_read",
            path=last_result(request)["data"]["results"][0]["path"],
            block_id=last_result(request)["data"]["results"][0]["block_id"],
        ),
        say("Saved."),
    ]

    answer = installed.ask("I have moved to Pudong.")

    status, update, search, read = results(installed)
    assert answer.strip() == "Saved."
    assert [result["ok"] for result in (status, update, search, read)] == [True] * 4
    block = update["data"]["block_ids"]["new-block-home"]
    assert search["data"]["results"][0]["block_id"] == block
    assert read["data"]["evidence"][0]["sources"][0]["content"] == SOURCE["content"]
    topic = (installed.memory / "topics" / "personal" / "residence.md").read_text(encoding="utf-8")
    assert f"^{block}" in topic
    scriptorium("validate", "--workspace", str(installed.memory))
    assert (
        files(installed.plugin) == before
    )  # a file more, and the user's trust in the hooks is void


@pytest.mark.scenario("`CONCURRENT_UPDATE` and `PATCH_CONFLICT` reach the model as text")
def test_a_stale_revision_and_a_patch_that_does_not_fit_reach_the_model_as_text(installed):
    installed.api.steps = [
        call("memory_status"),
        save,
        call("memory_update", base_revision="0" * 32, patch=PATCH, sources=[SOURCE]),
        call("memory_status"),
        save,
        say("Both were refused."),
    ]
    installed.ask("I have moved to Pudong.")
    _, _, stale, _, conflict = results(installed)
    assert stale["error"]["code"] == "CONCURRENT_UPDATE"
    assert conflict["error"]["code"] == "PATCH_CONFLICT"


@pytest.mark.scenario("The protocol and core reach the first request")
def test_a_session_is_told_the_protocol_and_core_once_its_hooks_are_trusted(installed, root):
    installed.memory.mkdir(parents=True)
    (installed.memory / "core.md").write_text("The user's cat is called 墨水.\n", encoding="utf-8")
    installed.api.steps = [say("Hello."), say("Hello.")]
    installed.ask("Hello")
    protocol = (root / "protocol" / "session-start.md").read_text(encoding="utf-8")
    first = told(installed.api.requests[0])
    assert protocol.strip().splitlines()[0] in first
    assert "The user's cat is called 墨水." in first

    installed.run("exec", "Hello")  # as a user who was not asked yet
    assert "墨水" not in told(installed.api.requests[-1])


@pytest.mark.scenario("From the public repository: install, update, remove; memory is kept")
def test_a_higher_version_is_taken_and_the_memory_outlives_update_and_removal(codex, repository):
    codex.environment["GIT_CONFIG_GLOBAL"] = str(repository.config)
    codex.install("Fzkuji/Scriptorium")
    codex.warm()
    codex.api.steps = [call("memory_status"), save, say("Saved.")]
    codex.ask("I have moved to Pudong.")
    topic = codex.memory / "topics" / "personal" / "residence.md"
    before = topic.read_bytes()

    repository.raise_version(codex.plugin.name, "9.9.9")
    codex.run("plugin", "marketplace", "upgrade")
    codex.run("plugin", "add", "scriptorium@scriptorium")

    assert codex.plugin.name == "9.9.9"
    codex.warm()
    codex.api.steps = [call("memory_search", query="Pudong"), say("Found.")]
    codex.ask("Where do I live?")
    assert results(codex)[0]["data"]["results"][0]["path"] == "topics/personal/residence.md"

    codex.run("plugin", "remove", "scriptorium@scriptorium")
    codex.run("plugin", "marketplace", "remove", "scriptorium")
    assert topic.read_bytes() == before


@pytest.mark.scenario("Finished turns are written in the background")
def test_finished_turns_are_written_in_the_background(installed, scriptorium):
    settings = installed.home / ".scriptorium" / "config.yaml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("ingest:\n  token_threshold: 10\n")
    installed.environment["PATH"] = f"{installed.binary.parent}:{installed.environment['PATH']}"
    fact = {
        "topic": "topics/personal/cat.md",
        "heading": "Name",
        "text": "The user's cat is called Mochi.",
        "time": "2026-08",
        "messages": [1],
    }
    answer = json.dumps({"additions": [fact], "revisions": [], "core": []})
    installed.api.aside = [(is_writer, say(answer))]
    installed.api.steps = [say("What a lovely name for a cat! " * 20)]

    installed.ask("My cat is called Mochi, and I tell you so that you will not forget it.")

    log = installed.memory / ".scriptorium" / "ingest.log"
    wait_for(log.exists, 60)
    topic = installed.memory / "topics" / "personal" / "cat.md"
    assert topic.exists(), log.read_text()
    assert "The user's cat is called Mochi." in topic.read_text(encoding="utf-8")
    scriptorium("validate", "--workspace", str(installed.memory))
    assert "memory_update" not in json.dumps(installed.api.others[0]["tools"])
    assert len(list((installed.folder / "sessions").rglob("*.jsonl"))) == 1


def is_writer(request) -> bool:
    return "additions" in json.dumps(request.get("text"))
