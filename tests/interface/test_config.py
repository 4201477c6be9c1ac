"""The settings file: what it may say, and what a mistake costs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptorium.interface import config
from scriptorium.interface.config import EmbeddingSettings, IngestSettings, Settings

WHOLE = """\
workspaces:
  project: .memory
  global: ~/memory
git_commit: "on"
embedding:
  url: http://127.0.0.1:11434
  model: nomic-embed-text
  api_key_env: KEY
ingest:
  enabled: false
  layer: global
  daily_usd: 2.5
  model: haiku
  token_threshold: 8000
  agent: codex
  claude_cli: /opt/claude
  codex_cli: /opt/codex
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_a_missing_file_means_defaults(file: Path) -> None:
    assert config.load(file) == config.Loaded(Settings(), (), file)


def test_every_setting_is_read(file: Path) -> None:
    file.write_text(WHOLE, encoding="utf-8")
    loaded = config.load(file)
    assert loaded.mistakes == ()
    assert loaded.settings == Settings(
        workspaces=("project=.memory", "global=~/memory"),
        git_commit="on",
        embedding=EmbeddingSettings("http://127.0.0.1:11434", "nomic-embed-text", "KEY"),
        ingest=IngestSettings(
            enabled=False,
            layer="global",
            daily_usd=2.5,
            model="haiku",
            token_threshold=8000,
            agent="codex",
            claude_cli="/opt/claude",
            codex_cli="/opt/codex",
        ),
    )


@pytest.mark.parametrize(
    ("text", "workspaces"),
    [
        ("workspaces: ~/memory", ("~/memory",)),
        ("workspaces: [project=.memory, global=~/m]", ("project=.memory", "global=~/m")),
        ("workspaces:\n  - /a b/c", ("/a b/c",)),
        ("workspaces: {个人: ~/记忆}", ("个人=~/记忆",)),
    ],
)
def test_workspaces_take_a_path_a_list_or_a_mapping(
    file: Path, text: str, workspaces: tuple[str, ...]
) -> None:
    file.write_text(text, encoding="utf-8")
    loaded = config.load(file)
    assert (loaded.settings.workspaces, loaded.mistakes) == (workspaces, ())


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("off", "off"),
        ("no", "off"),
        ("false", "off"),
        ("on", "on"),
        ("Yes", "on"),
        ("auto", "auto"),
    ],
)
def test_git_commit_understands_the_words_that_yaml_makes_booleans(
    file: Path, word: str, mode: str
) -> None:
    file.write_text(f"git_commit: {word}\n", encoding="utf-8")
    loaded = config.load(file)
    assert (loaded.settings.git_commit, loaded.mistakes) == (mode, ())


MISTAKES: dict[str, tuple[str, int]] = {
    "git_commit: sometimes": ("git_commit: sometimes", 1),
    "a number for a mode": ("\ngit_commit: 3", 2),
    "an unknown setting": ("git_commit: on\ncolour: red", 2),
    "an unknown ingest setting": ("ingest:\n  enabld: true", 2),
    "a text for an amount": ("ingest:\n  daily_usd: lots", 2),
    "a negative amount": ("ingest:\n\n  daily_usd: -1", 3),
    "not a number": ("ingest:\n  daily_usd: .nan", 2),
    "an unknown agent": ("ingest:\n  agent: gemini", 2),
    "an address of another kind": ("embedding:\n  url: ftp://x", 2),
    "a key in the file": ("embedding:\n  api_key: sk-123", 2),
    "a list for a mapping": ("embedding:\n  - url", 1),
    "empty workspaces": ("workspaces: {}", 1),
    "a nested path": ("workspaces:\n  a: {b: c}", 2),
    "twice": ("git_commit: on\ngit_commit: on", 2),
    "twice below": ("ingest:\n  layer: a\n  layer: b", 3),
    "names that are not unique": ("git_commit: on\nworkspaces: [~/a/m, ~/b/m]", 2),
    "a name that is none": ("\nworkspaces:\n  a b: ~/m\n  c: ~/n", 2),
    "a path with a NUL": ('workspaces: "/a\\0b"', 1),
    "a missing value": ("ingest:\n  enabled:", 2),
    "broken": ("git_commit: [", 1),
    "a tab": ("ingest:\n\tenabled: true", 2),
    "a list at the top": ("- a", 1),
    "a list for a key": ("? [a]\n: b", 1),
    "two documents": ("a: b\n---\nc: d", 2),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_with_its_line(file: Path, name: str) -> None:
    text, line = MISTAKES[name]
    file.write_text(text, encoding="utf-8")
    loaded = config.load(file)
    assert [mistake.line for mistake in loaded.mistakes] == [line]


def test_a_mistake_costs_its_own_setting_only(file: Path) -> None:
    file.write_text("git_commit: sometimes\ningest: {daily_usd: 3, agent: x}\n", encoding="utf-8")
    loaded = config.load(file)
    assert loaded.settings == Settings(ingest=IngestSettings(daily_usd=3.0))
    assert [mistake.line for mistake in loaded.mistakes] == [1, 2]


def test_capture_stays_off_when_its_switch_is_not_understood(file: Path) -> None:
    file.write_text("ingest: {enabled: nope}\n", encoding="utf-8")
    assert config.load(file).settings.ingest.enabled is False


def test_the_key_itself_is_never_read_nor_shown(file: Path) -> None:
    file.write_text("embedding: {api_key: sk-secret-1}\n", encoding="utf-8")
    assert "sk-secret-1" not in repr(config.load(file))


def test_a_file_over_the_limit_is_not_read(file: Path) -> None:
    file.write_text("# " + "x" * config.SIZE_LIMIT, encoding="utf-8")
    loaded = config.load(file)
    assert (loaded.settings, len(loaded.mistakes)) == (Settings(), 1)


def test_a_directory_in_the_file_s_place_is_a_mistake(file: Path) -> None:
    file.mkdir()
    assert len(config.load(file).mistakes) == 1


HOSTILE = {
    "deep flow": b"[" * 20_000,
    "deep mappings": b"{a: " * 10_000,
    "a bomb of aliases": b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nworkspaces: [*c, *c]\n",
    "an alias to itself": b"workspaces: &a [*a]\n",
    "a python tag": b"git_commit: !!python/object/apply:os.system [ls]\n",
    "not UTF-8": b"\xff\xfe\xfa",
    "control characters": b"git_commit: \x00\x01",
    "a BOM": b"\xef\xbb\xbfgit_commit: on\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_no_more_than_the_settings(file: Path, name: str) -> None:
    file.write_bytes(HOSTILE[name])
    config.load(file)


@settings(max_examples=80)
@given(
    raw=st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace"))
    )
)
def test_any_bytes_give_settings(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(raw)
    config.load(file)


def test_a_pipe_in_the_file_s_place_is_a_mistake_and_waits_for_nobody(file: Path) -> None:
    os.mkfifo(file)
    loaded = config.load(file)
    assert (loaded.settings, len(loaded.mistakes)) == (Settings(), 1)
