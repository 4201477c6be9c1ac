"""`memory_update` as a client sees it; what the transaction promises is tested with it."""

from __future__ import annotations

import re
import subprocess

import pytest

from scriptorium.interface.arguments import Source

from .conftest import MOVE, Layered, Remembered, creation, digest, topic

PATH = "topics/personal/residence.md"


def test_an_update_returns_the_three_mappings_and_what_changed(remembered: Remembered) -> None:
    data = remembered.update(creation(PATH, topic("residence", "The user moved.")), MOVE)
    assert re.fullmatch(r"[0-9a-f]{8}", data["block_ids"]["new-block-residence"])
    assert re.fullmatch(r"e-[0-9a-f]{10}", data["evidence_ids"]["new-evidence-residence"])
    assert data["source_ids"]["new-source-move"].startswith("claude-code/")
    assert PATH in data["changed_files"]
    assert (data["memory_committed"], data["git_committed"], data["git_commit"]) == (
        True,
        False,
        None,
    )
    assert "layer" not in data


def test_the_answer_s_revision_is_the_base_of_the_next_update(remembered: Remembered) -> None:
    patch = creation(PATH, topic("residence", "The user moved."))
    first = remembered.call(
        "memory_update", base_revision=remembered.revision, patch=patch, sources=[MOVE]
    )
    assert first.ok
    second = remembered.call(
        "memory_update",
        base_revision=first.payload["revision"],
        patch=creation("topics/b.md", topic("b", "Another.")),
        sources=[MOVE],
    )
    assert second.ok, second.text()


def test_a_stale_revision_is_refused_and_no_byte_changes(residence: Remembered) -> None:
    stale = residence.revision
    residence.update(creation("topics/b.md", topic("b", "Another.")), MOVE)
    before = digest(residence.root)
    error = residence.refused(
        "memory_update",
        base_revision=stale,
        patch=creation("topics/c.md", topic("c", "A third.")),
        sources=[MOVE],
    )
    assert error["code"] == "CONCURRENT_UPDATE"
    assert "topics/b.md" in str(error["details"])
    assert digest(residence.root) == before


REFUSED: dict[str, tuple[str, str]] = {
    "no patch": ("hello", "INVALID_ARGUMENT"),
    "a view": (
        "--- a/relations.json\n+++ b/relations.json\n@@ -1 +1 @@\n-{}\n+[]\n",
        "READ_ONLY_PATH",
    ),
    "outside": (creation("../x.md", "# X\n"), "PATH_OUTSIDE_WORKSPACE"),
    "exists": (creation(PATH, "# X\n"), "PATCH_CONFLICT"),
    "no id": (creation("topics/x.md", "# X\n\nSome text.\n"), "INVALID_TOPIC_FORMAT"),
    "no source": (creation("topics/x.md", topic("x", "A.", "new-source-none")), "MISSING_SOURCE"),
    "no block": (
        creation("topics/x.md", topic("x", "See [a](personal/residence.md#^00000000).")),
        "DANGLING_BLOCK_LINK",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_has_its_code_and_changes_no_byte(residence: Remembered, name: str) -> None:
    patch, code = REFUSED[name]
    before, revision = digest(residence.root), residence.revision
    error = residence.refused("memory_update", base_revision=revision, patch=patch, sources=[MOVE])
    assert error["code"] == code
    assert digest(residence.root) == before


def test_every_problem_is_reported_at_once(remembered: Remembered) -> None:
    patch = creation("topics/x.md", "# X\n\nOne.\n\nTwo.\n") + creation("topics/y.md", "Three.\n")
    error = remembered.refused("memory_update", base_revision=remembered.revision, patch=patch)
    lines = {(problem["path"], problem["line"]) for problem in error["details"]["problems"]}
    assert lines == {("topics/x.md", 3), ("topics/x.md", 5), ("topics/y.md", 1)}


def test_an_update_lands_in_the_layer_it_names_else_in_the_first(layered: Layered) -> None:
    both = layered("project", "global")
    first = both.update(creation("topics/a.md", topic("a", "One.")), MOVE)
    second = both.update(creation("topics/b.md", topic("b", "Two.")), MOVE, layer="global")
    assert (first["layer"], second["layer"]) == ("project", "global")
    assert "project:topics/a.md" in first["changed_files"]
    assert both.ok("memory_read", path="topics/b.md")["path"] == "global:topics/b.md"


def test_only_its_own_layer_s_revision_makes_an_update_stale(layered: Layered) -> None:
    both = layered("project", "global")
    base = both.revision
    both.update(creation("topics/a.md", topic("a", "One.")), MOVE)
    patch = creation("topics/b.md", topic("b", "Two."))
    stale = both.refused("memory_update", base_revision=base, patch=patch, sources=[MOVE])
    assert stale["code"] == "CONCURRENT_UPDATE"
    fresh = both.call(
        "memory_update", base_revision=base, patch=patch, sources=[MOVE], layer="global"
    )
    assert fresh.ok


def test_a_layer_s_own_revision_alone_is_accepted(layered: Layered) -> None:
    both = layered("project", "global")
    own = both.ok("memory_status")["layers"]["global"]["revision"]
    patch = creation("topics/b.md", topic("b", "Two."))
    assert both.call(
        "memory_update", base_revision=own, patch=patch, sources=[MOVE], layer="global"
    ).ok


def test_an_unknown_layer_is_refused_with_those_that_are_there(layered: Layered) -> None:
    both = layered("project", "global")
    error = both.refused("memory_update", base_revision=both.revision, patch="x", layer="other")
    assert error["code"] == "INVALID_ARGUMENT"
    assert "global" in str(error["message"])


def test_a_failed_commit_tells_that_memory_is_written(layered: Layered) -> None:
    both = layered("project", "global")
    both.memory.git = "on"
    error = both.refused(
        "memory_update",
        base_revision=both.revision,
        patch=creation("topics/a.md", topic("a", "One.")),
        sources=[MOVE],
    )
    assert error["code"] == "GIT_COMMIT_FAILED"
    details = error["details"]
    assert (details["memory_committed"], details["git_committed"]) == (True, False)
    assert details["layer"] == "project"
    assert "project:topics/a.md" in details["changed_files"]
    assert both.ok("memory_read", path="project:topics/a.md")["mode"] == "file"


def test_an_update_is_committed_where_the_workspace_is_a_repository(
    remembered: Remembered,
) -> None:
    subprocess.run(["git", "init", "-q", str(remembered.root)], check=True)
    data = remembered.update(
        creation("topics/a.md", topic("a", "One.")), MOVE, commit_message="One\nmore"
    )
    assert data["git_committed"] is True
    logged = ["git", "-C", str(remembered.root), "log", "--format=%H %s"]
    done = subprocess.run(logged, capture_output=True, text=True, check=True)
    assert done.stdout == f"{data['git_commit']} One more\n"


def test_mappings_too_long_for_an_answer_are_cut_and_say_so(remembered: Remembered) -> None:
    blocks = [f"Fact {n}.[^new-evidence-a] ^new-block-{n}" for n in range(2000)]
    text = "# Many\n\n" + "\n\n".join(blocks)
    text += "\n\n[^new-evidence-a]: Time: `2026`; Sources: new-source-move\n"
    data = remembered.update(creation("topics/many.md", text), MOVE)
    assert data["truncated"] is True
    assert 0 < len(data["block_ids"]) < 2000
    assert remembered.ok("memory_status")["blocks"] == 2000


def test_sources_reach_the_transaction_as_they_were_given(remembered: Remembered) -> None:
    source = Source("new-source-a", "assistant", "line one\r\nline\u2028two\n> quoted ", None)
    text = topic("a", "One.", "new-source-a", "undated")
    given = {"label": source.label, "role": source.role, "content": source.content}
    data = remembered.update(creation("topics/a.md", text), given)
    shown = remembered.ok(
        "memory_read", path="topics/a.md", block_id=data["block_ids"]["new-block-a"]
    )
    (record,) = shown["evidence"][0]["sources"]
    assert (record["role"], record["content"], record["observed_at"]) == (
        source.role,
        source.content,
        None,
    )
