"""`scriptorium doctor` finds what is planted, and says how to mend it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from scriptorium.capture import pending
from scriptorium.capture.conversation import Message
from scriptorium.capture.pool import Waiting
from scriptorium.workspace import forgotten, record
from scriptorium.workspace.forgotten import Forgotten
from scriptorium.workspace.layout import Layout

from .conftest import Remembered
from .endpoint import endpoint

type Report = Callable[..., dict[str, Any]]
PLUGIN = "scriptorium@scriptorium"
SERVER = "plugin:scriptorium:scriptorium"


@pytest.fixture
def report(program: list[str], environment: dict[str, str], tmp_path: Path) -> Report:
    def go(*arguments: str, **extra: str) -> dict[str, Any]:
        done = subprocess.run(
            [*program, "doctor", "--json", *arguments],
            env={**environment, **extra},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if found["ok"] else 1)
        return found

    return go


def _messages(found: dict[str, Any], *levels: str) -> str:
    return "\n".join(f["message"] for f in found["findings"] if f["level"] in levels)


def _settings(environment: dict[str, str], text: str) -> None:
    folder = Path(environment["HOME"]) / ".scriptorium"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(text)


def _client(environment: dict[str, str], name: str, value: object) -> None:
    file = Path(environment["HOME"]) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


def test_a_healthy_memory_has_nothing_broken(report: Report, residence: Remembered) -> None:
    found = report("--workspace", str(residence.root))
    assert found["ok"] is True
    assert _messages(found, "broken") == ""


def test_an_empty_home_is_no_fault(report: Report, environment: dict[str, str]) -> None:
    assert report()["ok"] is True
    assert list(Path(environment["HOME"]).iterdir()) == []


def test_everything_that_is_wrong_has_a_way_to_mend_it(
    report: Report, residence: Remembered, environment: dict[str, str]
) -> None:
    _settings(environment, "colour: red\nembedding: {url: 'http://127.0.0.1:9', model: m}\n")
    (residence.root / "topics" / "bad.md").write_bytes(b"\xff\xfe")
    found = report("--workspace", str(residence.root))
    for finding in found["findings"]:
        assert finding["level"] == "ok" or finding["level"] == "note" or finding["mend"], finding


def test_a_mistake_in_the_settings_is_found(
    report: Report, environment: dict[str, str], residence: Remembered
) -> None:
    _settings(environment, "git_commit: perhaps\n")
    found = report("--workspace", str(residence.root))
    assert "config.yaml:1:" in _messages(found, "warning")


def test_a_failed_launcher_is_found(report: Report, tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "last-error.txt").write_text("no network\nmore")
    assert "no network" in _messages(report(SCRIPTORIUM_ENV_DIR=str(tmp_path / "env")), "warning")


def test_a_missing_workspace_is_broken_when_it_was_asked_for(
    report: Report, tmp_path: Path
) -> None:
    found = report("--workspace", str(tmp_path / "nowhere"))
    assert found["ok"] is False
    assert not (tmp_path / "nowhere").exists()


def test_a_layer_that_cannot_be_opened_is_found(report: Report, residence: Remembered) -> None:
    found = report("--workspace", f"a={residence.root}", "--workspace", "b=/dev/null/x")
    assert [f["area"] for f in found["findings"] if f["level"] == "broken"] == ["layer b"]


def test_a_layer_of_the_settings_that_is_not_made_yet_is_no_fault(
    report: Report, environment: dict[str, str], residence: Remembered
) -> None:
    _settings(environment, f"workspaces: {{project: .memory, global: {residence.root}}}\n")
    assert [f for f in report()["findings"] if f["level"] == "broken"] == []


def test_a_file_with_a_problem_is_found(report: Report, residence: Remembered) -> None:
    (residence.root / "topics" / "bad.md").write_bytes(b"\xff\xfe")
    assert "topics/bad.md" in _messages(report("--workspace", str(residence.root)), "warning")


def test_a_held_lock_is_found(report: Report, residence: Remembered) -> None:
    with FileLock(residence.root / ".scriptorium" / "write.lock"):
        found = report("--workspace", str(residence.root))
    assert "another process is writing" in _messages(found, "warning")


def test_a_damaged_catalog_is_found(report: Report, residence: Remembered) -> None:
    (residence.root / ".scriptorium" / "cache" / "catalog.sqlite").write_bytes(b"garbage" * 9)
    found = report("--workspace", str(residence.root))
    assert "catalog" in _messages(found, "note", "warning")


def test_git_on_without_a_repository_is_broken(
    report: Report, residence: Remembered, environment: dict[str, str]
) -> None:
    _settings(environment, "git_commit: on\n")
    assert "git_commit is on" in _messages(report("--workspace", str(residence.root)), "broken")


def test_a_locked_index_and_a_merge_are_found(report: Report, residence: Remembered) -> None:
    subprocess.run(["git", "init", "-q", str(residence.root)], check=True)
    (residence.root / ".git" / "index.lock").touch()
    (residence.root / ".git" / "MERGE_HEAD").touch()
    told = _messages(report("--workspace", str(residence.root)), "warning")
    assert "index is locked" in told
    assert "a merge is in progress" in told


def test_an_endpoint_that_does_not_answer_is_broken(
    report: Report, residence: Remembered, environment: dict[str, str]
) -> None:
    _settings(environment, "embedding: {url: 'http://127.0.0.1:9', model: m}\n")
    assert "embeddings" in _messages(report("--workspace", str(residence.root)), "broken")


def test_no_client_to_write_with_is_found(report: Report, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    told = _messages(report(PATH=str(tmp_path / "bin")), "warning", "note", "ok")
    assert "claude" in told


def test_claude_code_s_settings_that_matter_are_found(
    report: Report, environment: dict[str, str]
) -> None:
    server = "plugin:scriptorium:scriptorium"
    _client(
        environment,
        ".claude/settings.json",
        {
            "enabledPlugins": {"scriptorium@scriptorium": False},
            "disableAllHooks": True,
            "cleanupPeriodDays": 7,
            "deniedMcpServers": [{"serverName": server}],
        },
    )
    _client(
        environment,
        ".claude.json",
        {
            "projects": {"/p": {"disabledMcpServers": [server]}},
            "mcpServers": {"scriptorium": {"command": "/no/such/program", "args": ["mcp"]}},
        },
    )
    told = _messages(report(), "warning", "note")
    for part in ("disabled", "hooks are off", "7 days", "denied", "off in /p", "/no/such/program"):
        assert part in told, part


def test_pipes_in_the_place_of_client_settings_hold_nobody_up(
    report: Report, environment: dict[str, str]
) -> None:
    for name in (".claude.json", ".claude/settings.json", ".codex/config.toml"):
        file = Path(environment["HOME"]) / name
        file.parent.mkdir(exist_ok=True)
        os.mkfifo(file)
    assert report()["ok"] is True


@pytest.mark.parametrize("content", ["", "{", "[]", '{"projects": []}', "[" * 99999])
def test_client_settings_that_cannot_be_understood_are_left_alone(
    report: Report, environment: dict[str, str], content: str
) -> None:
    for name in (".claude.json", ".claude/settings.json", ".codex/config.toml"):
        file = Path(environment["HOME"]) / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    assert report()["ok"] is True


# --- the table of planted faults


@dataclass(frozen=True, slots=True)
class Machine:
    """A home, a memory in it, and the environment that doctor is given."""

    home: Path
    root: Path
    environ: dict[str, str]
    held: ExitStack
    """What a fault holds while doctor looks."""

    def write(self, place: str, text: str) -> Path:
        file = self.home / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def settings(self, text: str) -> None:
        self.write(".scriptorium/config.yaml", text)

    def program(self, name: str) -> None:
        """A client's program on PATH: doctor looks for it, and must not run it."""
        file = self.write(f"bin/{name}", '#!/bin/sh\necho ran >>"$HOME/ran"\nexit 1\n')
        file.chmod(0o755)


def _launcher_failed(machine: Machine) -> None:
    machine.write(".scriptorium/env/last-error.txt", "the package index cannot be reached")


def _environment_half_built(machine: Machine) -> None:
    machine.write(".scriptorium/env/start/123-456", "abcdef0123456789\n")
    machine.write(".scriptorium/env/abcdef0123456789/bin/python", "")  # and no .ready


def _settings_mistaken(machine: Machine) -> None:
    machine.settings("git_commit: auto\nembeding: {}\n")


def _protected(machine: Machine) -> None:
    folder = machine.root / "topics"
    folder.chmod(0o500)
    machine.held.callback(folder.chmod, 0o700)


def _topic_broken(machine: Machine) -> None:
    (machine.root / "topics" / "work.md").write_text("# Work\n\nA mill. ^mill\n")


def _source_lost(machine: Machine) -> None:
    shutil.rmtree(machine.root / "sources")


def _update_interrupted(machine: Machine) -> None:
    layout = Layout.of(machine.root)
    layout.journal.write_bytes(record.encode(record.Record("boot", ())))


def _lock_held(machine: Machine) -> None:
    machine.held.enter_context(FileLock(machine.root / ".scriptorium" / "write.lock"))


def _catalog_damaged(machine: Machine) -> None:
    (machine.root / ".scriptorium" / "cache" / "catalog.sqlite").write_bytes(b"garbage" * 9)


def _merge_in_progress(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q", str(machine.root)], check=True)
    (machine.root / ".git" / "MERGE_HEAD").touch()


def _set_aside(machine: Machine) -> None:
    now = datetime(2026, 8, 9, tzinfo=UTC)
    said = Message("claude-code", "s1", "m1", "user", "hello", now.isoformat(), "/home/dev")
    pending.set_aside(Layout.of(machine.root), [Waiting(said, 2, now)])


def _no_writer(machine: Machine) -> None:
    machine.environ["PATH"] = str(machine.home / "bin")


def _not_logged_in(machine: Machine) -> None:
    machine.program("claude")


def _codex_not_logged_in(machine: Machine) -> None:
    machine.program("codex")


def _no_endpoint(machine: Machine) -> None:
    machine.settings("embedding: {url: 'http://127.0.0.1:9', model: m}\n")


def _no_model(machine: Machine) -> None:
    url = machine.held.enter_context(endpoint("other", 3))
    machine.settings(f"embedding: {{url: '{url}', model: nomic-embed-text}}\n")


def _server_disabled(machine: Machine) -> None:
    projects = {"/home/dev/mill": {"disabledMcpServers": [SERVER]}}
    machine.write(".claude/settings.json", "{}")
    machine.write(".claude.json", json.dumps({"projects": projects}))


def _plugin_disabled(machine: Machine) -> None:
    machine.write(".claude/settings.json", json.dumps({"enabledPlugins": {PLUGIN: False}}))


def _server_passed_over(machine: Machine) -> None:
    when = int(datetime.now(UTC).timestamp() * 1000)
    cache = {SERVER: {"timestamp": when, "id": "fcda991bab84ebcf"}}
    machine.write(".claude/mcp-needs-auth-cache.json", json.dumps(cache))


def _transcripts_deleted(machine: Machine) -> None:
    machine.write(".claude/settings.json", json.dumps({"cleanupPeriodDays": 3}))


def _memory_is_a_file(machine: Machine) -> None:
    shutil.rmtree(machine.root)
    machine.root.write_text("x")


def _memory_is_a_pipe(machine: Machine) -> None:
    shutil.rmtree(machine.root)
    os.mkfifo(machine.root)


def _memory_is_a_link_to_nothing(machine: Machine) -> None:
    shutil.rmtree(machine.root)
    machine.root.symlink_to("/nonexistent/disk")


def _memory_is_something_else(machine: Machine) -> None:
    shutil.rmtree(machine.root)
    machine.root.mkdir()
    (machine.root / "main.c").write_text("int main;")


def _links_in_a_circle(machine: Machine) -> None:
    shutil.rmtree(machine.root)
    machine.root.symlink_to(machine.root)


def _topic_unsettled(machine: Machine) -> None:
    (machine.root / "topics" / "work.md").write_text("<<<<<<< HEAD\nA\n=======\nB\n>>>>>>> b\n")


def _view_stale(machine: Machine) -> None:
    (machine.root / "recent_events.jsonl").write_text("by hand\n")


def _topic_is_a_pipe(machine: Machine) -> None:
    os.mkfifo(machine.root / "topics" / "pipe.md")


def _forget_cut_short(machine: Machine) -> None:
    forgotten.begin(Layout.of(machine.root), Forgotten.of(["the old address"], []))


def _branch_left(machine: Machine) -> None:
    git = ["git", "-C", str(machine.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-f", "core.md"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    subprocess.run([*git, "checkout", "-q", "--detach"], check=True)


def _older_files_uncommitted(machine: Machine) -> None:
    git = ["git", "-C", str(machine.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-f", "core.md"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)


def _writer_misnamed(machine: Machine) -> None:
    machine.settings("ingest: {codex_cli: /nope}\n")


def _hooks_gone(machine: Machine) -> None:
    plugin = machine.home / ".claude/plugins/cache/scriptorium/scriptorium/0.1.0"
    for name in ("session-start", "stop"):
        machine.write(f"{plugin.relative_to(machine.home)}/hooks/{name}", "").chmod(0o755)
    known = {"version": 2, "plugins": {PLUGIN: [{"scope": "user", "installPath": str(plugin)}]}}
    machine.write(".claude/plugins/installed_plugins.json", json.dumps(known))


def _packages_gone(machine: Machine) -> None:
    machine.write(".scriptorium/env/start/123-456", "abcdef0123456789\n")
    machine.write(".scriptorium/env/abcdef0123456789/bin/python", "")
    machine.write(".scriptorium/env/abcdef0123456789/.ready", "")
    (machine.home / ".scriptorium/env/abcdef0123456789/deps").symlink_to("../deps-gone")


def _plugin_disabled_here(machine: Machine) -> None:
    machine.write(".claude/settings.json", "{}")
    own = machine.home.parent / ".claude" / "settings.local.json"
    own.parent.mkdir()
    own.write_text(json.dumps({"enabledPlugins": {PLUGIN: False}}))
    machine.held.callback(shutil.rmtree, own.parent)


def _hooks_untrusted(machine: Machine) -> None:
    machine.write(".codex/config.toml", f'[plugins."{PLUGIN}"]\nenabled = true\n')


@pytest.fixture
def machine(environment: dict[str, str], residence: Remembered) -> Iterator[Machine]:
    """A machine where nothing is wrong, but that there is no client."""
    home = Path(environment["HOME"])
    (home / "bin").mkdir()
    for name in ("git", "sh"):
        (home / "bin" / name).symlink_to(shutil.which(name) or "")
    environ = {**environment, "PATH": str(home / "bin")}
    with ExitStack() as held:
        yield Machine(home, residence.root, environ, held)


@pytest.mark.parametrize(
    ("plant", "level", "told", "mend"),
    [
        (_launcher_failed, "warning", "package index", "last-error.txt"),
        (_environment_half_built, "warning", "abcdef0123456789", "rm /"),
        (_settings_mistaken, "warning", "config.yaml:2", "edit "),
        (_protected, "broken|warning", "/topics ", "chmod u+rwx /"),
        (_topic_broken, "warning", "topics/work.md:3", "edit "),
        (_source_lost, "warning", "residence.md", "edit "),
        (_update_interrupted, "note", "interrupted update", "the next start"),
        (_lock_held, "warning", "another process is writing", "end that process"),
        (_catalog_damaged, "note", "catalog is damaged", "rm /"),
        (_merge_in_progress, "warning", "a merge is in progress", "git -C "),
        (_set_aside, "warning", "1 message is set aside", "scriptorium ingest --retry"),
        (_no_writer, "warning", "neither claude nor codex", "ingest.claude_cli"),
        (_not_logged_in, "warning", "Claude Code seems not to be logged in", "/login"),
        (_codex_not_logged_in, "warning", "Codex seems not to be logged in", "codex login"),
        (_no_endpoint, "broken", "embeddings: ", "embedding"),
        (_no_model, "broken", "no model nomic-embed-text", "ollama pull nomic-embed-text"),
        (_server_disabled, "note", "server is off in /home/dev/mill", "disabledMcpServers"),
        (_plugin_disabled, "warning", "plugin is disabled", f"claude plugin enable {PLUGIN}"),
        (_server_passed_over, "warning", "passed over until", "Reconnect"),
        (_transcripts_deleted, "note", "after 3 days", "cleanupPeriodDays"),
        (_hooks_untrusted, "warning", "not trusted yet", "/hooks"),
        (_memory_is_a_file, "broken", "is no folder", ""),
        (_memory_is_a_pipe, "broken", "is no folder", ""),
        (_memory_is_a_link_to_nothing, "broken", "a link to nothing", ""),
        (_memory_is_something_else, "broken", "holds files and no memory", ""),
        (_links_in_a_circle, "broken", "lead in a circle", ""),
        (_topic_unsettled, "warning", "work.md: an unfinished merge", "remove the markers"),
        (_view_stale, "note", "recent_events.jsonl: not as the files say", "the next update"),
        (_topic_is_a_pipe, "warning", "topics/pipe.md:1", "ls -ld "),
        (_forget_cut_short, "warning", "`forget` was cut short", "scriptorium forget"),
        (_branch_left, "warning", "no branch is checked out", "git -C "),
        (_older_files_uncommitted, "note", "files of memory are in no commit", "git add -f"),
        (_writer_misnamed, "warning", "ingest.codex_cli: /nope", "full path"),
        (_hooks_gone, "broken", "registers no hooks", f"claude plugin install {PLUGIN}"),
        (_packages_gone, "warning", "abcdef0123456789 is not whole", "rm "),
        (_plugin_disabled_here, "warning", "disabled in this project", "settings.local.json"),
    ],
    ids=lambda value: value.__name__.lstrip("_") if callable(value) else None,
)
def test_a_planted_fault_is_found_with_what_mends_it(
    report: Report,
    machine: Machine,
    plant: Callable[[Machine], None],
    level: str,
    told: str,
    mend: str,
) -> None:
    plant(machine)
    found = report("--workspace", str(machine.root), **machine.environ)
    hits = [finding for finding in found["findings"] if told in finding["message"]]
    assert len(hits) == 1, found["findings"]
    assert hits[0]["level"] in level.split("|")
    assert mend in hits[0]["mend"]
    assert not (machine.home / "ran").exists()  # no client was run


def test_on_a_machine_without_a_planted_fault_only_the_missing_client_is_found(
    report: Report, machine: Machine
) -> None:
    found = report("--workspace", str(machine.root), **machine.environ)
    wrong = [f["message"] for f in found["findings"] if f["level"] in ("warning", "broken")]
    assert wrong == ["neither claude nor codex is found: capture cannot write"]


@pytest.mark.parametrize(
    ("client", "place", "text"),
    [
        ("claude", ".claude/.credentials.json", "{}"),
        ("claude", ".claude/settings.json", '{"apiKeyHelper": "key"}'),
        ("claude", ".claude.json", '{"oauthAccount": {}}'),
        ("codex", ".codex/auth.json", "{}"),
        ("codex", ".codex/config.toml", 'model_provider = "own"'),
        ("codex", ".codex/config.toml", 'cli_auth_credentials_store = "keyring"'),
    ],
)
def test_a_login_is_seen_without_asking_the_client(
    report: Report, machine: Machine, client: str, place: str, text: str
) -> None:
    machine.program(client)
    machine.write(place, text)
    found = report("--workspace", str(machine.root), **machine.environ)
    assert "logged in: capture" not in _messages(found, "warning")
    assert not (machine.home / "ran").exists()


@pytest.mark.parametrize(
    ("client", "variable"), [("claude", "ANTHROPIC_API_KEY"), ("codex", "OPENAI_API_KEY")]
)
def test_a_login_in_the_environment_is_named_and_not_shown(
    report: Report, machine: Machine, client: str, variable: str
) -> None:
    machine.program(client)
    machine.environ[variable] = "hidden-value"
    found = report("--workspace", str(machine.root), **machine.environ)
    assert variable in _messages(found, "ok")
    assert "hidden-value" not in json.dumps(found)


def test_trusted_hooks_of_codex_are_no_fault(report: Report, machine: Machine) -> None:
    state = f'[hooks.state."{PLUGIN}:stop"]\ntrusted_hash = "1"\n'
    machine.write(".codex/config.toml", f'[plugins."{PLUGIN}"]\nenabled = true\n{state}')
    found = report("--workspace", str(machine.root), **machine.environ)
    assert "trusted" not in _messages(found, "warning")
    assert "trusted" in _messages(found, "note")


def test_the_length_of_a_vector_is_told(report: Report, machine: Machine) -> None:
    with endpoint("small", 5) as url:
        machine.settings(f"embedding: {{url: '{url}', model: small}}\n")
        found = report("--workspace", str(machine.root), **machine.environ)
    assert f"embeddings of 5 numbers from small at {url}" in _messages(found, "ok")
