"""The server as a process: what its client, its user and its machine do to it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from .conftest import MOVE, creation, topic

LIMIT = 20.0
"""Seconds that a process may take for anything here."""


class Server:
    """A running server, spoken to line by line."""

    def __init__(self, command: list[str], environment: dict[str, str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.last = 0

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Sends a request; its id."""
        self.last += 1
        request = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}}
        self.write(json.dumps(request))
        return self.last

    def write(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answers(self, *wanted: int) -> dict[int, dict[str, Any]]:
        """The answers to these requests, in whatever order they come."""
        assert self.process.stdout
        found: dict[int, dict[str, Any]] = {}
        while not set(wanted) <= set(found):
            line = self.process.stdout.readline()
            assert line, f"the server ended: {self.process.stderr and self.process.stderr.read()}"
            message = json.loads(line)
            if "id" in message:
                found[message["id"]] = message
        return found

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        number = self.send(method, params)
        return self.answers(number)[number]["result"]

    def initialize(self) -> dict[str, Any]:
        client = {"name": "claude-code", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        result = self.ask("initialize", params)
        self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        return result

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return json.loads(result["content"][0]["text"])

    def data(self, tool: str, **arguments: object) -> dict[str, Any]:
        answer = self.call(tool, **arguments)
        assert answer["ok"], answer
        return answer["data"]

    def end(self) -> str:
        """Ends the process, if it is still there; what it said on stderr."""
        self.process.kill()
        self.process.wait(timeout=LIMIT)
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        told = "" if self.process.stderr.closed else self.process.stderr.read()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                stream.close()
        return told

    @property
    def revision(self) -> str:
        return str(self.call("memory_status")["revision"])


@contextmanager
def running(command: list[str], environment: dict[str, str], cwd: Path) -> Iterator[Server]:
    server = Server(command, environment, cwd)
    try:
        server.initialize()
        yield server
    finally:
        server.end()


@pytest.fixture
def server(program: list[str], environment: dict[str, str], tmp_path: Path) -> Iterator[Server]:
    command = [*program, "mcp", "--workspace", str(tmp_path / "memory")]
    with running(command, environment, tmp_path) as started:
        yield started


def test_codex_s_project_capability_is_declared(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    command = [*program, "mcp", "--workspace", str(tmp_path / "memory")]
    server = Server(command, environment, tmp_path)
    try:
        declared = server.initialize()["capabilities"]["experimental"]
        assert declared == {"codex/sandbox-state-meta": {}}
        assert not (tmp_path / "memory").exists(), "initialize is answered before memory is touched"
    finally:
        server.end()


def test_a_client_may_discover_before_it_initializes(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    command = [*program, "mcp", "--workspace", str(tmp_path / "memory")]
    server = Server(command, environment, tmp_path)
    try:
        server.answers(server.send("server/discover"))
        assert server.initialize()["protocolVersion"] == "2025-11-25"
        assert len(server.ask("tools/list")["tools"]) == 6
        assert server.call("memory_status")["ok"]
    finally:
        server.end()


def test_the_workspace_comes_into_being_with_the_first_call(server: Server, tmp_path: Path) -> None:
    assert server.call("memory_status")["ok"]
    assert (tmp_path / "memory" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "memory" / "topics").is_dir()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_at_once(server: Server, signal_number: int) -> None:
    server.process.send_signal(signal_number)
    assert server.process.wait(timeout=120) == -signal_number


def test_the_end_of_input_ends_the_server_quietly(server: Server) -> None:
    assert server.process.stdin
    server.process.stdin.close()
    assert server.process.wait(timeout=LIMIT) == 0


def test_what_was_asked_before_the_end_of_input_is_answered(server: Server) -> None:
    calls = [("memory_status", {}), ("memory_grep", {"query": "a|b", "literal": False})]
    asked = {
        server.send("tools/call", {"name": name, "arguments": given}) for name, given in calls * 3
    } | {server.send("tools/list")}
    assert server.process.stdin
    assert server.process.stdout
    server.process.stdin.close()
    answers = [json.loads(line) for line in server.process.stdout]
    assert {answer["id"] for answer in answers if "result" in answer} == asked
    assert server.process.wait(timeout=LIMIT) == 0


def test_what_the_client_cancelled_is_not_waited_for(server: Server, tmp_path: Path) -> None:
    assert server.call("memory_status")["ok"]
    (tmp_path / "memory" / "core.md").write_text("a" * 40 + "!\n")
    endless = {"name": "memory_grep", "arguments": {"query": "(a+)+$", "literal": False}}
    number = server.send("tools/call", endless)
    cancel = {"method": "notifications/cancelled", "params": {"requestId": number}}
    server.write(json.dumps({"jsonrpc": "2.0", **cancel}))
    assert server.process.stdin
    assert server.process.stdout
    server.process.stdin.close()
    assert server.process.stdout.read() == ""
    assert server.process.wait(timeout=LIMIT) == 0


def test_a_write_in_flight_at_the_end_of_input_is_finished(server: Server, tmp_path: Path) -> None:
    arguments = {
        "base_revision": server.revision,
        "patch": creation("topics/a.md", topic("a", "A fact.")),
        "sources": [MOVE],
    }
    server.send("tools/call", {"name": "memory_update", "arguments": arguments})
    assert server.process.stdin
    server.process.stdin.close()
    assert server.process.wait(timeout=LIMIT) == 0
    text = (tmp_path / "memory" / "topics" / "a.md").read_text(encoding="utf-8")
    assert re.search(r"A fact\.\[\^e-[0-9a-f]{10}\] \^[0-9a-f]{8}", text)


def test_forty_calls_at_once_are_all_answered(server: Server) -> None:
    calls = [("memory_status", {}), ("memory_list", {}), ("memory_search", {"query": "x"})]
    numbers = [
        server.send("tools/call", {"name": calls[n % 3][0], "arguments": calls[n % 3][1]})
        for n in range(40)
    ]
    answers = server.answers(*numbers)
    assert all(answers[n]["result"]["structuredContent"]["ok"] for n in numbers)


GARBAGE = (
    "",
    "not json",
    "{}",
    "[]",
    "null",
    '{"jsonrpc": "2.0"}',
    '{"a": "\\ud800"}',
    "\x00",
    "{" * 5000,
    '{"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"arguments": []}}',
    '{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
    '{"jsonrpc": "2.0", "id": true, "method": 5}',
    '{"jsonrpc": "2.0", "id": 98, "method": "tools/call", "params": {"name": "\\ud800"}}',
)


def test_garbage_lines_are_survived(server: Server) -> None:
    for line in GARBAGE:
        server.write(line)
        assert server.call("memory_status")["ok"], line[:40]


def test_a_text_that_is_no_valid_unicode_is_refused_by_name(server: Server) -> None:
    number = server.send("tools/call", {"name": "memory_grep", "arguments": {"query": "\ud83d"}})
    answer = server.answers(number)[number]["result"]["structuredContent"]
    assert answer["error"]["code"] == "INVALID_ARGUMENT"
    assert answer["error"]["details"]["arguments"][0]["name"] == "query"


MALFORMED = (
    '{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": [1]}',
    '{"jsonrpc": "2.0", "id": %d, "method": 5}',
    '{"jsonrpc": "1.0", "id": %d, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": %d, "method": "\\ud800"}',
    '{"jsonrpc": "2.0", "id": %d, "method": "initialize", "params": {"a": "\\ud800"}}',
)


def test_a_malformed_request_with_an_id_is_answered(server: Server) -> None:
    for number, line in enumerate(MALFORMED, 900):
        server.write(line % number)
        assert server.answers(number)[number]["error"]["code"] == -32600


def test_a_client_that_is_gone_ends_the_server_quietly(server: Server) -> None:
    assert server.process.stdin
    assert server.process.stdout
    server.process.stdout.close()
    server.send("ping")
    server.process.stdin.close()
    assert server.process.wait(timeout=LIMIT) == 0
    assert server.end() == ""


def test_a_layer_is_served_once_its_place_can_be_used(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "first").write_text("a file in the folder's place")
    layers = [f"{name}={tmp_path / name}" for name in ("first", "second")]
    command = [*program, "mcp", "--workspace", layers[0], "--workspace", layers[1]]
    with running(command, environment, tmp_path) as server:
        assert "error" in server.data("memory_status")["layers"]["first"]
        (tmp_path / "first").unlink()
        assert list(server.data("memory_status")["layers"]) == ["first", "second"]
        assert "error" not in server.data("memory_status")["layers"]["first"]


def test_nothing_but_the_protocol_is_on_stdout(server: Server) -> None:
    server.write("garbage")
    server.call("memory_grep", query="(", literal=False)
    assert server.process.stdin
    assert server.process.stdout
    server.process.stdin.close()
    for line in server.process.stdout:
        assert json.loads(line)["jsonrpc"] == "2.0"


def test_mistakes_in_the_settings_are_told_and_stop_nothing(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    folder = Path(environment["HOME"]) / ".scriptorium"
    folder.mkdir()
    (folder / "config.yaml").write_text(
        "git_commit: perhaps\ncolour: red\nworkspaces: [a=1, a=2]\n"
    )
    with running([*program, "mcp"], environment, tmp_path) as server:
        assert server.call("memory_status")["ok"]
        told = server.end()
    assert "config.yaml:1:" in told
    assert "config.yaml:2:" in told
    assert (folder / "memory" / "core.md").is_file()


def test_wrong_usage_ends_the_server_before_it_serves(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    command = [*program, "mcp", "--workspace", "a", "--workspace", "b"]
    done = subprocess.run(
        command,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_codex_s_project_decides_where_a_relative_layer_lies(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    environment["SCRIPTORIUM_PLUGIN_ROOT"] = str(plugin)
    layers = ["--workspace", "project=.memory", "--workspace", f"global={tmp_path / 'global'}"]
    with running([*program, "mcp", *layers], environment, plugin) as server:
        alone = server.data("memory_status")
        assert "error" in alone["layers"]["project"]
        meta = {"codex/sandbox-state-meta": {"sandboxCwd": project.as_uri()}}
        params = {"name": "memory_status", "arguments": {}, "_meta": meta}
        told = server.ask("tools/call", params)["structuredContent"]["data"]
        assert "error" not in told["layers"]["project"]
    assert (project / ".memory" / "core.md").is_file()
    assert list(plugin.iterdir()) == []


def _edit(path: str, old: str, new: str) -> str:
    """A patch that puts `new` for `old`, both the whole text of the file."""
    gone = "".join(f"-{line}\n" for line in old.splitlines())
    come = "".join(f"+{line}\n" for line in new.splitlines())
    before = "/dev/null" if not old else f"a/{path}"
    after = "/dev/null" if not new else f"b/{path}"
    counts = (
        f"@@ -{int(bool(old))},{len(old.splitlines())} +{int(bool(new))},{len(new.splitlines())} @@"
    )
    return f"--- {before}\n+++ {after}\n{counts}\n{gone}{come}"


def test_the_residence_story_from_first_word_to_deletion(
    server: Server, program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    home, work = "topics/personal/residence.md", "topics/work/office.md"

    def read(path: str) -> str:
        return (root / path).read_text(encoding="utf-8")

    def update(patch: str, *sources: dict[str, object]) -> dict[str, Any]:
        data = server.data(
            "memory_update", base_revision=server.revision, patch=patch, sources=list(sources)
        )
        done = subprocess.run(
            [*program, "validate", "--workspace", str(root)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        for file in root.rglob("topics/**/*.md"):
            assert "new-" not in file.read_text(encoding="utf-8")
        return data

    said = {**MOVE}
    created = update(_edit(home, "", topic("residence", "The user moved to Pudong.")), said)
    block = created["block_ids"]["new-block-residence"]
    evidence = created["evidence_ids"]["new-evidence-residence"]
    assert f"The user moved to Pudong.[^{evidence}] ^{block}" in read(home)

    metro = {
        "label": "new-source-metro",
        "role": "user",
        "content": "I take the metro to the office.",
    }
    office = topic("office", "The office is at Century Avenue.", "new-source-metro", "undated")
    edited = read(home).replace(
        f"] ^{block}",
        "] They commute by metro, see [office](../work/office.md#^new-block-office)."
        f"[^new-evidence-metro] ^{block}",
    )
    edited += "[^new-evidence-metro]: Time: `undated`; Sources: new-source-metro\n"
    second = update(_edit(home, read(home), edited) + _edit(work, "", office), metro)
    office_block = second["block_ids"]["new-block-office"]
    assert f"../work/office.md#^{office_block}" in read(home)

    moved = "topics/places/century.md"
    update(_edit(work, read(work), "") + _edit(moved, "", read(work)))
    assert not (root / work).exists()
    assert f"../places/century.md#^{office_block}" in read(home)

    two = read(moved).replace(
        "## Facts\n",
        "## Facts\n\nIt has a canteen.[^new-evidence-canteen] ^new-block-canteen\n",
    )
    known = second["source_ids"]["new-source-metro"]
    two += f"[^new-evidence-canteen]: Time: `2026`; Sources: {known}\n"
    third = update(_edit(moved, read(moved), two))
    canteen, note = (
        third["block_ids"]["new-block-canteen"],
        third["evidence_ids"]["new-evidence-canteen"],
    )

    lines = read(moved).splitlines()
    taken = [line for line in lines if canteen in line or line.startswith(f"[^{note}]:")]
    left = "\n".join(line for line in lines if line not in taken) + "\n"
    split = "# Canteen\n\n" + "\n\n".join(taken) + "\n"
    update(_edit(moved, read(moved), left) + _edit("topics/places/canteen.md", "", split))
    assert canteen in read("topics/places/canteen.md")

    whole = read(moved).rstrip() + "\n" + taken[1] + "\n\n" + taken[0] + "\n"
    update(
        _edit(moved, read(moved), whole)
        + _edit("topics/places/canteen.md", read("topics/places/canteen.md"), "")
    )
    assert canteen in read(moved)

    refused = server.call(
        "memory_update", base_revision=server.revision, patch=_edit(moved, read(moved), "")
    )
    assert refused["error"]["code"] == "DANGLING_BLOCK_LINK"
    update(_edit(moved, read(moved), "") + _edit(home, read(home), ""))
    assert list((root / "topics").rglob("*.md")) == []
    assert server.data("memory_search", query="metro")["results"][0]["kind"] == "source"
