"""`validate` finds everything that is wrong with a workspace, and changes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.workspace import updates

from scriptorium.workspace.transaction import rebuild_views
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

HOME, OFFICE = "topics/home.md", "topics/office.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "memory")
    updates.send(
        workspace,
        workspace.snapshot(),
        {
            HOME: "# Home\n" + updates.fact("home", "The user lives in Pudong."),
            OFFICE: "# Office\n"
            + updates.fact("office", "Far from [home](home.md#^new-block-home)."),
        },
        "I live in Pudong.",
    )
    return workspace


def found(workspace: Workspace) -> set[tuple[str, str]]:
    return {(problem.path, problem.rule) for problem in validate(workspace)}


def edit(workspace: Workspace, path: str, old: str, new: str) -> None:
    file = workspace.root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_new_and_an_updated_workspace_are_sound(workspace: Workspace, tmp_path: Path) -> None:
    assert validate(Workspace.open(tmp_path / "new")) == []
    assert validate(workspace) == []


def test_every_file_is_checked_and_every_problem_told_in_order(workspace: Workspace) -> None:
    (source,) = [info.path for info in workspace.snapshot().files() if info.kind == "source"]
    edit(workspace, HOME, "`2026-08-03`", "`2026-08-33`")
    edit(workspace, OFFICE, "home.md#^", "house.md#^")
    edit(workspace, "core.md", "# Core memory\n", "# Core memory\n\nSee [it](topics/gone.md).\n")
    edit(workspace, source, "\n`claude-code/", "\nclaude-code/")
    edit(workspace, "timeline/2026.md", "# 2026", "# The year 2026")
    (workspace.root / "topics/new.md").write_text("No id.\n")
    assert found(workspace) == {
        (HOME, "evidence-time"),
        (HOME, "unknown-source"),
        (OFFICE, "dangling-block-link"),
        (OFFICE, "unknown-source"),
        ("core.md", "core-dangling-link"),
        (source, "damaged-source"),
        ("timeline/2026.md", "stale-view"),
        ("timeline/2026/08/03.md", "stale-view"),
        ("recent_events.jsonl", "stale-view"),
        ("relations.json", "stale-view"),
        ("topics/new.md", "block-without-id"),
        ("topics/new.md", "uncited-block"),
    }
    problems = validate(workspace)
    assert problems == sorted(problems, key=lambda p: (p.path, p.line, p.message))
    assert all(problem.message for problem in problems)


def test_it_changes_nothing(workspace: Workspace) -> None:
    edit(workspace, HOME, "Pudong", "Puxi")
    (workspace.root / "timeline/2026.md").unlink()
    before = files(workspace.root)
    validate(workspace)
    assert files(workspace.root) == before


def test_a_record_in_another_thread_s_file_is_told(workspace: Workspace) -> None:
    (source,) = [info.path for info in workspace.snapshot().files() if info.kind == "source"]
    (workspace.root / source).rename(workspace.root / "sources/claude-code/elsewhere.md")
    assert ("sources/claude-code/elsewhere.md", "misplaced-source") in found(workspace)


def test_stale_views_are_mended_by_rebuilding_them(workspace: Workspace) -> None:
    edit(workspace, HOME, "2026-08-03", "2025-01-02")
    assert found(workspace) != set()
    assert "timeline/2025/01/02.md" in rebuild_views(workspace)
    assert validate(workspace) == []
    assert rebuild_views(workspace) == ()


def test_a_generated_workspace_of_the_benchmarks_is_sound(tmp_path: Path, root: Path) -> None:
    command = [sys.executable, str(root / "benchmarks/generate.py"), str(tmp_path / "memory")]
    environment = {"PYTHONPATH": str(root / "server"), "HOME": str(tmp_path)}
    subprocess.run([*command, "--blocks", "200"], check=True, env=environment)
    workspace = Workspace.open(tmp_path / "memory")
    assert validate(workspace) == []
    counts = workspace.snapshot().counts()
    assert (counts.blocks, counts.topic_files) == (200, 10)
    assert counts.relations > 20
    assert counts.timeline_files > 100


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(file): (file.read_bytes(), file.stat().st_ino)
        for file in sorted(root.rglob("*"))
        if file.is_file() and ".scriptorium" not in file.parts
    }
