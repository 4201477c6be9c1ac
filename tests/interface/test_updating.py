"""`memory_update` as a client sees it; what the transaction promises is tested with it."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest

from scriptorium.interface.arguments import Source
from scriptorium.workspace.validate import validate

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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("topics/Ana.md", "topics/ana.md"),
        ("topics/Work/a.md", "topics/work/b.md"),
        ("topics/ana.md", "topics/ana.md/more.md"),
        ("topics/ana.md/more.md", "topics/ana.md"),
    ],
    ids=["case twins", "twins of directories", "below a file", "above a file"],
)
def test_files_that_cannot_stand_side_by_side_are_refused_together(
    remembered: Remembered, one: str, other: str
) -> None:
    before = digest(remembered.root)
    error = remembered.refused(
        "memory_update",
        base_revision=remembered.revision,
        patch=creation(one, topic("a", "A.")) + creation(other, topic("b", "B.")),
        sources=[MOVE],
    )
    assert error["code"] == "INVALID_ARGUMENT"
    assert digest(remembered.root) == before


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


def test_every_path_of_a_refusal_is_qualified_by_its_layer(layered: Layered) -> None:
    both = layered("project", "global")

    def refused(patch: str, base: str) -> dict[str, Any]:
        return both.refused(
            "memory_update", base_revision=base, patch=patch, sources=[MOVE], layer="global"
        )

    stale = both.revision
    both.update(creation("topics/a.md", topic("a", "One.")), MOVE, layer="global")
    error = refused(creation("topics/b.md", topic("b", "Two.")), stale)
    changed = error["details"]["changed_files"]
    assert "global:topics/a.md" in changed
    assert all(path.startswith("global:") for path in changed)
    for patch, records in {
        creation("topics/b.md", "# B\n\nNo id.\n"): "problems",
        creation("topics/a.md", "# A\n"): "conflicts",
    }.items():
        error = refused(patch, both.revision)
        assert {record["path"] for record in error["details"][records]} == {error["path"]}
        assert error["path"].startswith("global:topics/")


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


def test_source_that_only_core_cites_is_linked_from_it(remembered: Remembered) -> None:
    patch = (
        "--- a/core.md\n+++ b/core.md\n@@ -1 +1,5 @@\n # Core memory\n+\n"
        "+The user moved, in [their words](new-source-move); new-source-move.[^new-evidence-m]\n"
        "+\n+[^new-evidence-m]: Time: `2026`; Sources: new-source-move\n"
    )
    data = remembered.update(patch, MOVE)
    core = (remembered.root / "core.md").read_text(encoding="utf-8")
    assert "new-" not in core
    assert core.count(data["source_ids"]["new-source-move"]) == 2
    assert core.count(data["evidence_ids"]["new-evidence-m"]) == 2
    assert validate(remembered.memory.workspace(remembered.memory.layers.default)) == []


def test_a_missing_source_that_core_cites_is_refused(remembered: Remembered) -> None:
    patch = (
        "--- a/core.md\n+++ b/core.md\n@@ -1 +1,5 @@\n # Core memory\n+\n+Moved.[^new-evidence-m]\n"
        "+\n+[^new-evidence-m]: Time: `2026`; Sources: new-source-none\n"
    )
    error = remembered.refused("memory_update", base_revision=remembered.revision, patch=patch)
    assert error["code"] == "MISSING_SOURCE"


def test_labels_of_sources_may_be_words_of_any_script(remembered: Remembered) -> None:
    text = topic("住所", "用户住在浦东。", "new-source-信")
    data = remembered.update(creation("topics/住所.md", text), {**MOVE, "label": "new-source-信"})
    assert set(data["source_ids"]) == {"new-source-信"}
    assert set(data["block_ids"]) == {"new-block-住所"}


def _residence(memory: Remembered) -> tuple[str, str]:
    """The text of the topic, and its block's id."""
    text = (memory.root / PATH).read_text(encoding="utf-8")
    found = re.search(r"\^([0-9a-f]{8})$", text, re.MULTILINE)
    assert found
    return text, found[1]


def _deletion(path: str, text: str) -> str:
    removed = "".join(f"-{line}\n" for line in text.splitlines())
    return f"--- a/{path}\n+++ /dev/null\n@@ -1,{len(text.splitlines())} +0,0 @@\n{removed}"


def test_core_follows_a_topic_that_moves(residence: Remembered) -> None:
    text, block = _residence(residence)
    core = "--- a/core.md\n+++ b/core.md\n@@ -1 +1,3 @@\n # Core memory\n+\n+[home]({}#^{})\n"
    residence.update(core.format(PATH, block))
    residence.update(_deletion(PATH, text) + creation("topics/home/where.md", text))
    assert f"(topics/home/where.md#^{block})" in (residence.root / "core.md").read_text()


@pytest.mark.parametrize("core", ["not text", "a folder"])
def test_a_core_that_cannot_be_read_stops_no_update_elsewhere(
    residence: Remembered, core: str
) -> None:
    file = residence.root / "core.md"
    if core == "not text":
        file.write_bytes(b"\xff\xfe")
    else:
        file.unlink()
        file.mkdir()
    residence.update(_deletion(PATH, _residence(residence)[0]))
    residence.update(creation("topics/b.md", topic("b", "Another.")), MOVE)


def test_the_links_of_a_block_that_moves_alone_lead_where_they_led(residence: Remembered) -> None:
    old, block = _residence(residence)
    there = creation("topics/b.md", topic("b", f"See [home](personal/residence.md#^{block})."))
    data = residence.update(there, MOVE)
    text = (residence.root / "topics/b.md").read_text(encoding="utf-8")
    line, definition = text.splitlines()[4], text.splitlines()[6]
    moved = creation("topics/deep/er/c.md", f"# C\n\n{line}\n\n{definition}\n")
    residence.update(_deletion("topics/b.md", text) + moved)
    moved = (residence.root / "topics/deep/er/c.md").read_text(encoding="utf-8")
    back = (
        f"--- a/{PATH}\n+++ b/{PATH}\n@@ -5 +5,3 @@\n {old.splitlines()[4]}\n \n"
        f"+{moved.splitlines()[2]}\n+\n {old.splitlines()[6]}\n"
        f"+{moved.splitlines()[4]}\n"
    )
    residence.update(back + _deletion("topics/deep/er/c.md", moved))
    text = _residence(residence)[0]
    assert data["block_ids"]["new-block-b"] in text
    assert f"(residence.md#^{block})" in text


def test_a_patch_may_qualify_its_paths_by_the_layer_it_is_for(layered: Layered) -> None:
    both = layered("project", "global")
    patch = creation("global:topics/a.md", topic("a", "One."))
    data = both.update(patch, MOVE, layer="global")
    assert "global:topics/a.md" in data["changed_files"]
    text = both.ok("memory_read", path="global:topics/a.md")["content"]
    gone = "".join(f"-{line}\n" for line in text.split("\n"))
    name = "global:topics/a.md"
    both.update(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ /dev/null\n@@\n{gone}", layer="global"
    )
    assert both.refused("memory_read", path=name)["code"] == "INVALID_ARGUMENT"


def test_a_patch_for_another_layer_is_refused_with_the_layer_to_name(layered: Layered) -> None:
    both = layered("project", "global")
    patch = creation("global:topics/a.md", topic("a", "One."))
    error = both.refused("memory_update", base_revision=both.revision, patch=patch, sources=[MOVE])
    assert (error["code"], error["path"]) == ("INVALID_ARGUMENT", "global:topics/a.md")
    assert '`layer`: "global"' in error["message"]


def test_with_one_layer_a_path_is_never_qualified(remembered: Remembered) -> None:
    patch = creation("memory:topics/a.md", topic("a", "One."))
    error = remembered.refused(
        "memory_update", base_revision=remembered.revision, patch=patch, sources=[MOVE]
    )
    assert error["code"] == "INVALID_ARGUMENT"
