"""`scriptorium doctor` finds what is planted, and says how to mend it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from .conftest import Remembered

type Report = Callable[..., dict[str, Any]]


@pytest.fixture
def report(program: list[str], environment: dict[str, str], tmp_path: Path) -> Report:
    def go(*arguments: str, **extra: str) -> dict[str, Any]:
        done = subprocess.run(
            [*program, "doctor", "--json", *arguments],
            env={**environment, **extra},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
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
    assert "merge" in told


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


@pytest.mark.parametrize("content", ["", "{", "[]", '{"projects": []}', "[" * 99999])
def test_client_settings_that_cannot_be_understood_are_left_alone(
    report: Report, environment: dict[str, str], content: str
) -> None:
    for name in (".claude.json", ".claude/settings.json", ".codex/config.toml"):
        file = Path(environment["HOME"]) / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    assert report()["ok"] is True
