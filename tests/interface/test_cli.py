"""Every command, as a person and as a program meets it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scriptorium import __version__
from scriptorium.interface import parser

from .conftest import MOVE, Remembered, creation, digest, topic

PATH = "topics/personal/residence.md"
COMMANDS = (
    "init",
    "validate",
    "mcp",
    "ingest",
    "status",
    "search",
    "show",
    "sync",
    "forget",
    "doctor",
    "demo",
)

type Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(program: list[str], environment: dict[str, str], tmp_path: Path) -> Run:
    def go(*arguments: str, stdin: str = "", **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *arguments],
            env={**environment, **extra},
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return go


def _block(root: Path) -> str:
    found = re.search(r" \^([0-9a-f]{8})$", (root / PATH).read_text(), re.MULTILINE)
    assert found
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: scriptorium {command}")


def test_the_commands_are_those_of_the_general_help(run: Run) -> None:
    done = run("--help")
    assert re.findall(r"^    (\w+) ", done.stdout, re.MULTILINE) == list(COMMANDS)


def test_every_flag_has_its_words() -> None:
    commands = parser.build()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    for name, command in commands.items():  # type: ignore[union-attr]
        for action in command._actions:
            assert action.help or action.choices or action.dest == "model", (name, action.dest)


def test_the_version_is_the_package_s(run: Run) -> None:
    assert run("--version").stdout == f"scriptorium {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("forget",),
        ("search",),
        ("status", "--verbose"),
        ("search", "x", "--method", "grep"),
        ("search", "x", "--top-k", "many"),
        ("mcp", "--git-commit", "sometimes"),
        ("status", "--workspace", "nowhere"),
        ("validate", "--workspace", "nowhere"),
        ("status", "--workspace", "a=", "--workspace", "b"),
        ("ingest", "--transcript", "nowhere.jsonl"),
        ("ingest", "--backfill", "nowhere"),
    ],
    ids=str,
)
def test_wrong_usage_is_exit_two_with_the_reason_on_stderr(
    run: Run, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip()
    assert not (tmp_path / "nowhere").exists(), "a command that reads makes no workspace"


def test_init_makes_a_workspace_without_ignoring_it(run: Run, tmp_path: Path) -> None:
    done = run("init", "my memory")
    root = tmp_path / "my memory"
    assert done.returncode == 0
    assert {entry.name for entry in root.iterdir()} == {
        ".scriptorium",
        "core.md",
        "sources",
        "topics",
    }
    assert root.stat().st_mode & 0o777 == 0o700
    assert run("validate", "--workspace", str(root)).returncode == 0


def test_init_of_an_existing_workspace_reports_and_changes_nothing(
    run: Run, residence: Remembered
) -> None:
    before = digest(residence.root)
    done = run("init", str(residence.root))
    assert done.returncode == 0
    assert "1 blocks" in done.stdout
    assert digest(residence.root) == before


def test_init_over_a_file_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert run("init", "file").returncode == 2


def test_init_of_an_empty_path_is_refused(run: Run, tmp_path: Path) -> None:
    assert run("init", "").returncode == 2
    assert not (tmp_path / "core.md").exists()


def test_validate_passes_what_memory_update_wrote(run: Run, residence: Remembered) -> None:
    done = run("validate", "--workspace", str(residence.root))
    assert done.returncode == 0, done.stdout
    shown = run("validate", "--workspace", str(residence.root), "--json")
    assert json.loads(shown.stdout) == {"ok": True, "problems": []}


def test_validate_names_each_problem_and_exits_one(run: Run, residence: Remembered) -> None:
    (residence.root / "topics" / "x.md").write_text("# X\n\nNo id.\n")
    before = digest(residence.root)
    done = run("validate", "--workspace", str(residence.root), "--json")
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 1
    assert ("topics/x.md", 3) in {(p["path"], p["line"]) for p in problems}
    assert run("validate", "--workspace", str(residence.root)).returncode == 1
    assert digest(residence.root) == before


def test_status_is_readable_and_its_json_is_the_tool_s(run: Run, residence: Remembered) -> None:
    root = str(residence.root)
    assert "1 blocks" in run("status", "--workspace", root).stdout
    answer = json.loads(run("status", "--workspace", root, "--json").stdout)
    assert answer["data"]["blocks"] == 1
    assert answer["revision"] == residence.revision


def test_search_lists_hits_and_exits_one_without_any(run: Run, residence: Remembered) -> None:
    root = str(residence.root)
    found = run("search", "pudong", "--workspace", root)
    assert found.returncode == 0
    assert f"{PATH}  ^{_block(residence.root)}" in found.stdout
    assert "\x1b" not in found.stdout
    assert run("search", "zzzz", "--workspace", root).returncode == 1
    answer = json.loads(run("search", "pudong", "--workspace", root, "--json").stdout)
    assert answer["data"]["results"][0]["path"] == PATH


def test_search_without_an_endpoint_says_what_to_set(run: Run, residence: Remembered) -> None:
    done = run("search", "x", "--method", "embedding", "--workspace", str(residence.root))
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1


def test_show_prints_a_block_with_the_words_it_came_from(run: Run, residence: Remembered) -> None:
    root = str(residence.root)
    for block in (_block(residence.root), f"^{_block(residence.root)}"):
        done = run("show", block, "--workspace", root)
        assert done.returncode == 0
        assert "The user moved to Pudong." in done.stdout
        assert str(MOVE["content"]) in done.stdout
    answer = json.loads(run("show", _block(residence.root), "--workspace", root, "--json").stdout)
    assert answer["data"]["mode"] == "block"


def test_show_of_an_unknown_block_exits_one(run: Run, residence: Remembered) -> None:
    done = run("show", "00000000", "--workspace", str(residence.root))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


def test_control_characters_of_memory_do_not_reach_the_terminal(
    run: Run, remembered: Remembered
) -> None:
    hostile = {**MOVE, "content": "pudong \x1b]0;owned\x07 \x1b[2J"}
    remembered.update(creation(PATH, topic("residence", "The user moved.")), hostile)
    block = _block(remembered.root)
    for arguments in (("show", block), ("search", "pudong")):
        assert "\x1b" not in run(*arguments, "--workspace", str(remembered.root)).stdout


def test_layers_are_read_by_name(run: Run, residence: Remembered, tmp_path: Path) -> None:
    run("init", "other")
    layers = ("--workspace", f"a={residence.root}", "--workspace", f"b={tmp_path / 'other'}")
    assert f"a:{PATH}" in run("search", "pudong", *layers).stdout
    assert "Layer b" in run("status", *layers).stdout


def test_the_settings_workspaces_are_served_without_flags(
    run: Run, residence: Remembered, environment: dict[str, str]
) -> None:
    folder = Path(environment["HOME"]) / ".scriptorium"
    folder.mkdir()
    (folder / "config.yaml").write_text(f"workspaces: '{residence.root}'\n")
    assert run("search", "pudong").returncode == 0


def test_nothing_remembered_yet_is_told_and_makes_nothing(
    run: Run, environment: dict[str, str]
) -> None:
    done = run("status")
    assert done.returncode == 2
    assert "init" in done.stderr
    assert list(Path(environment["HOME"]).iterdir()) == []


def test_a_closed_pipe_ends_quietly(
    program: list[str], environment: dict[str, str], residence: Remembered
) -> None:
    command = [*program, "search", "pudong", "--workspace", str(residence.root)]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command, env=environment, stdout=write, stderr=subprocess.PIPE, timeout=120, check=False
    )
    os.close(write)
    assert done.stderr == b""


@pytest.mark.parametrize(("extra", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_is_for_a_terminal_and_no_color_is_respected(
    program: list[str],
    environment: dict[str, str],
    residence: Remembered,
    extra: dict[str, str],
    coloured: bool,
) -> None:
    ours, theirs = pty.openpty()
    subprocess.run(
        [*program, "search", "pudong", "--workspace", str(residence.root)],
        env={**environment, "TERM": "xterm", **extra},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        timeout=120,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert ("\x1b[" in shown) is coloured
    assert ("\x1b[1;33mPudong\x1b[0m" in shown) is coloured


def test_a_c_locale_prints_every_script(run: Run, remembered: Remembered) -> None:
    said = {**MOVE, "content": "用户搬到了浦东 🚇"}
    remembered.update(creation(PATH, topic("residence", "用户住在浦东。")), said)
    done = run("search", "浦东", "--workspace", str(remembered.root), LC_ALL="C", LANG="C")
    assert "浦东" in done.stdout


def test_demo_runs_the_whole_loop_and_leaves_nothing(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    done = run("demo", TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("memory_status", "memory_update", "memory_search", "CONCURRENT_UPDATE", "└──"):
        assert part in done.stdout
    assert "The user moved to Pudong and walks to the office.[^e-" in done.stdout
    assert "\x1b" not in done.stdout
    assert list(Path(environment["HOME"]).iterdir()) == []
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "home"] == []


def test_demo_fails_when_the_server_does(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    dying = "import sys\nif 'mcp' in sys.orig_argv:\n    raise SystemExit(3)\n"
    (tmp_path / "sitecustomize.py").write_text(dying)
    done = run("demo", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "✗ " in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    "stdin", ["", "not json", "[]", "{}", '{"transcript_path": 3}', "[" * 9999]
)
def test_the_hook_s_ingest_is_silent_and_never_fails(run: Run, stdin: str) -> None:
    done = run("ingest", "--hook", stdin=stdin)
    assert (done.returncode, done.stdout) == (0, "")


def _transcript(folder: Path) -> Path:
    """A session of one turn."""
    row = {
        "type": "user",
        "uuid": "u-1",
        "sessionId": "s-1",
        "timestamp": "2026-08-03T10:30:00Z",
        "cwd": str(folder),
        "isSidechain": False,
        "origin": {"kind": "human"},
        "message": {"role": "user", "content": "I have moved to Pudong."},
    }
    file = folder / "t.jsonl"
    file.write_text(json.dumps(row) + "\n")
    return file


def test_the_hook_s_ingest_holds_a_turn_until_there_is_enough(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    turn = {"session_id": "s-1", "transcript_path": str(_transcript(tmp_path))}
    done = run("ingest", "--hook", stdin=json.dumps({**turn, "cwd": str(tmp_path)}))
    assert (done.returncode, done.stdout) == (0, "")
    root = Path(environment["HOME"]) / ".scriptorium" / "memory"
    answer = json.loads(run("status", "--workspace", str(root), "--json").stdout)
    assert answer["data"]["ingest"]["pending_tokens"] > 0
    preview = json.loads(run("ingest", "--dry-run", "--force", "--json").stdout)
    assert preview["outcome"] == "dry-run"
    assert "I have moved to Pudong." in run("ingest", "--dry-run", "--force").stdout


@pytest.mark.parametrize("by", ["flag", "setting"])
def test_codex_is_run_from_the_place_that_is_named(
    run: Run, environment: dict[str, str], tmp_path: Path, by: str
) -> None:
    program = tmp_path / "my-codex"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/was-run'\nexit 1\n")
    program.chmod(0o700)
    flags = ["--codex-cli", str(program)]
    if by == "setting":
        folder = Path(environment["HOME"]) / ".scriptorium"
        folder.mkdir()
        (folder / "config.yaml").write_text(f"ingest:\n  codex_cli: {program}\n")
        flags = []
    transcript = str(_transcript(tmp_path))
    done = run("ingest", "--transcript", transcript, "--force", "--agent", "codex", *flags)
    assert done.returncode == 1, "this codex writes nothing"
    assert (tmp_path / "was-run").exists()


def test_backfill_reads_each_transcript_once(run: Run, tmp_path: Path) -> None:
    _transcript(tmp_path)
    first = json.loads(run("ingest", "--backfill", str(tmp_path), "--json").stdout)
    again = json.loads(run("ingest", "--backfill", str(tmp_path), "--json").stdout)
    assert (first["added"], again["added"]) == (1, 0)


def test_ingest_without_anything_pending_costs_nothing(run: Run, tmp_path: Path) -> None:
    done = run("ingest", "--workspace", str(tmp_path / "memory"), "--json")
    assert json.loads(done.stdout)["outcome"] == "waiting"


def test_ingest_is_off_when_the_settings_say_so(run: Run, environment: dict[str, str]) -> None:
    folder = Path(environment["HOME"]) / ".scriptorium"
    folder.mkdir()
    (folder / "config.yaml").write_text("ingest:\n  enabled: off\n")
    assert json.loads(run("ingest", "--json").stdout)["outcome"] == "disabled"
