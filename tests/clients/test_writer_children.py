"""`scriptorium ingest` whole, with the real clients as its writers, on a machine full of traps.

The user has hooks, a server, instructions and the plugin itself; none of it may reach the writer,
and nothing of the writer may stay behind.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.clients import anthropic_api, leftovers, openai_api
from tests.clients.anthropic_api import AnthropicApi
from tests.clients.claude_code import ClaudeCode
from tests.clients.codex import Codex
from tests.clients.openai_api import OpenAiApi
from tests.clients.patience import wait_for

FACT = {
    "topic": "topics/personal/cat.md",
    "heading": "Name",
    "text": "The user's cat is called Mochi.",
    "time": "2026-08",
    "messages": [1],
}
ANSWER = {"additions": [FACT], "revisions": [], "core": []}
INSTRUCTIONS = "INSTRUCTION-OF-THE-USER"


class _Refusing(anthropic_api._Messages):
    status = 529

    def do_POST(self) -> None:  # noqa: N802 - the library's name
        self.body()
        self.give(self.status, {"type": "error", "error": {"type": "x", "message": "scripted"}})


class _Unauthorised(_Refusing):
    status = 401


class RefusingApi(AnthropicApi):
    handler = _Refusing


class UnauthorisedApi(AnthropicApi):
    handler = _Unauthorised


@pytest.fixture
def claude(claude_binary, base_environment, project) -> Iterator[ClaudeCode]:
    with AnthropicApi() as api:
        client = ClaudeCode(claude_binary, api, base_environment, project)
        trap_claude(client)
        yield client


@pytest.fixture
def codex(codex_binary, codex_environment, project) -> Iterator[Codex]:
    with OpenAiApi() as api:
        client = Codex(codex_binary, api, codex_environment, project)
        trap_codex(client)
        yield client


def sprung(home: Path) -> Path:
    return home / "sprung"


def trap_claude(client: ClaudeCode) -> None:
    folder = client.home / ".claude"
    folder.mkdir()
    trap = {"type": "command", "command": f"echo hook >>{sprung(client.home)}"}
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    settings = {"hooks": {event: [{"hooks": [trap]}] for event in events}}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "CLAUDE.md").write_text(INSTRUCTIONS, encoding="utf-8")
    server = {"command": "/bin/sh", "args": ["-c", f"echo server >>{sprung(client.home)}"]}
    known = {"mcpServers": {"trap": server}}
    (client.home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")


def trap_codex(client: Codex) -> None:
    line = f"echo trap >>{sprung(client.home)}"
    settings = (client.folder / "config.toml").read_text(encoding="utf-8")
    server = f'[mcp_servers.trap]\ncommand = "/bin/sh"\nargs = ["-c", "{line}"]\n'
    notify = f'notify = ["/bin/sh", "-c", "{line}"]\n'
    (client.folder / "config.toml").write_text(notify + settings + server, encoding="utf-8")
    # The client offers nothing against an AGENTS.md in its own folder: the prompt tells it off.
    (client.cwd / "AGENTS.md").write_text(INSTRUCTIONS, encoding="utf-8")


def transcript(folder: Path) -> Path:
    row = {
        "type": "user",
        "uuid": "31dd1f5c-0000-4000-8000-000000000001",
        "sessionId": "old",
        "timestamp": "2026-08-03T10:00:00Z",
        "origin": {"kind": "human"},
        "message": {"role": "user", "content": "My cat is called Mochi."},
    }
    path = folder / "old-session.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def ingest(
    client: ClaudeCode | Codex, root: Path, path: Path, *arguments: str, status: int = 0
) -> dict[str, Any]:
    """Its report."""
    agent = "claude" if isinstance(client, ClaudeCode) else "codex"
    done = subprocess.run(
        [*command(root, path), f"--{agent}-cli", client.binary, "--agent", agent, *arguments],
        env=client.full_environment(),
        cwd=client.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def command(root: Path, path: Path) -> list[str | Path]:
    launcher = root / "bin" / "scriptorium"
    return [launcher, "ingest", "--force", "--json", "--transcript", path]


def structured(answer: Mapping[str, object]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """The answer by the tool that the client makes of the schema, then an end."""

    def step(request: Mapping[str, Any]) -> Mapping[str, Any]:
        if "tool_result" in json.dumps(request["messages"][-1]):
            return anthropic_api.say("Done.")
        return {"tool": "StructuredOutput", "input": answer}

    return step


def runs(client: ClaudeCode | Codex) -> list[dict[str, Any]]:
    record = client.memory / ".scriptorium" / "ingest.jsonl"
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


def test_claude_writes_with_our_schema_as_its_only_tool_and_leaves_nothing_behind(
    claude, root, tmp_path, scriptorium
):
    claude.install(root)
    claude.api.aside = [(lambda _: True, structured(ANSWER))]
    folder = tmp_path / "temporary"
    folder.mkdir()
    claude.more = {"TMPDIR": str(folder), "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "outer"}
    sprung(claude.home).unlink(missing_ok=True)

    report = ingest(claude, root, transcript(tmp_path))

    assert (report["outcome"], report["batches"], report["messages"]) == ("written", 1, 1)
    topic = (claude.memory / "topics" / "personal" / "cat.md").read_text(encoding="utf-8")
    assert FACT["text"] in topic
    requests = claude.api.others
    assert {name for request in requests for name in anthropic_api.tools(request)} == {
        "StructuredOutput"
    }
    assert INSTRUCTIONS not in json.dumps(requests)
    assert "You keep a person's long-term memory." in json.dumps(requests[0]["system"])
    assert not sprung(claude.home).exists()
    assert list((claude.home / ".claude").glob("projects/**/*.jsonl")) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith("scriptorium")] == []
    (run,) = runs(claude)
    assert run["outcome"] == "written"
    assert (run["estimated"], run["cost_usd"] > 0, run["output_tokens"] > 0) == (False, True, True)
    scriptorium("validate")


def test_codex_writes_without_a_tool_and_leaves_nothing_behind(codex, root, tmp_path, scriptorium):
    codex.api.aside = [(lambda _: True, openai_api.say(json.dumps(ANSWER)))]

    report = ingest(codex, root, transcript(tmp_path))

    assert (report["outcome"], report["batches"], report["messages"]) == ("written", 1, 1)
    topic = (codex.memory / "topics" / "personal" / "cat.md").read_text(encoding="utf-8")
    assert FACT["text"] in topic
    (request,) = codex.api.others
    assert request.get("tools", []) == []
    assert request["text"]["format"]["schema"]["required"] == ["additions", "revisions", "core"]
    assert INSTRUCTIONS not in json.dumps(request)
    assert [item["role"] for item in request["input"]] == ["developer", "user"]
    assert "You keep a person's long-term memory." in json.dumps(request["input"][0])
    assert not sprung(codex.home).exists()
    assert list(codex.folder.glob("sessions/**/*.jsonl")) == []
    (run,) = runs(codex)
    assert (run["outcome"], run["output_tokens"] > 0) == ("written", True)
    scriptorium("validate", "--workspace", str(codex.memory))


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_what_is_wrong_with_an_answer_is_fed_back_and_the_mended_one_written(
    client, root, tmp_path, request
):
    driven = request.getfixturevalue(client)
    wrong = {**ANSWER, "additions": [{**FACT, "topic": "../../etc/passwd", "messages": [9]}]}

    def answer(body: Mapping[str, Any]) -> Mapping[str, object]:
        return ANSWER if "Your last answer was refused" in json.dumps(body) else wrong

    if client == "claude":
        driven.api.aside = [(lambda _: True, lambda body: structured(answer(body))(body))]
    else:
        driven.api.aside = [(lambda _: True, lambda b: openai_api.say(json.dumps(answer(b))))]
    report = ingest(driven, root, transcript(tmp_path))
    assert report["outcome"] == "written"
    assert [run["outcome"] for run in runs(driven)] == ["failed", "written"]
    assert (driven.memory / "topics" / "personal" / "cat.md").exists()


@pytest.mark.parametrize(
    ("api", "kind"), [(RefusingApi, "overloaded"), (UnauthorisedApi, "unauthorised")]
)
def test_a_service_that_refuses_is_a_failure_of_its_kind_and_the_turn_waits(
    claude, root, tmp_path, api, kind
):
    path = transcript(tmp_path)
    with api() as refusing:
        claude.more = {"ANTHROPIC_BASE_URL": refusing.url}
        report = ingest(claude, root, path, status=1)
    assert (report["outcome"], report["pending_tokens"] > 0) == ("failed", True)
    assert [run["kind"] for run in runs(claude)] == [kind]
    claude.more = {}
    claude.api.aside = [(lambda _: True, structured(ANSWER))]
    assert ingest(claude, root, path)["messages"] == 1


def test_an_answer_in_prose_is_malformed_and_nothing_is_written(codex, root, tmp_path):
    codex.api.aside = [(lambda _: True, openai_api.say("I would rather chat about it."))]
    report = ingest(codex, root, transcript(tmp_path), status=1)
    assert report["outcome"] == "failed"
    assert {run["kind"] for run in runs(codex)} == {"malformed"}
    assert list((codex.memory / "topics").rglob("*.md")) == []


@pytest.mark.parametrize("client", ["claude", "codex"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_ingest_that_is_ended_takes_its_writer_with_it(client, root, tmp_path, request, number):
    driven = request.getfixturevalue(client)
    api, reached = driven.api, tmp_path / "reached"

    def never(_: Mapping[str, Any]) -> Mapping[str, Any]:
        reached.touch()
        wait_for(lambda: not leftovers.running(driven.home), 20)
        return anthropic_api.say("too late")

    api.aside = [(lambda _: True, never)]
    path = transcript(tmp_path)
    arguments = ["--agent", client, f"--{client}-cli", driven.binary]
    with subprocess.Popen(
        [*command(root, path), *arguments],
        env=driven.full_environment(),
        cwd=driven.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for(reached.exists)
        process.send_signal(number)
        process.wait(120)
    wait_for(lambda: not leftovers.running(driven.home))
