"""Manifests, catalogues and locks: they agree with each other and with what lies in the plugin."""

from __future__ import annotations

import json
import os
import re
import struct
import tomllib

import pytest

import scriptorium

CATALOGUES = ("marketplace.json", ".claude-plugin/marketplace.json")
MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json")


def load(root, name):
    return json.loads((root / name).read_text(encoding="utf-8"))


def hooks_of(root):
    for event, groups in load(root, "hooks/hooks.json")["hooks"].items():
        for group in groups:
            for hook in group["hooks"]:
                yield event, group, hook


def test_all_versions_are_the_packages_version(root):
    named = [load(root, name)["version"] for name in MANIFESTS]
    named += [load(root, name)["plugins"][0]["version"] for name in CATALOGUES]
    assert set(named) == {scriptorium.__version__}


def test_the_changelog_begins_with_this_version(root):
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[?([0-9][^\]\s]*)", changelog, re.MULTILINE)
    assert released[0] == scriptorium.__version__


def test_the_top_catalogue_names_the_public_repository_and_the_inner_one_this_folder(root):
    top, inner = (load(root, name)["plugins"][0]["source"] for name in CATALOGUES)
    assert top == {"source": "github", "repo": "Fzkuji/Scriptorium"}
    assert inner == "./"


def test_every_path_that_a_manifest_names_is_there(root):
    codex = load(root, ".codex-plugin/plugin.json")
    paths = [codex[key] for key in ("skills", "hooks", "mcpServers")]
    assert all(path.startswith("./") for path in paths)  # Codex ignores others without a word
    paths.append(load(root, ".claude-plugin/plugin.json")["icon"])
    assert [path for path in paths if not (root / path).exists()] == []


def test_both_clients_start_the_launcher_and_the_tools_are_always_loaded(root):
    claude = load(root, ".claude-plugin/plugin.json")["mcpServers"]["scriptorium"]
    codex = load(root, ".codex-plugin/mcp.json")["mcpServers"]["scriptorium"]
    assert (claude["command"], claude["args"]) == ("${CLAUDE_PLUGIN_ROOT}/bin/scriptorium", ["mcp"])
    assert (codex["command"], codex["args"], codex["cwd"]) == ("./bin/scriptorium", ["mcp"], ".")
    assert claude["alwaysLoad"] is True


RUN = ("bin/scriptorium", "bin/test", "hooks/session-start", "hooks/stop", ".ci/run")


@pytest.mark.parametrize("name", RUN)
def test_what_is_run_is_executable(root, name):
    assert os.access(root / name, os.X_OK)


def test_a_clone_is_no_project_server_and_carries_no_instructions_of_claudes(root):
    # Opened as a project, a .mcp.json would be read with unset variables; a CLAUDE.md is refused.
    assert not (root / ".mcp.json").exists()
    assert not (root / "CLAUDE.md").exists()


def test_hooks_have_timeouts_in_seconds_and_quoted_paths(root):
    for _, _, hook in hooks_of(root):
        assert 1 <= hook["timeout"] <= 60
        assert re.fullmatch(r'"\$\{CLAUDE_PLUGIN_ROOT\}/hooks/[a-z-]+"', hook["command"])
        assert "async" not in hook  # such a hook is killed when the client exits


def test_a_session_is_told_however_it_starts(root):
    matchers = {group["matcher"] for event, group, _ in hooks_of(root) if event == "SessionStart"}
    assert matchers == {"startup|resume|clear|compact"}


def test_the_icon_is_a_square_png_of_a_size_that_the_directory_takes(root):
    icon = (root / load(root, ".claude-plugin/plugin.json")["icon"]).read_bytes()
    assert icon.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", icon[16:24])
    assert width == height
    assert 512 <= width <= 2048


@pytest.mark.parametrize(
    "name", ["requirements.lock", "requirements-dev.lock", "requirements-uv.lock"]
)
def test_a_lock_pins_with_hashes_and_names_no_address(root, name):
    text = (root / name).read_text(encoding="utf-8")
    entries = re.findall(r"^[A-Za-z0-9].*?(?=^[A-Za-z0-9]|\Z)", text, re.MULTILINE | re.DOTALL)
    assert entries
    assert [
        e for e in entries if not re.match(r"[\w.-]+==\S+", e) or "--hash=sha256:" not in e
    ] == []
    assert "//" not in text
    assert "index" not in re.sub(r"#.*", "", text)


def test_every_dependency_is_pinned_in_both_locks_alike(root):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=]", wanted)[0].lower() for wanted in project["dependencies"]}
    pins = [
        dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (root / lock).read_text(), re.MULTILINE))
        for lock in ("requirements.lock", "requirements-dev.lock")
    ]
    assert names <= pins[0].keys()
    assert pins[0].items() <= pins[1].items()
