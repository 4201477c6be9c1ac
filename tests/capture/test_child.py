"""The writer's child: how it is started, every way it can fail, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.capture.desk import Desk, Script

from scriptorium.capture import child, clients, locate
from scriptorium.capture.child import Answered, Failed, Kind
from scriptorium.capture.clients import Client
from scriptorium.capture.options import Agent

NOTHING = {"additions": [], "revisions": [], "core": []}


@pytest.fixture(params=["claude", "codex"])
def agent(request: pytest.FixtureRequest) -> Agent:
    name: Agent = request.param
    return name


@pytest.fixture
def ask(desk: Desk, agent: Agent) -> Callable[..., child.Result]:
    def call(*moods: str, time_limit: float = 60, prompt: str = "hello") -> child.Result:
        desk.script.moods(*moods)
        environ = {**desk.environ, "CLAUDECODE": "1", "ANTHROPIC_API_KEY": "kept"}
        return clients.ask(
            Client(agent, environ, time_limit=time_limit), "SYSTEM", prompt, budget=0.5
        )

    return call


def is_gone(pid: int) -> bool:
    """Whether the process has ended, soon: a kill takes a moment."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_an_answer_comes_back_with_what_it_cost(
    ask: Callable[..., child.Result], agent: Agent
) -> None:
    result = ask("nothing")
    assert isinstance(result, Answered)
    assert result.answer == NOTHING
    assert result.usage.input_tokens > 0
    assert (result.usage.cost_usd == 0.01) is (agent == "claude")


def test_the_child_bears_the_mark_in_an_empty_directory_that_is_gone_afterwards(
    ask: Callable[..., child.Result], script: Script
) -> None:
    ask("nothing", prompt="the whole prompt 字")
    (call,) = script.calls
    assert call["environ"]["SCRIPTORIUM_CHILD"] == "1"
    assert call["environ"]["ANTHROPIC_API_KEY"] == "kept"
    assert "CLAUDECODE" not in call["environ"]
    assert call["files"] == []
    assert not Path(call["cwd"]).exists()
    assert call["request"] == "the whole prompt 字"


def test_claude_is_started_without_tools_hooks_plugins_servers_or_a_session(
    desk: Desk, script: Script
) -> None:
    script.moods("nothing")
    clients.ask(Client("claude", desk.environ, model="cheap"), "SYSTEM", "x", budget=0.5)
    argv = script.calls[0]["argv"]
    for name, value in (
        ("--tools", ""),
        ("--setting-sources", "user"),
        ("--system-prompt", "SYSTEM"),
        ("--model", "cheap"),
        ("--output-format", "json"),
        ("--max-budget-usd", "0.50"),
    ):
        assert argv[argv.index(name) + 1] == value
    for name in ("-p", "--strict-mcp-config", "--no-session-persistence", "--json-schema"):
        assert name in argv
    assert '"disableAllHooks": true' in argv[argv.index("--settings") + 1]
    assert script.calls[0]["environ"]["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] == "1"


def test_codex_is_started_with_the_users_model_and_provider_and_nothing_else_of_theirs(
    desk: Desk, script: Script
) -> None:
    script.moods("nothing")
    config = desk.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        'model = "mine"\nmodel_provider = "my-own"\n[mcp_servers.x]\ncommand = "x"\n'
        '[model_providers.my-own]\nname = "A \\"b\\""\nbase_url = "http://127.0.0.1:1/v1"\n',
        encoding="utf-8",
    )
    clients.ask(Client("codex", desk.environ), "SYSTEM", "x", budget=0.5)
    argv = script.calls[0]["argv"]
    settings = [argv[n + 1] for n, part in enumerate(argv) if part == "-c"]
    assert 'model="mine"' in settings
    assert 'model_provider="my-own"' in settings
    assert (
        'model_providers.my-own={name = "A \\"b\\"", base_url = "http://127.0.0.1:1/v1"}'
        in settings
    )
    assert "features.hooks=false" in settings
    assert not any("mcp_servers" in setting for setting in settings)
    for name in ("--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"):
        assert name in argv


FAILURES: dict[str, Kind] = {
    "not-logged-in": "not-logged-in",
    "unauthorised": "unauthorised",
    "rate-limited": "rate-limited",
    "overloaded": "overloaded",
    "budget": "budget",
    "too-long": "too-long",
    "usage-limit": "usage-limit",
    "malformed": "malformed",
    "empty": "empty",
    "suicide": "killed",
    "flood": "malformed",
}


@pytest.mark.parametrize(("mood", "kind"), FAILURES.items(), ids=FAILURES)
def test_every_failure_is_told_by_its_kind(
    ask: Callable[..., child.Result], mood: str, kind: Kind
) -> None:
    result = ask(mood)
    assert isinstance(result, Failed)
    assert result.kind == kind


def test_a_child_that_hangs_is_ended_with_all_its_group(
    ask: Callable[..., child.Result], script: Script
) -> None:
    result = ask("hang", time_limit=1.5)
    assert isinstance(result, Failed)
    assert result.kind == "timeout"
    assert is_gone(int((script.folder / "grandchild").read_text()))


ESCAPED = """
import subprocess, sys
chatter = "import time; [(print('.', flush=True), time.sleep(0.2)) for _ in range(18000)]"
print("answer", flush=True)
print(subprocess.Popen([sys.executable, "-c", chatter], start_new_session=True).pid, flush=True)
"""


def test_what_left_the_childs_group_and_goes_on_talking_is_not_listened_to(tmp_path: Path) -> None:
    ended = child.run([sys.executable, "-c", ESCAPED], b"", cwd=tmp_path, environ={})
    assert (ended.status, ended.reason) == (0, "exit")
    answer, escaped, *_ = ended.out.split()
    assert answer == b"answer"
    os.kill(int(escaped), signal.SIGKILL)


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdout.close()
while True:
    sys.stderr.write("x" * 65536)
"""


def test_a_child_that_ignores_signals_and_floods_its_errors_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUBBORN]
    ended = child.run(command, b"", cwd=tmp_path, environ={}, time_limit=1.0)
    assert ended.status == -signal.SIGKILL
    assert len(ended.err) <= child.ERROR_LIMIT


def test_a_child_that_does_not_read_its_prompt_cannot_block(
    ask: Callable[..., child.Result],
) -> None:
    result = ask("deaf", "nothing", prompt="x" * 4_000_000)
    assert isinstance(result, (Answered, Failed))


def test_a_program_that_cannot_be_started_is_a_failure(desk: Desk, agent: Agent) -> None:
    broken = desk.home / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    result = clients.ask(Client(agent, desk.environ, named=str(broken)), "S", "x", budget=1)
    assert isinstance(result, Failed)
    assert (result.kind, result.ran) == ("not-started", False)


def test_a_named_client_that_is_not_there_is_told_with_the_flag_that_names_it(
    desk: Desk, agent: Agent
) -> None:
    named = str(desk.home / "none")
    result = clients.ask(Client(agent, desk.environ, named=named), "S", "x", budget=1)
    assert isinstance(result, Failed)
    assert (result.kind, result.ran) == ("not-found", False)
    assert named in result.message
    assert f"--{agent}-cli" in result.message


def test_a_client_that_is_nowhere_is_a_failure_that_says_where_it_was_looked_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "_ON_SYSTEM", ())
    result = clients.ask(
        Client("claude", {"HOME": str(desk.home), "PATH": "/nowhere"}), "S", "x", budget=1
    )
    assert isinstance(result, Failed)
    assert result.kind == "not-found"
    assert "/nowhere" in result.message


# --- where the programs are


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "place",
    [
        ".local/bin",
        ".claude/local",
        ".npm-global/bin",
        ".volta/bin",
        ".bun/bin",
        ".nvm/versions/node/v22.1.0/bin",
        ".local/share/fnm/node-versions/v20.0.0/installation/bin",
        ".local/share/mise/installs/node/22.3.0/bin",
    ],
)
def test_a_client_is_found_where_installers_put_it_when_path_is_bare(
    tmp_path: Path, place: str
) -> None:
    claude = program(tmp_path / place / "claude")
    assert locate.find("claude", {"HOME": str(tmp_path), "PATH": "/bare"}) == claude


def test_the_path_comes_first_and_the_newest_node_before_older_ones(tmp_path: Path) -> None:
    old = program(tmp_path / ".nvm/versions/node/v9.9.0/bin/claude")
    new = program(tmp_path / ".nvm/versions/node/v22.1.0/bin/claude")
    environ = {"HOME": str(tmp_path), "PATH": ""}
    assert locate.find("claude", environ) == new
    assert locate.find("claude", {**environ, "PATH": str(old.parent)}) == old


def test_the_prefix_of_npm_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("prefix=~/my-npm\n")
    claude = program(tmp_path / "my-npm/bin/claude")
    assert locate.find("claude", {"HOME": str(tmp_path)}) == claude


def test_a_named_program_is_the_only_one_looked_for(tmp_path: Path) -> None:
    program(tmp_path / ".local/bin/claude")
    own = program(tmp_path / "own/claude-next")
    environ = {"HOME": str(tmp_path)}
    assert locate.find("claude", environ, named="~/own/claude-next") == own
    assert locate.find("claude", environ, named=str(tmp_path / "none")) is None


def test_a_directory_or_a_file_that_does_not_run_is_no_program(tmp_path: Path) -> None:
    (tmp_path / ".local/bin/claude").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/claude").write_text("no")
    found = locate.find("claude", {"HOME": str(tmp_path)})
    assert found is None or tmp_path not in found.parents


def test_the_interpreter_beside_the_program_is_on_its_path(tmp_path: Path) -> None:
    claude = program(tmp_path / ".nvm/versions/node/v22.1.0/bin/claude")
    parts = locate.path_for(claude, {"PATH": "/a"}).split(":")
    assert parts[0] == str(claude.parent)
    assert "/a" in parts
    assert "/usr/bin" in parts
