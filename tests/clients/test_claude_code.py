"""The plugin in the real Claude Code, against a scripted model."""

from __future__ import annotations

import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from tests.clients.anthropic_api import AnthropicApi, call, last_result, say, tools
from tests.clients.claude_code import TOOLS, ClaudeCode
from tests.clients.patience import wait_for
from tests.clients.residence import PATCH, SOURCE
from tests.clients.scripted import texts


@pytest.fixture
def claude(claude_binary, base_environment, project):
    with AnthropicApi() as api:
        yield ClaudeCode(claude_binary, api, base_environment, project)


@pytest.fixture
def installed(claude, root):
    claude.install(root)
    claude.warm(root)
    return claude


def results(claude: ClaudeCode) -> list[dict]:
    """The envelopes that the model was given, in order."""
    contents = [message["content"] for message in claude.api.requests[-1]["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    given = [block["content"] for block in blocks if block.get("type") == "tool_result"]
    return [json.loads(texts(content)) for content in given]


def save(request, **changes):
    arguments = {
        "base_revision": last_result(request)["revision"],
        "patch": PATCH,
        "sources": [SOURCE],
    }
    return call("memory_update", **(arguments | changes))


@pytest.mark.scenario("`plugin validate --strict`, and as the public directory checks it")
def test_the_plugin_is_valid_and_the_public_directory_would_take_it(claude, root):
    claude.run("plugin", "validate", root, "--strict")
    claude.run("plugin", "validate", root, "--strict", "--profile", "directory")


@pytest.mark.scenario("Status, update, search and read from an installed plugin")
def test_status_update_search_and_read_work_from_an_installed_plugin(installed, scriptorium):
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

    result = installed.ask("I have moved to Pudong.")

    status, update, search, read = results(installed)
    assert result["result"] == "Saved."
    assert [answer["ok"] for answer in (status, update, search, read)] == [True] * 4
    block = update["data"]["block_ids"]["new-block-home"]
    assert search["data"]["results"][0]["block_id"] == block
    assert read["data"]["evidence"][0]["sources"][0]["content"] == SOURCE["content"]
    topic = (installed.memory / "topics" / "personal" / "residence.md").read_text(encoding="utf-8")
    assert f"^{block}" in topic
    assert "new-" not in topic
    assert list((installed.memory / "sources" / "claude-code").glob("*.md"))
    scriptorium("validate", "--workspace", str(installed.memory))


@pytest.mark.scenario("The protocol and core reach the first request")
def test_the_first_request_has_the_six_tools_the_protocol_and_core(installed, root):
    installed.memory.mkdir(parents=True)
    (installed.memory / "core.md").write_text("The user's cat is called 墨水.\n", encoding="utf-8")
    installed.api.steps = [say("Hello.")]

    installed.ask("Hello")

    request = installed.api.requests[0]
    ours = [tool.rpartition("__")[2] for tool in tools(request) if "scriptorium" in tool]
    assert sorted(ours) == TOOLS
    told = json.dumps(request["messages"], ensure_ascii=False)
    protocol = (root / "protocol" / "session-start.md").read_text(encoding="utf-8")
    assert json.dumps(protocol.strip().splitlines()[0], ensure_ascii=False)[1:-1] in told
    assert "The user's cat is called 墨水." in told


@pytest.mark.scenario("`CONCURRENT_UPDATE` and `PATCH_CONFLICT` reach the model as text")
def test_a_stale_revision_and_a_patch_that_does_not_fit_reach_the_model_as_text(installed):
    installed.api.steps = [
        call("memory_status"),
        save,
        lambda _: call("memory_update", base_revision="0" * 32, patch=PATCH, sources=[SOURCE]),
        call("memory_status"),
        save,
        say("Both were refused."),
    ]

    installed.ask("I have moved to Pudong.")

    _, _, stale, _, conflict = results(installed)
    assert stale["error"]["code"] == "CONCURRENT_UPDATE"
    assert conflict["error"]["code"] == "PATCH_CONFLICT"
    assert conflict["error"]["path"] == "topics/personal/residence.md"


@pytest.mark.scenario("A user's own server of the same name beside the plugin's")
def test_a_users_own_server_of_the_same_name_works_beside_the_plugins(installed, root, tmp_path):
    own = tmp_path / "own"
    server = [root / "bin" / "scriptorium", "mcp", "--workspace", own]
    installed.run("mcp", "add", "--scope", "user", "scriptorium", "--", *server)
    installed.api.steps = [say("Hello.")]
    installed.ask("Hello")
    installed.api.requests.clear()
    installed.api.steps = [
        {"tool": "mcp__scriptorium__memory_status", "input": {}},
        call("memory_status"),
        say("Hello."),
    ]
    installed.ask("Hello", "--allowedTools", "mcp__scriptorium__memory_status")
    assert [answer["ok"] for answer in results(installed)] == [True, True]
    assert (own / "core.md").exists()
    assert (installed.memory / "core.md").exists()
    installed.run("mcp", "remove", "--scope", "user", "scriptorium")


@pytest.mark.scenario("One line of settings allows the six tools")
def test_tools_that_the_guides_settings_allow_are_not_asked_about(installed, root):
    guide = (root / "docs" / "guide.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"^\{\"permissions\".*$", guide, re.MULTILINE)
    file = installed.home / ".claude" / "settings.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.write_text(json.dumps(known | json.loads(settings)), encoding="utf-8")
    installed.api.steps = [call("memory_status"), save, say("Saved.")]
    installed.run("-p", "I have moved to Pudong.")
    assert [answer["ok"] for answer in results(installed)] == [True, True]


def is_writer(request) -> bool:
    return "StructuredOutput" in tools(request)


def write_once(request):
    """The writer's answer: one fact, then an end."""
    if "tool_result" in json.dumps(request["messages"]):
        return say("Done.")
    fact = {
        "topic": "topics/personal/cat.md",
        "heading": "Name",
        "text": "The user's cat is called Mochi.",
        "time": "2026-08",
        "messages": [1],
    }
    return {"tool": "StructuredOutput", "input": {"additions": [fact], "revisions": [], "core": []}}


@pytest.mark.scenario("Finished turns are written in the background")
def test_finished_turns_are_written_in_the_background_and_the_next_session_knows(
    installed, claude_binary, scriptorium
):
    settings = installed.home / ".scriptorium" / "config.yaml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"ingest:\n  token_threshold: 10\n  claude_cli: {claude_binary}\n")
    installed.api.aside = [(is_writer, write_once)]
    installed.api.steps = [say("What a lovely name for a cat! " * 20)]

    installed.ask("My cat is called Mochi, and I tell you so that you will not forget it.")

    topic = installed.memory / "topics" / "personal" / "cat.md"
    log = installed.memory / ".scriptorium" / "ingest.log"
    wait_for(log.exists, 60)
    assert topic.exists(), log.read_text()
    assert "The user's cat is called Mochi." in topic.read_text(encoding="utf-8")
    scriptorium("validate")
    writer = installed.api.others[0]
    assert [name for name in tools(writer) if "scriptorium" in name] == []
    sessions = list((installed.home / ".claude" / "projects").rglob("*.jsonl"))
    assert len(sessions) == 1  # the writer left none

    installed.api.requests.clear()
    installed.api.steps = [say("Mochi.")]
    installed.ask("What is my cat called?")
    assert "topics/personal/cat.md: " in json.dumps(installed.api.requests[0]["messages"])


@pytest.mark.scenario("From the public repository: install, update, remove; memory is kept")
def test_a_higher_version_is_taken_and_the_memory_outlives_update_and_removal(claude, repository):
    claude.install("Fzkuji/Scriptorium")
    claude.warm(repository.work)
    claude.api.steps = [call("memory_status"), save, say("Saved.")]
    claude.ask("I have moved to Pudong.")
    topic = claude.memory / "topics" / "personal" / "residence.md"
    before = topic.read_bytes()
    cached = claude.home / ".claude" / "plugins" / "cache" / "scriptorium" / "scriptorium"
    (version,) = [folder.name for folder in cached.iterdir()]

    repository.raise_version(version, "9.9.9")
    claude.run("plugin", "marketplace", "update", "scriptorium")
    claude.run("plugin", "update", "scriptorium@scriptorium")

    claude.warm(cached / "9.9.9")
    claude.api.steps = [call("memory_search", query="Pudong"), say("Found.")]
    claude.ask("Where do I live?")
    assert results(claude)[0]["data"]["results"][0]["path"] == "topics/personal/residence.md"
    assert list((cached / "9.9.9").rglob("__pycache__")) == []

    claude.run("plugin", "uninstall", "scriptorium@scriptorium")
    claude.run("plugin", "marketplace", "remove", "scriptorium")
    assert topic.read_bytes() == before


@pytest.mark.scenario("The top-level catalogue, by address and as a file")
@pytest.mark.parametrize("added_as", ["address", "file"])
def test_the_top_catalogue_installs_the_public_repository(claude, repository, tmp_path, added_as):
    # A file has to lie in a folder of this name: elsewhere the client installs, but does not load.
    folder = tmp_path / "catalogue" / ".claude-plugin"
    folder.mkdir(parents=True)
    (folder / "marketplace.json").write_bytes((repository.work / "marketplace.json").read_bytes())
    serve = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/marketplace.json"
        claude.install(address if added_as == "address" else folder / "marketplace.json")
        server.shutdown()
    claude.warm(repository.work)
    claude.api.steps = [call("memory_status"), say("Hello.")]
    claude.ask("Hello")
    assert results(claude)[0]["ok"]


@pytest.mark.scenario("A session where the bootstrap fails")
def test_a_bootstrap_that_fails_does_not_hinder_and_is_told_in_the_next_session(
    installed, tmp_path
):
    installed.more = {
        "SCRIPTORIUM_ENV_DIR": str(tmp_path / "env"),
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null",
        "UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "empty"),
    }  # fmt: skip
    installed.api.steps = [say("Hello.")]
    assert installed.ask("Hello")["result"] == "Hello."
    wait_for((tmp_path / "env" / "last-error.txt").exists)
    installed.api.requests.clear()
    installed.api.steps = [say("Hello again.")]
    installed.ask("Hello")
    told = json.dumps(installed.api.requests[0]["messages"])
    assert "could not start its server" in told
