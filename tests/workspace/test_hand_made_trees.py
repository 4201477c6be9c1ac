"""What people and their systems leave in a workspace: odd names, links and folders in the way."""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workspace import updates

from scriptorium.errors import InvalidArgument
from scriptorium.format.model import RelPath
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

HOME = "topics/home.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """One topic."""
    made = Workspace.open(tmp_path / "memory")
    write(made, HOME, "The user lives in Pudong.")
    return made


def write(workspace: Workspace, path: str, fact: str) -> None:
    text = "# T\n" + updates.fact("home", fact)
    updates.send(workspace, workspace.snapshot(), {path: text}, fact)


def rules(workspace: Workspace) -> dict[str, str]:
    return {problem.path: problem.rule for problem in validate(workspace)}


@pytest.mark.parametrize("name", ["Cafe\u0301.md", "10:30.md", "CON.md"])
def test_a_name_under_which_no_update_can_edit_is_a_problem(
    workspace: Workspace, name: str
) -> None:
    (workspace.root / "topics" / name).write_text("# Empty\n", encoding="utf-8")
    assert rules(workspace) == {f"topics/{name}": "unwritable-name"}


def test_a_twin_that_no_patch_can_name_is_for_a_person_to_rename(workspace: Workspace) -> None:
    decomposed = unicodedata.normalize("NFD", "Café.md")
    (workspace.root / "topics" / decomposed).write_text("# Empty\n", encoding="utf-8")
    with pytest.raises(InvalidArgument) as refused:
        write(workspace, "topics/Café.md", "They like coffee.")
    assert "Edit" not in refused.value.message
    assert "rename" in refused.value.message


def test_a_view_that_cannot_be_written_is_told_with_what_is_in_its_way(
    workspace: Workspace, tmp_path: Path
) -> None:
    for file in sorted((workspace.root / "timeline").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    (workspace.root / "timeline").rmdir()
    (workspace.root / "timeline").symlink_to(tmp_path)
    write(workspace, "topics/tea.md", "They like tea.")
    told = [p.message for p in validate(workspace) if p.path.startswith("timeline/")]
    assert told
    assert all("timeline is in its way" in message for message in told)


def test_a_file_in_the_place_of_a_directory_is_told_as_one(workspace: Workspace) -> None:
    (workspace.root / HOME).unlink()
    (workspace.root / "topics").rmdir()
    (workspace.root / "topics").write_text("x", encoding="utf-8")
    told = [p for p in workspace.snapshot().problems if p.path == "topics"]
    assert [(p.rule, p.message) for p in told] == [
        ("not-a-file", "a file is not read: put a directory there.")
    ]


def deny(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """The directory cannot be entered, as one of another user: for root too, who could."""

    def denied[**P, T](call: Callable[P, T]) -> Callable[P, T]:
        def checked(*args: P.args, **more: P.kwargs) -> T:
            place = f"{args[0]}/"
            if place.startswith(f"{directory}/"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
            return call(*args, **more)

        return checked

    monkeypatch.setattr(os, "open", denied(os.open))
    monkeypatch.setattr(os, "lstat", denied(os.lstat))
    monkeypatch.setattr(os, "scandir", denied(os.scandir))


def test_a_directory_that_cannot_be_entered_costs_its_files_only(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workspace, "topics/closed/a.md", "They like tea.")
    deny(monkeypatch, workspace.root / "topics" / "closed")
    snapshot = workspace.snapshot()
    assert [(p.path, p.rule) for p in snapshot.problems] == [("topics/closed", "unreadable")]
    assert snapshot.counts().blocks == 2, "what cannot be read is not gone"
    with pytest.raises(InvalidArgument):
        snapshot.read(RelPath("topics/closed/a.md"))
    assert ("topics/closed", "unreadable") in {(p.path, p.rule) for p in validate(workspace)}
    with pytest.raises(InvalidArgument):
        write(workspace, "topics/closed/b.md", "They like milk.")
    write(workspace, "topics/c.md", "They like coffee.")
