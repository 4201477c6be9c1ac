"""`scriptorium sync` and `scriptorium forget`, as a person runs them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from scriptorium.capture import archived, pending
from scriptorium.capture.conversation import Message
from scriptorium.search import arrays, compact, context
from scriptorium.search.arrays import Stored
from scriptorium.search.follower import Follower
from scriptorium.workspace import journal
from scriptorium.workspace.workspace import Workspace

from .conftest import MOVE, Layered, Remembered, creation, topic

PATH = "topics/personal/residence.md"

type Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(program: list[str], environment: dict[str, str], tmp_path: Path) -> Run:
    def go(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *arguments],
            env=environment,
            cwd=tmp_path,
            input="",
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return go


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


def holding(root: Path, text: bytes) -> list[str]:
    """The files below the workspace that hold the text, as `grep -ri` finds them."""
    return sorted(
        str(place.relative_to(root))
        for place in root.rglob("*")
        if place.is_file()
        and place.relative_to(root).parts[0] != ".git"
        and text.lower() in place.read_bytes().lower()
    )


# --- sync


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "bare.git")
    return tmp_path / "bare.git"


def own_repository(root: Path, bare: Path) -> Path:
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "remote", "add", "hub", str(bare))
    return root


def test_two_workspaces_are_one_after_sync(
    run: Run, residence: Remembered, bare: Path, tmp_path: Path
) -> None:
    first = own_repository(residence.root, bare)
    done = run("sync", "--workspace", str(first))
    assert (done.returncode, done.stderr) == (0, "")
    assert "sent 1 commit" in done.stdout

    git(tmp_path, "clone", "--quiet", "--branch", "main", str(bare), "second")
    second = tmp_path / "second"
    done = run("sync", "--workspace", str(second), "--remote", "origin", "--json")
    synced = json.loads(done.stdout)["synced"][0]
    assert synced["remote"] == "origin/main"
    assert (second / PATH).read_bytes() == (first / PATH).read_bytes()
    assert run("validate", "--workspace", str(second)).returncode == 0
    again = run("sync", "--workspace", str(first))
    assert again.returncode == 0


@pytest.mark.parametrize("made", [False, True], ids=["no-repository", "no-remote"])
def test_sync_without_a_remote_is_one_line_that_says_what_to_do(
    run: Run, residence: Remembered, made: bool
) -> None:
    if made:
        git(residence.root, "init", "--quiet")
    done = run("sync", "--workspace", str(residence.root))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "git remote add" in done.stderr


def test_a_conflict_exits_one_and_names_file_and_lines(
    run: Run, residence: Remembered, bare: Path, tmp_path: Path
) -> None:
    first = own_repository(residence.root, bare)
    assert run("sync", "--workspace", str(first)).returncode == 0
    git(tmp_path, "clone", "--quiet", "--branch", "main", str(bare), "second")
    second = tmp_path / "second"
    for root, town in ((first, "Lyon"), (second, "Rome")):
        (root / PATH).write_text((root / PATH).read_text().replace("Pudong", town))
    assert run("sync", "--workspace", str(first)).returncode == 0
    before = (second / PATH).read_bytes()
    done = run("sync", "--workspace", str(second))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert f"{PATH} (lines 5 here, 5 there)" in done.stderr
    assert (second / PATH).read_bytes() == before


# --- forget


def block_of(root: Path) -> str:
    found = re.search(r" \^([0-9a-f]{8})$", (root / PATH).read_text(), re.MULTILINE)
    assert found
    return found[1]


def test_forget_shows_first_and_without_a_terminal_does_nothing(
    run: Run, residence: Remembered
) -> None:
    root = residence.root
    before = (root / PATH).read_bytes()
    done = run("forget", "--match", "pudong", "--workspace", str(root))
    assert done.returncode == 2
    assert "The user moved to Pudong." in done.stdout
    assert str(MOVE["content"]) in done.stdout
    assert "--yes" in done.stderr
    assert (root / PATH).read_bytes() == before


def test_a_dry_run_changes_nothing(run: Run, residence: Remembered) -> None:
    root = residence.root
    before = residence.revision
    done = run("forget", block_of(root), "--dry-run", "--json", "--workspace", str(root))
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["dry_run"]) == (0, True)
    assert [b["id"] for b in shown["blocks"]] == [block_of(root)]
    assert len(shown["sources"]) == 1
    assert residence.revision == before


@pytest.mark.parametrize(("answer", "forgotten"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_on_a_terminal_it_asks(
    program: list[str],
    environment: dict[str, str],
    residence: Remembered,
    answer: str,
    forgotten: bool,
) -> None:
    block = block_of(residence.root)
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    done = subprocess.run(
        [*program, "forget", block, "--workspace", str(residence.root)],
        env=environment,
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == (0 if forgotten else 1)
    assert (residence.root / PATH).exists() is not forgotten


def wait(root: Path, *texts: str) -> list[Message]:
    """Messages that wait to be written."""
    messages = [
        Message("claude-code", "session", f"m{n}", "user", text, None, None)
        for n, text in enumerate(texts)
    ]
    layout = Workspace.open(root).layout
    assert pending.add(layout, messages, datetime(2026, 8, 9, tzinfo=UTC)) == len(texts)
    return messages


def test_no_file_below_the_workspace_holds_the_text_afterwards(
    run: Run, residence: Remembered
) -> None:
    root = residence.root
    residence.update(
        creation("topics/pets.md", topic("pets", "The user has a cat.")),
        {**MOVE, "content": "My cat is called Mimi; she likes Pudong."},
    )
    (root / "core.md").write_text("# Core memory\n\n- Lives in Pudong.\n- Has a cat.\n")
    gone, stays = wait(root, "Pudong is far away.", "Mimi is asleep.")
    workspace = Workspace.open(root)
    compact.store(workspace.layout, compact.compacted(Follower(workspace).current()))
    assert ".scriptorium/cache/search.arrays" in holding(root, b"pudong")
    done = run("forget", "--match", "PUDONG", "--yes", "--workspace", str(root))

    assert (done.returncode, done.stderr) == (0, "")
    assert holding(root, b"pudong") == []
    assert run("validate", "--workspace", str(root)).returncode == 0
    assert run("search", "pudong", "--workspace", str(root)).returncode == 1
    assert "pudong" not in run("search", "cat", "--workspace", str(root)).stdout.lower()
    waiting = pending.load(workspace.layout).waiting
    assert [w.message for w in waiting] == [stays]
    marks = archived.load(workspace.layout)
    marked = {key: archived.mark(key) in marks for key in (*gone.keys, *stays.keys)}
    expected = dict.fromkeys(gone.keys, True) | dict.fromkeys(stays.keys, False)
    assert marked == expected, "its transcript does not bring it back"


def test_a_chinese_text_is_forgotten_in_caches_that_escape_it(
    run: Run, residence: Remembered
) -> None:
    root = residence.root
    residence.update(
        creation("topics/home.md", topic("home", "用户住在浦东。")),
        {**MOVE, "content": "我搬到浦东了。"},
    )
    wait(root, "浦东很远。")
    done = run("forget", "--match", "浦东", "--yes", "--workspace", str(root))
    assert done.returncode == 0, done.stdout
    assert holding(root, "浦东".encode()) == []
    assert holding(root, b"\\u6d66\\u4e1c") == []


def test_of_the_vectors_those_of_the_forgotten_go(run: Run, residence: Remembered) -> None:
    root = residence.root
    residence.update(
        creation("topics/pets.md", topic("pets", "The user has a cat.")),
        {**MOVE, "content": "My cat is called Mimi."},
    )
    workspace = Workspace.open(root)
    follower = Follower(workspace)
    keys = context.keys(follower.current())
    follower.settle()
    keys = keys[np.argsort(keys[:, 0])]
    table = {"keys": keys, "vectors": np.ones((len(keys), 3), np.float32)}
    name = "vectors-abc-3.arrays"
    packed = arrays.pack(Stored({"format": "1"}, {}, table))
    journal.write_runtime(workspace.layout, f"cache/{name}", packed)
    assert run("forget", "--match", "pudong", "--yes", "--workspace", str(root)).returncode == 0
    left = arrays.load(workspace.layout.cache / name)
    assert left is not None
    assert 0 < len(left.arrays["keys"]) == len(left.arrays["vectors"]) < len(keys)


def test_a_linked_block_is_refused_and_the_links_are_named(run: Run, residence: Remembered) -> None:
    root = residence.root
    block = block_of(root)
    (root / "core.md").write_text(f"# Core memory\n\nSee [home]({PATH}#^{block}).\n")
    done = run("forget", block, "--yes", "--workspace", str(root))
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"core.md:3: links to ^{block}" in done.stderr
    assert block_of(root) == block


def test_what_git_keeps_is_said_with_the_command_that_rewrites_it(
    run: Run, residence: Remembered, bare: Path
) -> None:
    root = own_repository(residence.root, bare)
    assert run("sync", "--workspace", str(root)).returncode == 0
    done = run("forget", "--match", "Pudong", "--yes", "--json", "--workspace", str(root))
    answer = json.loads(done.stdout)
    assert (answer["left"], answer["conflict_copies"]) == ([], [])
    assert any("git filter-repo" in line for line in answer["history"])
    assert git(root, "log", "-1", "--format=%s") == "Forget\n"
    assert git(root, "status", "--porcelain") == ""
    found = subprocess.run(["git", "grep", "-iq", "pudong", "HEAD"], cwd=root, check=False)
    assert found.returncode == 1


@pytest.fixture
def both(layered: Layered) -> Remembered:
    """Two layers: the second alone has a cat, both have Pudong."""
    made = layered("project", "global")
    text = topic("residence", "The user moved to Pudong.")
    for name in ("project", "global"):
        made.update(creation(PATH, text), MOVE, layer=name)
    pets = creation("topics/pets.md", topic("pets", "The user has a cat."))
    made.update(pets, {**MOVE, "content": "My cat is called Mimi."}, layer="global")
    return made


def flags(memory: Remembered) -> list[str]:
    """The flags that serve its layers."""
    opened = memory.memory.layers.opened.items()
    return [part for name, it in opened for part in ("--workspace", f"{name}={it.root}")]


@pytest.mark.parametrize("by", ["block", "text"])
def test_what_one_of_several_layers_holds_is_forgotten_there(
    run: Run, both: Remembered, by: str
) -> None:
    path = "topics/pets.md"
    root = both.memory.workspace("global").root
    found = re.search(r" \^([0-9a-f]{8})$", (root / path).read_text(), re.MULTILINE)
    assert found
    what = [found[1]] if by == "block" else ["--match", "Mimi"]
    done = run("forget", *what, "--yes", "--json", *flags(both))
    assert (done.returncode, json.loads(done.stdout)["layer"]) == (0, "global")
    assert holding(root, b"Mimi") == []
    assert both.ok("memory_read", path=f"project:{PATH}")["mode"] == "file"


def test_what_several_layers_hold_is_forgotten_in_the_one_that_is_named(
    run: Run, both: Remembered
) -> None:
    done = run("forget", "--match", "Pudong", "--yes", *flags(both))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    done = run("forget", "--match", "Pudong", "--yes", "--layer", "global", *flags(both))
    assert (done.returncode, done.stderr) == (0, "")
    assert holding(both.memory.workspace("global").root, b"pudong") == []
    assert holding(both.memory.workspace("project").root, b"pudong") != []


@pytest.mark.parametrize(
    ("what", "code"), [(["00000000"], 1), (["--match", "zzz"], 1), (["x", "--layer", "none"], 2)]
)
def test_what_no_layer_holds_changes_none(
    run: Run, both: Remembered, what: list[str], code: int
) -> None:
    before = both.revision
    assert run("forget", *what, "--yes", *flags(both)).returncode == code
    assert both.revision == before


def test_what_nothing_holds_exits_one(run: Run, residence: Remembered) -> None:
    done = run("forget", "--match", "nowhere", "--yes", "--workspace", str(residence.root))
    assert done.returncode == 1


def test_a_copy_that_a_person_has_to_delete_is_named_and_exits_one(
    run: Run, residence: Remembered
) -> None:
    copy = residence.root / f"{PATH}.conflict-20260809T120000Z"
    copy.write_text("Pudong\n")
    done = run("forget", "--match", "pudong", "--yes", "--workspace", str(residence.root))
    assert done.returncode == 1
    assert f"{PATH}.conflict-20260809T120000Z" in done.stdout
    assert holding(residence.root, b"pudong") == [f"{PATH}.conflict-20260809T120000Z"]


@pytest.mark.parametrize("arguments", [(), ("abc", "--match", "x"), ("--match", " ")])
def test_it_wants_one_block_or_one_text(
    run: Run, residence: Remembered, arguments: tuple[str, ...]
) -> None:
    done = run("forget", *arguments, "--yes", "--workspace", str(residence.root))
    assert (done.returncode, done.stdout) == (2, "")


CUT_SHORT = """
import os, sys
from scriptorium.interface import cli, erasing
erasing.finish = lambda *_: os._exit(9)
cli.main(sys.argv[1:])
"""


def test_one_that_was_killed_before_its_end_is_ended_by_the_next(
    run: Run, residence: Remembered, environment: dict[str, str]
) -> None:
    root = residence.root
    block = block_of(root)
    log = root / ".scriptorium" / "server.log"
    log.write_text("The user moved to Pudong.\nfine\n")
    arguments = ["forget", block, "--yes", "--workspace", str(root)]
    killed = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, *arguments],
        env=environment,
        check=False,
        capture_output=True,
    )
    assert killed.returncode == 9, killed.stderr
    assert not (root / PATH).exists()
    assert ".scriptorium/server.log" in holding(root, b"pudong")

    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cut short" in done.stdout
    assert holding(root, b"pudong") == []
    assert run(*arguments).returncode == 1, "it is done, and the block unknown again"


def test_what_another_machine_had_erased_goes_from_caches_here_too(
    run: Run, residence: Remembered, bare: Path, tmp_path: Path
) -> None:
    one = own_repository(residence.root, bare)
    assert run("sync", "--workspace", str(one)).returncode == 0
    two = tmp_path / "two"
    git(tmp_path, "clone", "--quiet", str(bare), str(two))
    assert run("sync", "--workspace", str(two)).returncode == 0
    workspace = Workspace.open(two)
    compact.store(workspace.layout, compact.compacted(Follower(workspace).current()))
    wait(two, MOVE["content"], "Mimi is asleep.")
    assert run("forget", "--match", "Pudong", "--yes", "--workspace", str(one)).returncode == 0
    assert run("sync", "--workspace", str(one)).returncode == 0
    assert run("sync", "--workspace", str(two)).returncode == 0
    assert [p for p in holding(two, b"pudong") if not p.startswith(".git/")] == []
    texts = [w.message.text for w in pending.load(workspace.layout).waiting]
    assert texts == ["Mimi is asleep."]


def test_a_waiting_message_that_shares_a_line_with_a_forgotten_one_stays(
    run: Run, residence: Remembered
) -> None:
    root = residence.root
    line = "import numpy as np  # the first line of both"
    residence.update(
        creation("topics/code.md", topic("code", "The user writes Python.")),
        {**MOVE, "content": f"{line}\nprint(1)"},
    )
    stays, goes = wait(root, f"{line}\nprint(2)", f"Again:\n{line}\nprint(1)")
    text = (root / "topics/code.md").read_text()
    block = re.search(r" \^([0-9a-f]{8})$", text, re.MULTILINE)
    assert block
    shown = run("forget", block[1], "--dry-run", "--workspace", str(root)).stdout
    assert goes.text.split("\n")[-1] in shown
    assert "print(2)" not in shown
    done = run("forget", block[1], "--yes", "--workspace", str(root))
    assert ".scriptorium/ingest/" in done.stdout, "the line that is still there is told"
    waiting = pending.load(Workspace.open(root).layout).waiting
    assert [w.message for w in waiting] == [stays]


def test_a_file_that_cannot_be_searched_is_named(run: Run, residence: Remembered) -> None:
    place = residence.root / "notes"
    place.mkdir()
    (place / "a.txt").write_text("Pudong")
    (place / "a.txt").chmod(0)
    try:
        done = run("forget", "--match", "pudong", "--yes", "--workspace", str(residence.root))
    finally:
        (place / "a.txt").chmod(0o600)
    assert done.returncode == 1
    assert "notes/a.txt" in done.stdout  # unreadable, or, for root, read


def test_that_git_did_not_take_it_is_said(run: Run, residence: Remembered, bare: Path) -> None:
    root = own_repository(residence.root, bare)
    assert run("sync", "--workspace", str(root)).returncode == 0
    git(root, "checkout", "--quiet", "--detach")
    done = run("forget", "--match", "Pudong", "--yes", "--workspace", str(root))
    assert "Not committed to Git: no branch is checked out" in done.stdout
    lines = [line.strip() for line in done.stdout.splitlines()]
    committed = lines.index("git commit --all --allow-empty -m 'Before the rewrite'")
    assert committed < next(n for n, line in enumerate(lines) if "filter-repo --force" in line)
