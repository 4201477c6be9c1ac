"""What the pages tell people to type is typed here, and what they show is read.

Every fenced block of the pages is of a kind that is known below, and of each kind every block is
run, loaded or checked. The shell blocks run line by line in a home of their own, where there is
a memory, a remote and an embedding endpoint. What cannot run here (the clients, downloads) names
the test that runs it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scriptorium.format import contract, ids, markdown, sources
from scriptorium.format.model import RelPath, SourceId
from scriptorium.interface import config, parser
from scriptorium.workspace import transaction

from .conftest import MOVE, Remembered, creation, topic
from .endpoint import endpoint

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/*.md"))]
HUB = "git@example.org:you/memory.git"
"""The address of a repository, as the pages write it."""
SHOWN = "76fd3b6c"
"""The id of a block, as the pages write it."""
BLOCK_IDS = re.compile(r"\^([0-9a-f]{8})$", re.MULTILINE)

CLIENTS = {
    "claude": ("claude_code.py", "test_claude_code.py", "test_layers.py"),
    "codex": ("codex.py", "test_codex.py"),
}
"""The files of tests/clients where the real client is given the same words."""
ELSEWHERE = {
    "bin/test": "these tests run in it",
    "pip install git+https://github.com/Fzkuji/Scriptorium.git": "tests/plugin/test_wheel.py",
    "ollama pull nomic-embed-text": "the endpoint of the tests has this model",
}
EXITS = {"scriptorium doctor": (0, 1)}
"""How else than by 0 a command may end where nothing is wrong: the tests' machine has no client."""


@dataclass(frozen=True, slots=True)
class Fence:
    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def fences(*languages: str) -> list[Fence]:
    """The fenced blocks of the pages, in these languages or all."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Fence(page.name, line, match[1], match[2]))
    return [fence for fence in found if not languages or fence.language in languages]


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    kinds = {"sh", "yaml", "json", "toml", "markdown", "text"}
    assert {fence.language for fence in fences()} == kinds


# --- shell


def lines_of(fence: Fence) -> list[str]:
    """The commands of a shell block, without comments."""
    joined = fence.text.replace("\\\n", " ").splitlines()
    return [text for line in joined if (text := re.sub(r"(^|\s)#.*$", "", line).strip())]


@dataclass(frozen=True, slots=True)
class Sandbox:
    home: Path
    hub: Path
    environ: dict[str, str]

    @property
    def memory(self) -> Path:
        return self.home / ".scriptorium" / "memory"

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """The line, as it stands, in a shell in a project of that home."""
        return subprocess.run(
            ["sh", "-c", line.replace(HUB, str(self.hub))],
            env=self.environ,
            cwd=self.home / "project",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    def done(self, line: str) -> None:
        """The line ends well."""
        ended = self.run(line)
        assert ended.returncode in EXITS.get(line, (0,)), f"{line}\n{ended.stdout}{ended.stderr}"


@pytest.fixture(scope="module")
def ollama() -> Iterator[str]:
    with endpoint("nomic-embed-text", 8) as url:
        yield url


@pytest.fixture
def sandbox(
    environment: dict[str, str], remembered: Remembered, ollama: str, tmp_path: Path
) -> Sandbox:
    """A home with a memory whose blocks the pages speak of, and an empty repository beside it."""
    home = Path(environment["HOME"])
    held = "The user keeps the text of the old address in a drawer of the office."
    remembered.update(creation("topics/personal/residence.md", topic("residence", held)), MOVE)
    file = remembered.root / "topics" / "personal" / "residence.md"
    file.write_text(BLOCK_IDS.sub(f"^{SHOWN}", file.read_text()))
    transaction.rebuild_views(remembered.memory.workspace(remembered.memory.layers.default))
    (home / ".scriptorium" / "env").mkdir(parents=True)
    remembered.root.rename(home / ".scriptorium" / "memory")
    settings = f"embedding: {{url: '{ollama}', model: nomic-embed-text}}\n"
    (home / ".scriptorium" / "config.yaml").write_text(settings)
    program = home / "project" / "bin" / "scriptorium"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m scriptorium.interface.cli "$@"\n')
    program.chmod(0o755)
    hub = tmp_path / "hub.git"
    subprocess.run(["git", "init", "-q", "--bare", str(hub)], check=True)
    path = f"{program.parent}:{environment['PATH']}"
    named = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    named |= {"GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_EMAIL": "a@example.org"}
    return Sandbox(home, hub, {**environment, **named, "PATH": path, "GIT_EDITOR": "true"})


def publish(sandbox: Sandbox) -> None:
    """The memory is in the hub, as another machine put it there."""
    for line in (
        "git -C ~/.scriptorium/memory init",
        f"git -C ~/.scriptorium/memory remote add origin {HUB}",
        "scriptorium sync",
    ):
        sandbox.done(line)


def rewrite_history(sandbox: Sandbox) -> None:
    """Another machine rewrites what is in the hub."""
    for line in (
        f"git clone {HUB} ~/other",
        "git -C ~/other commit --amend -m rewritten",
        "git -C ~/other push --force origin HEAD",
    ):
        sandbox.done(line)


def is_about_a_conflict(fence: Fence) -> bool:
    """The one block that needs a conflict to be made first, by a test of its own."""
    return "git merge origin/main" in fence.text


@pytest.mark.parametrize("fence", [f for f in fences("sh") if not is_about_a_conflict(f)], ids=str)
def test_every_command_of_a_shell_block_runs(sandbox: Sandbox, fence: Fence) -> None:
    lines = lines_of(fence)
    assert lines
    if any(line.startswith("git clone") for line in lines):
        publish(sandbox)
        shutil.rmtree(sandbox.memory)
    if any("--accept-rewrite" in line for line in lines):
        publish(sandbox)
        rewrite_history(sandbox)
        assert sandbox.run("scriptorium sync").returncode == 1
    for line in lines:
        words = shlex.split(line)
        if words[0] in CLIENTS:
            assert_a_client_test_gives_the_same_words(words)
        elif line not in ELSEWHERE:
            assert words[0] in ("scriptorium", "bin/scriptorium", "git", "rm", "chmod"), line
            sandbox.done(f"{line} --yes" if is_a_question(words) else line)


def is_a_question(words: list[str]) -> bool:
    """Whether the command asks the person, whom there is none of here."""
    return words[:2] == ["scriptorium", "forget"] and "--dry-run" not in words


def assert_a_client_test_gives_the_same_words(words: list[str]) -> None:
    """A test of tests/clients runs that command of the client; a server after `--` is ours."""
    client, *rest = words
    command = [word for word in rest[:3] if re.fullmatch("[a-z]+", word)]
    # The name of a marketplace is an argument, and the only one made of small letters.
    command = [word for word in command if word != "scriptorium"]
    quoted = ", ".join(f'"{word}"' for word in command)
    files = [ROOT / "tests" / "clients" / name for name in CLIENTS[client]]
    assert any(quoted in file.read_text(encoding="utf-8") for file in files), shlex.join(words)
    if "--" in words:
        assert_a_server_of_ours(words[words.index("--") + 1 :])


def assert_a_server_of_ours(words: list[str]) -> None:
    assert words[:2] == ["scriptorium", "mcp"]
    parser.build().parse_args(words[1:], namespace=parser.Arguments())


def test_a_conflict_is_mended_as_the_page_says(sandbox: Sandbox) -> None:
    (fence,) = filter(is_about_a_conflict, fences("sh"))
    add, edits, merge, commit, sync = lines_of(fence)
    named = {"GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "main"}
    sandbox.environ.update(named, GIT_CONFIG_COUNT="1")
    subprocess.run(
        ["git", "-C", str(sandbox.hub), "symbolic-ref", "HEAD", "refs/heads/main"], check=True
    )
    publish(sandbox)
    other = sandbox.home / "other"
    sandbox.done(f"git clone {HUB} {other}")
    file = "topics/personal/residence.md"
    for root, place in ((sandbox.memory, "cellar"), (other, "attic")):
        text = (root / file).read_text(encoding="utf-8")
        (root / file).write_text(text.replace("drawer", place), encoding="utf-8")
    sandbox.done(f"scriptorium sync --workspace {other}")
    assert sandbox.run(sync).returncode == 1

    inside = f"cd {sandbox.memory} && "
    sandbox.done(inside + add)
    sandbox.done(inside + edits)
    assert sandbox.run(inside + merge).returncode == 1
    text = (sandbox.memory / file).read_text(encoding="utf-8")
    kept = re.sub(r"<<<<<<<.*?\n(.*?)=======\n.*?>>>>>>>.*?\n", r"\1", text, flags=re.DOTALL)
    (sandbox.memory / file).write_text(kept, encoding="utf-8")
    sandbox.done(inside + commit)
    sandbox.done(sync)
    sandbox.done("scriptorium validate")
    assert "cellar" in (sandbox.memory / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_command_inside_a_session_is_the_one_of_the_terminal(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for said in re.findall(r"`/(plugin [^`]+)`", text):
        assert f"claude {said}\n" in text, said


# --- settings


@pytest.mark.parametrize("fence", fences("yaml"), ids=str)
def test_every_settings_block_is_read_without_a_mistake(fence: Fence, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(fence.text, encoding="utf-8")
    loaded = config.load(file)
    assert loaded.mistakes == ()
    assert loaded.settings != config.Settings()


def test_the_settings_block_of_the_guide_names_every_setting(tmp_path: Path) -> None:
    whole = max(fences("yaml"), key=lambda fence: len(fence.text)).text
    whole = re.sub(r"^# ", "", whole.replace("# project", "#   project"), flags=re.MULTILINE)
    file = tmp_path / "config.yaml"
    file.write_text(whole, encoding="utf-8")
    assert config.load(file).mistakes == (), "with every line in force"
    names = {re.sub(r"\W", "", word) for word in re.findall(r"^ *\w+:", whole, re.MULTILINE)}
    for kind in (config.EmbeddingSettings, config.IngestSettings):
        fields = set(kind.__dataclass_fields__)
        assert fields <= names
    assert {"workspaces", "git_commit"} <= names


@pytest.mark.parametrize("fence", fences("json", "toml"), ids=str)
def test_every_client_setting_is_well_formed(fence: Fence) -> None:
    loaded = json.loads(fence.text) if fence.language == "json" else tomllib.loads(fence.text)
    servers = loaded.get("mcpServers") or loaded.get("mcp_servers") or {}
    for server in servers.values():
        assert_a_server_of_ours([server["command"], *server["args"]])
    others = (
        {"disabledMcpServers": ["plugin:scriptorium:scriptorium"]},
        {"permissions": {"allow": ["mcp__plugin_scriptorium_scriptorium"]}},
    )
    assert servers or loaded in others


# --- what memory looks like


class Everything:
    """A workspace that has every source that a text names, and nothing else."""

    def __init__(self, text: str) -> None:
        found = re.findall(r"[\w-]+/[0-9a-f]{16}/[0-9a-f]{16}", text)
        self.sources = {ids.source_id(*name.split("/")) for name in found}

    def block_path(self, block: str) -> RelPath | None:
        del block
        return None

    def source_exists(self, source: str) -> bool:
        return source in self.sources

    def file_exists(self, path: RelPath) -> bool:
        return any(sources.thread_path(source) == path for source in self.sources)

    def anchor_source(self, path: RelPath, anchor: str) -> SourceId | None:
        named = (
            s for s in self.sources if (sources.thread_path(s), ids.anchor(s)) == (path, anchor)
        )
        return next(named, None)


@pytest.mark.parametrize("fence", fences("markdown"), ids=str)
def test_every_topic_that_is_shown_keeps_the_contract(fence: Fence) -> None:
    parsed = markdown.parse_topic(fence.text)
    assert parsed.blocks
    world = Everything(fence.text)
    path = RelPath("topics/personal/residence.md")
    assert contract.check_topic(path, parsed, world) == []


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What `demo` prints, and the memory that it leaves."""
    folder = tmp_path_factory.mktemp("demo")
    environ = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "scriptorium.interface.cli", "demo", "--keep"]
    done = subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )
    (core,) = folder.rglob("core.md")
    return done.stdout, core.parent


def test_the_session_in_the_readme_is_what_the_demo_shows(demonstrated: tuple[str, Path]) -> None:
    (session,) = [f for f in fences("text") if f.page == "README.md" and "▸" in f.text]
    shown = [line.strip() for line in demonstrated[0].splitlines()]
    assert [line for line in session.text.splitlines() if line.strip() not in shown] == []


def test_the_topic_in_the_readme_is_the_one_that_the_demo_leaves(
    demonstrated: tuple[str, Path],
) -> None:
    (fence,) = [fence for fence in fences("markdown") if fence.page == "README.md"]
    left = demonstrated[1] / "topics" / "personal" / "residence.md"
    assert fence.text == left.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "head"), [("README.md", "~/.scriptorium/memory/"), ("architecture.md", ".claude-")]
)
def test_every_file_in_a_picture_of_folders_is_there(
    page: str, head: str, demonstrated: tuple[str, Path]
) -> None:
    (fence,) = [f for f in fences("text") if f.page == page and f.text.startswith(head)]
    root = demonstrated[1] if page == "README.md" else ROOT
    places: list[str] = []
    for line in fence.text.splitlines():
        drawn = re.match(r"[│├└─ ]*", line)
        depth = len(drawn[0]) // 4 if drawn else 0
        name = line[len(drawn[0]) if drawn else 0 :].split()[0]
        places[depth:] = [name]
        inside = "/".join(part.strip("/") for part in places)
        if page == "README.md":
            inside = inside.removeprefix("~/.scriptorium/memory").lstrip("/")
        assert (root / inside).exists() or (root / "server/scriptorium" / name).exists(), inside
