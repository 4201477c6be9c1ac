"""`update`: everything it is asked, or nothing; and what it says when it refuses."""

from __future__ import annotations

import dataclasses
import functools
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.workspace import updates

from scriptorium.errors import (
    BrokenContract,
    ConcurrentUpdate,
    DanglingBlockLink,
    GitCommitFailed,
    InvalidArgument,
    InvalidTopicFormat,
    MissingSource,
    PatchConflict,
    PathOutsideWorkspace,
    ReadOnlyPath,
    ScriptoriumError,
)
from scriptorium.format.model import RelPath, Revision, SourceId
from scriptorium.workspace import journal
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.transaction import Update, UpdateResult, update
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

HOME = "topics/home.md"
OFFICE = "topics/work/office.md"
SOURCE = SourceInput("new-source-1", "user", "I live in Pudong.", "2026-08-03T10:00:00+08:00")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "memory")


@pytest.fixture
def linked(workspace: Workspace) -> Workspace:
    """`office` links to the block of `home`."""
    send(
        workspace,
        {
            HOME: "# Home\n" + updates.fact("home", "The user lives in Pudong."),
            OFFICE: "# Office\n"
            + updates.fact("office", "Far from [home](../home.md#^new-block-home)."),
        },
    )
    return workspace


def send(
    workspace: Workspace, texts: Mapping[str, str | None], *sources: SourceInput
) -> UpdateResult:
    """The result of the texts, sent as a patch against the present revision; all is well after."""
    snapshot = workspace.snapshot()
    request = Update(
        snapshot.revision, updates.patch_of(snapshot, dict(texts)), sources or (SOURCE,), git="off"
    )
    result = update(workspace, request, now=updates.NOW)
    assert validate(workspace) == []
    assert result.revision == workspace.snapshot().revision
    return result


def refused(workspace: Workspace, request: Update) -> ScriptoriumError:
    """Why the update was refused; no byte of memory has changed."""
    before = everything(workspace.root)
    with pytest.raises(ScriptoriumError) as caught:
        update(workspace, request, now=updates.NOW)
    assert everything(workspace.root) == before
    return caught.value


def asked(workspace: Workspace, texts: Mapping[str, str | None], **more: object) -> Update:
    snapshot = workspace.snapshot()
    request = Update(
        snapshot.revision, updates.patch_of(snapshot, dict(texts)), (SOURCE,), git="off"
    )
    return dataclasses.replace(request, **more)  # type: ignore[arg-type]


def everything(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of the workspace but the runtime's own, with its inode."""
    return {
        str(file): (file.read_bytes(), file.stat().st_ino)
        for file in sorted(root.rglob("*"))
        if file.is_file() and ".scriptorium" not in file.parts
    }


def read(workspace: Workspace, path: str) -> str:
    return (workspace.root / path).read_bytes().decode("utf-8")


# --- what an update does


def test_names_become_ids_and_the_result_maps_them(workspace: Workspace) -> None:
    result = send(workspace, {HOME: "# Home\n" + updates.fact("a", "The user lives in Pudong.")})
    block, evidence = result.block_ids["new-block-a"], result.evidence_ids["new-evidence-a"]
    source = result.source_ids["new-source-1"]
    text = read(workspace, HOME)
    assert f"Pudong.[^{evidence}] ^{block}\n" in text
    assert f"[^{evidence}]: Time: `2026-08-03`; Sources: [{source}](../sources/" in text
    assert "new-" not in text
    assert len(block) == 8
    assert evidence.startswith("e-")
    snapshot = workspace.snapshot()
    record = snapshot.source(source)
    assert record is not None
    assert (record.role, record.content) == ("user", "I live in Pudong.")
    assert record.observed_at == "2026-08-03T10:00:00+08:00"
    assert set(result.changed_files) == {
        HOME,
        snapshot.source_path(source),
        "recent_events.jsonl",
        "relations.json",
        "timeline/2026.md",
        "timeline/2026/08.md",
        "timeline/2026/08/03.md",
    }
    assert (result.memory_committed, result.git_committed, result.git_commit) == (True, False, None)


def test_the_same_batch_sent_again_gives_the_same_ids_and_appends_nothing(
    workspace: Workspace,
) -> None:
    first = send(workspace, {HOME: "# Home\n" + updates.fact("a", "One.")})
    archived = workspace.root / str(
        workspace.snapshot().source_path(first.source_ids["new-source-1"])
    )
    before = archived.read_bytes()
    second = send(workspace, {HOME: read(workspace, HOME) + updates.fact("b", "Two.")})
    assert second.source_ids == first.source_ids
    assert archived.read_bytes() == before
    again = update(
        workspace,
        Update(workspace.snapshot().revision, None, (SOURCE,), git="off"),
        now=updates.NOW,
    )
    assert again.changed_files == ()
    assert again.revision == second.revision


def test_sources_alone_are_archived(workspace: Workspace) -> None:
    result = update(workspace, Update(None, None, (SOURCE,), git="off"), now=updates.NOW)
    assert workspace.snapshot().source(result.source_ids["new-source-1"]) is not None


def test_a_source_with_an_id_of_its_own_keeps_it(workspace: Workspace) -> None:
    own = dataclasses.replace(SOURCE, id=SourceId("claude-code/session/message-1"))
    result = send(workspace, {HOME: "# Home\n" + updates.fact("a", "One.")}, own)
    assert result.source_ids == {"new-source-1": own.id}
    assert workspace.snapshot().source_path("claude-code/session/message-1") == (
        "sources/claude-code/session.md"
    )


def test_a_moved_topic_keeps_its_ids_and_every_link_follows(linked: Workspace) -> None:
    target = "topics/life/where/home.md"
    send(linked, {HOME: None, target: read(linked, HOME)})
    snapshot = linked.snapshot()
    (block,) = [b for b in snapshot.mirror.indexes.blocks if snapshot.locate_block(b) == target]
    assert f"(../life/where/home.md#^{block})" in read(linked, OFFICE)
    assert "(../../../sources/" in read(linked, target)
    assert not (linked.root / HOME).exists()


def test_a_block_moved_between_topics_is_followed_from_a_file_that_is_not_edited(
    linked: Workspace,
) -> None:
    (linked.root / "core.md").write_text("# Core\n\nSee [home](topics/home.md).\n")
    send(linked, {"topics/flat.md": "# Flat\n" + updates.fact("flat", "It has two rooms.")})
    home = read(linked, HOME).split("\n\n", 1)[1]
    send(linked, {HOME: "# Home\n", "topics/flat.md": read(linked, "topics/flat.md") + "\n" + home})
    assert "(../flat.md#^" in read(linked, OFFICE)


def test_a_deleted_topic_leaves_no_empty_directory_and_no_view(linked: Workspace) -> None:
    send(linked, {OFFICE: None})
    assert not (linked.root / "topics/work").exists()
    send(linked, {HOME: None})
    assert not (linked.root / "timeline/2026.md").exists()
    assert linked.snapshot().counts().relations == 0


def test_edits_are_made_from_the_snapshot_under_the_lock(linked: Workspace) -> None:
    def edits(snapshot: Snapshot) -> dict[RelPath, str | None]:
        return {RelPath(HOME): snapshot.read(RelPath(HOME)) + updates.fact("c", "More.")}

    request = Update(None, sources=(SOURCE,), git="off", edits=edits)
    result = update(linked, request, now=updates.NOW)
    assert "new-block-c" in result.block_ids
    assert validate(linked) == []


def test_edits_may_not_leave_authored_memory(linked: Workspace) -> None:
    request = Update(None, git="off", edits=lambda _: {RelPath("relations.json"): "{}"})
    assert isinstance(refused(linked, request), ReadOnlyPath)


def test_runtime_files_move_in_the_same_step(linked: Workspace) -> None:
    cursor = linked.layout.runtime_dir / "cursors" / "one.json"
    request = asked(linked, {HOME: "# Home\n\nNo id.\n"}, runtime={"cursors/one.json": b"{}"})
    refused(linked, request)
    assert not cursor.exists()
    update(linked, Update(None, git="off", runtime={"cursors/one.json": b"{}"}), now=updates.NOW)
    assert cursor.read_bytes() == b"{}"
    update(linked, Update(None, git="off", runtime={"cursors/one.json": None}), now=updates.NOW)
    assert not cursor.exists()


def test_the_core_is_edited_like_a_topic(linked: Workspace) -> None:
    send(linked, {"core.md": "# Core memory\n\nThe user likes short answers.\n"})
    assert "short answers" in read(linked, "core.md")


# --- what it refuses


def test_a_stale_base_is_refused_and_names_what_changed(linked: Workspace) -> None:
    stale = asked(linked, {HOME: read(linked, HOME) + updates.fact("b", "Stale.")})
    send(linked, {OFFICE: read(linked, OFFICE) + updates.fact("c", "Newer.")})
    error = refused(linked, stale)
    assert isinstance(error, ConcurrentUpdate)
    assert error.details["revision"] == linked.snapshot().revision
    changed = error.details["changed_files"]
    assert isinstance(changed, list)
    assert changed[0] == OFFICE
    assert HOME not in changed


def test_a_base_that_was_never_seen_is_stale_too(linked: Workspace) -> None:
    error = refused(linked, asked(linked, {HOME: None}, base_revision=Revision("0" * 32)))
    assert isinstance(error, ConcurrentUpdate)
    assert error.details["changed_files"] == []


def test_a_held_lock_is_a_concurrent_update(
    linked: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked(linked, {HOME: read(linked, HOME) + updates.fact("b", "Late.")})
    impatient = functools.partial(journal.locked, timeout=0.05)
    with journal.locked(linked.layout):
        monkeypatch.setattr("scriptorium.workspace.workspace.journal.locked", impatient)
        error = refused(linked, request)
    assert isinstance(error, ConcurrentUpdate)


LIMITS: dict[str, dict[str, object]] = {
    "patch": {"patch": "+" * (256 * 1024 + 1)},
    "sources": {
        "sources": tuple(SourceInput(f"new-source-{n}", "user", "x", None) for n in range(101))
    },
    "content": {"sources": (SourceInput("new-source-1", "user", "x" * (1 << 20) + "x", None),)},
    "label": {"sources": (SourceInput("source-1", "user", "x", None),)},
    "twice": {"sources": (SOURCE, SOURCE)},
    "role": {"sources": (SourceInput("new-source-1", "a\nb", "x", None),)},
    "time": {"sources": (SourceInput("new-source-1", "user", "x", "yesterday"),)},
}


@pytest.mark.parametrize("change", LIMITS.values(), ids=LIMITS.keys())
def test_what_is_over_a_limit_is_refused(linked: Workspace, change: dict[str, object]) -> None:
    request = asked(linked, {HOME: read(linked, HOME) + updates.fact("b", "More.")}, **change)
    assert isinstance(refused(linked, request), InvalidArgument)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("timeline/2026.md", ReadOnlyPath),
        ("sources/claude-code/x.md", ReadOnlyPath),
        ("../out.md", PathOutsideWorkspace),
        ("topics/.hidden.md", InvalidArgument),
        ("topics/a:b.md", InvalidArgument),
        ("topics/HOME.md", InvalidArgument),
        ("topics/Work/plan.md", InvalidArgument),
        ("topics/home.md/plan.md", InvalidArgument),
        (unicodedata.normalize("NFD", "topics/é.md"), InvalidArgument),
    ],
)
def test_a_path_that_may_not_be_is_refused(
    linked: Workspace, path: str, kind: type[ScriptoriumError]
) -> None:
    patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+# Title\n"
    request = Update(linked.snapshot().revision, patch, git="off")
    assert isinstance(refused(linked, request), kind)


def test_a_name_may_change_its_case_by_delete_and_create(linked: Workspace) -> None:
    send(linked, {HOME: None, "topics/Home.md": read(linked, HOME)})
    assert "(../Home.md#^" in read(linked, OFFICE)


def test_a_patch_that_does_not_fit_is_a_conflict(linked: Workspace) -> None:
    patch = f"--- a/{HOME}\n+++ b/{HOME}\n@@ -1 +1 @@\n-# Not there\n+# There\n"
    assert isinstance(refused(linked, Update(None, patch, git="off")), PatchConflict)


def test_every_problem_is_reported_at_once(linked: Workspace) -> None:
    text = (
        "# Plan\n\nNo id and no citation.\n\n"
        "Cited.[^new-evidence-a] ^new-block-a\n\n"
        "See [that](home.md#^absent).[^new-evidence-a] ^new-block-b\n\n"
        "[^new-evidence-a]: Time: `soon`; Sources: new-source-9\n"
    )
    error = refused(linked, asked(linked, {"topics/plan.md": text}))
    assert isinstance(error, BrokenContract)
    problems = error.details["problems"]
    assert isinstance(problems, list)
    codes = {problem["code"] for problem in problems if isinstance(problem, dict)}
    assert {"block-without-id", "uncited-block", "evidence-time", "dangling-block-link"} <= codes
    assert {problem["path"] for problem in problems if isinstance(problem, dict)} == {
        "topics/plan.md"
    }


def test_a_cited_label_that_was_not_sent_is_a_missing_source(linked: Workspace) -> None:
    text = read(linked, HOME) + updates.fact("b", "More.").replace("new-source-1", "new-source-2")
    assert isinstance(refused(linked, asked(linked, {HOME: text})), MissingSource)


def test_an_invented_id_is_refused(linked: Workspace) -> None:
    text = read(linked, HOME) + updates.fact("b", "More.").replace("^new-block-b", "^deadbeef")
    assert isinstance(refused(linked, asked(linked, {HOME: text})), InvalidTopicFormat)


def test_a_block_that_others_link_to_cannot_be_removed(linked: Workspace) -> None:
    error = refused(linked, asked(linked, {HOME: None}))
    assert isinstance(error, DanglingBlockLink)
    problems = error.details["problems"]
    assert isinstance(problems, list)
    assert [p["path"] for p in problems if isinstance(p, dict)] == [OFFICE]
    send(linked, {HOME: None, OFFICE: None})


def test_a_block_that_the_core_links_to_cannot_be_removed(linked: Workspace) -> None:
    send(linked, {OFFICE: None})
    snapshot = linked.snapshot()
    (block,) = snapshot.mirror.indexes.blocks
    (linked.root / "core.md").write_text(f"# Core\n\nSee [home](topics/home.md#^{block}).\n")
    error = refused(linked, asked(linked, {HOME: None}))
    assert isinstance(error, DanglingBlockLink)
    assert error.path == "core.md"


def test_a_file_that_the_core_links_to_cannot_be_removed(linked: Workspace) -> None:
    send(linked, {OFFICE: None})
    (linked.root / "core.md").write_text("# Core\n\nSee [home](topics/home.md).\n")
    error = refused(linked, asked(linked, {HOME: None}))
    assert isinstance(error, BrokenContract)
    assert error.path == "core.md"


def test_a_core_over_its_budget_is_refused(linked: Workspace) -> None:
    request = asked(linked, {"core.md": "# Core memory\n\n" + "many words " * 3000 + "\n"})
    assert isinstance(refused(linked, request), InvalidTopicFormat)


def test_a_failed_commit_to_git_is_told_after_memory_is_installed(linked: Workspace) -> None:
    request = asked(linked, {HOME: read(linked, HOME) + updates.fact("b", "More.")}, git="on")
    with pytest.raises(GitCommitFailed) as caught:
        update(linked, request, now=updates.NOW)
    details = caught.value.details
    assert (details["memory_committed"], details["git_committed"]) == (True, False)
    assert details["revision"] == linked.snapshot().revision
    changed = details["changed_files"]
    assert isinstance(changed, list)
    assert HOME in changed
    assert "More." in read(linked, HOME)
    assert validate(linked) == []
