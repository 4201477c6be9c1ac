"""Workspaces as the layers of one memory, and the project that relative paths start from."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scriptorium.errors import InternalError, InvalidArgument
from scriptorium.format.model import Revision
from scriptorium.workspace import layers
from scriptorium.workspace.layers import Layers, LayerSpec, parse_spec

ONE, TWO = Revision("1" * 32), Revision("2" * 32)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("global=~/memory", LayerSpec("global", "~/memory")),
        ("a-B_9=x=y", LayerSpec("a-B_9", "x=y")),
        ("/tmp/a=b", LayerSpec(None, "/tmp/a=b")),
        ("./a=b", LayerSpec(None, "./a=b")),
        ("~x=y", LayerSpec(None, "~x=y")),
        ("memory", LayerSpec(None, "memory")),
        ("p=C D/ü", LayerSpec("p", "C D/ü")),
        ("个人=~/记忆", LayerSpec("个人", "~/记忆")),
    ],
)
def test_a_layer_is_given_as_a_name_and_a_path(text: str, spec: LayerSpec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize("text", ["", "=x", "a=", "a b=x", "a.b=x", "a= ", "a:b=x", "a=x\0"])
def test_a_bad_layer_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_spec(text)


@pytest.mark.parametrize("texts", [[], ["a", "b"], ["x=a", "b"], ["x=a", "x=b"]])
def test_layers_that_cannot_be_told_apart_are_refused(texts: list[str], tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        layers.open_layers([parse_spec(text) for text in texts], str, cwd=tmp_path)


def opened(tmp_path: Path, *texts: str, **given: Path) -> Layers[str]:
    """The layers, each opened as the path of its root."""

    def open_workspace(root: Path) -> str:
        if root.name == "forbidden":
            raise PermissionError(13, "Permission denied", str(root))
        return str(root)

    return layers.open_layers(
        [parse_spec(text) for text in texts], open_workspace, **({"cwd": tmp_path} | given)
    )


def test_a_layer_that_cannot_be_opened_costs_that_layer(tmp_path: Path) -> None:
    found = opened(tmp_path, f"bad={tmp_path}/forbidden", f"good={tmp_path}/m")
    assert found.names == ("good",)
    assert list(found.failures) == ["bad"]
    assert found.get("good") == f"{tmp_path}/m"
    assert found.default == "bad"
    for name in ("bad", None):
        with pytest.raises(InternalError, match="permission denied"):
            found.get(name)
    assert found.qualify("good", "core.md") == "good:core.md"


def test_links_that_lead_in_a_circle_cost_their_layer_and_are_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    found = opened(tmp_path, f"bad={tmp_path}/a/memory", f"good={tmp_path}/m")
    assert found.names == ("good",)
    assert "in a circle" in found.failures["bad"]


def test_two_layers_in_one_directory_cost_the_later_one(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "m")
    found = opened(tmp_path, f"a={tmp_path}/m", f"b={tmp_path}/link")
    assert found.names == ("a",)
    assert "a" in found.failures["b"]


def test_several_layers_qualify_paths_and_find_them_again(tmp_path: Path) -> None:
    found = opened(tmp_path, f"project={tmp_path}/p", f"global={tmp_path}/g")
    assert found.qualify("global", "topics/person.md") == "global:topics/person.md"
    assert found.split("global:topics/person.md") == ("global", "topics/person.md")
    assert found.split("global:") == ("global", "")
    assert found.split("topics/") == (None, "topics/")
    with pytest.raises(InvalidArgument, match="project, global"):
        found.split("other:topics/person.md")


def test_with_one_layer_a_colon_is_just_a_character(tmp_path: Path) -> None:
    for spec, name in ((f"{tmp_path}/m", "memory"), (f"global={tmp_path}/m", "global")):
        found = opened(tmp_path, spec)
        assert found.qualify(name, "topics/a:b.md") == "topics/a:b.md"
        assert found.split("global:x.md") == (name, "global:x.md")
        assert found.get() == found.get(name) == f"{tmp_path}/m"


def test_the_combined_revision_gives_each_layer_its_own_back() -> None:
    combined = layers.combined_revision({"project": ONE, "global": TWO})
    assert combined == f"project:{ONE}+global:{TWO}"
    assert layers.own_revision(combined, "project") == ONE
    assert layers.own_revision(combined, "global") == TWO
    assert layers.own_revision(TWO, "project") == TWO


@pytest.mark.parametrize(
    "text", ["", "x", "project:", f"{ONE}+{TWO}", f"global:{TWO}", f"project:{ONE}+", "1" * 31]
)
def test_what_is_no_revision_of_the_layer_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        layers.own_revision(text, "project")


def test_rankings_are_interleaved_by_rank() -> None:
    assert layers.interleave([["a1", "a2", "a3"], [], ["c1"]]) == ["a1", "c1", "a2", "a3"]
    assert layers.interleave([]) == []


def test_a_relative_path_starts_at_the_project(tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "src" / "deep").mkdir(parents=True)
    found = opened(tmp_path, "p=.memory", cwd=tmp_path / "project" / "src" / "deep")
    assert found.get("p") == f"{tmp_path}/project/.memory"


def test_without_a_repository_a_relative_path_starts_at_the_working_directory(
    tmp_path: Path,
) -> None:
    if layers.project_root(tmp_path) is not None:
        pytest.skip("the temporary directory lies in a repository")
    assert opened(tmp_path, "p=.memory").get("p") == f"{tmp_path}/.memory"


def test_the_plugins_own_folder_is_no_project(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    (plugin / ".git").mkdir(parents=True)
    (plugin / "bin").mkdir()
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "sub").mkdir()

    found = opened(tmp_path, "p=.memory", f"g={tmp_path}/g", cwd=plugin / "bin", plugin_root=plugin)
    assert found.names == ("g",)
    assert "absolute" in found.failures["p"]

    found = opened(
        tmp_path, "p=.memory", cwd=plugin, plugin_root=plugin, project=tmp_path / "project" / "sub"
    )
    assert found.get("p") == f"{tmp_path}/project/.memory"


def test_a_path_below_an_unknown_home_costs_that_layer(tmp_path: Path) -> None:
    found = opened(tmp_path, "a=~nobody-of-this-name/memory", f"b={tmp_path}/b")
    assert found.names == ("b",)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "main"
    root.mkdir()
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "first")
    return root


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, env=environ)


def test_a_linked_worktree_shares_the_main_trees_memory(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "x")
    (tmp_path / "linked" / "sub").mkdir()
    assert layers.project_root(tmp_path / "linked" / "sub") == repo
    assert layers.project_root(repo) == repo


def test_a_worktree_of_a_bare_repository_is_a_project_of_its_own(
    repo: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "x")
    assert layers.project_root(tmp_path / "tree") == tmp_path / "tree"


def test_a_submodule_is_a_project_of_its_own(repo: Path, tmp_path: Path) -> None:
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "part")
    assert layers.project_root(repo / "part") == repo / "part"


@pytest.mark.parametrize("content", [b"", b"nonsense", b"gitdir: /nowhere\n", b"\xff\xfe"])
def test_a_broken_git_file_still_marks_the_project(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert layers.project_root(tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ([".memory", "~/global"], ["memory", "global"]),
        (["~/my notes.d", "~/b"], ["my-notes-d", "b"]),
        (["a=x", "~/记忆"], ["a", "记忆"]),
        ([".memory"], [None]),
    ],
)
def test_of_several_one_without_a_name_is_called_as_its_folder(
    texts: list[str], names: list[str | None]
) -> None:
    specs = layers.parse_specs(texts)
    assert [spec.name for spec in specs] == names
    combined = layers.combined_revision({name: ONE for name in names if name})
    assert all(layers.own_revision(combined, name) == ONE for name in names if name)


@pytest.mark.parametrize("texts", [["/", "b"], ["~/x/m", "~/y/m"], ["~/m", "m=x"]])
def test_folders_that_give_no_name_of_their_own_are_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidArgument):
        layers.parse_specs(texts)


def test_a_layer_that_failed_is_there_once_it_can_be_opened(tmp_path: Path) -> None:
    tried: list[str] = []

    def open_workspace(root: Path) -> str:
        tried.append(root.name)
        if not root.is_dir():
            raise FileNotFoundError(2, "No such file or directory", str(root))
        return root.name

    (tmp_path / "second").mkdir()
    specs = [LayerSpec("a", str(tmp_path / "first")), LayerSpec("b", str(tmp_path / "second"))]
    before = layers.open_layers(specs, open_workspace, cwd=tmp_path)
    assert (before.names, before.again().names) == (("b",), ("b",))
    (tmp_path / "first").mkdir()
    after = before.again()
    assert (after.names, after.failures) == (("a", "b"), {})
    assert after.again() is after
    assert tried.count("second") == 1
