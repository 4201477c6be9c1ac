"""What a person wants forgotten is gone, and only that."""

from __future__ import annotations

import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scriptorium.errors import (
    BrokenContract,
    ConcurrentUpdate,
    DanglingBlockLink,
    InvalidArgument,
)
from scriptorium.format import removal, sources
from scriptorium.format.model import RelPath
from scriptorium.workspace import erasure, forget
from scriptorium.workspace.storage import TEMP_PREFIX
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

from .updates import fact, open_workspace, send, text_of

NOW = datetime(2026, 8, 9, 12, tzinfo=UTC)
HOME = "topics/home.md"
WORK = "topics/work.md"


def learn(workspace: Workspace, path: str, name: str, statement: str, said: str) -> str:
    """A block at the end of the topic, resting on a message; its id."""
    snapshot = workspace.snapshot()
    text = text_of(snapshot, path) or f"# {Path(path).stem.title()}\n"
    result = send(workspace, snapshot, {path: text + fact(name, statement)}, said)
    return result.block_ids[f"new-block-{name}"]


def records(workspace: Workspace) -> dict[str, str]:
    """The content of every message, by its content before (the first word)."""
    snapshot = workspace.snapshot()
    return {
        record.id: record.content
        for path in snapshot.mirror.files
        if path.startswith("sources/")
        for record in snapshot.sources_of(path)
    }


def carried_out(workspace: Workspace, plan: forget.Plan) -> None:
    forget.forget(workspace, plan, mode="off", now=NOW)
    erasure.sweep(workspace.layout, plan.forgotten.traces)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = open_workspace(tmp_path / "memory")
    learn(made, HOME, "pudong", "The user moved to Pudong.", "I have moved to PUDONG, you know.")
    learn(made, HOME, "cat", "The user has a cat.", "My cat is called Mimi.")
    return made


def test_a_block_goes_with_its_definition_and_the_words_that_only_it_rests_on(
    workspace: Workspace,
) -> None:
    snapshot = workspace.snapshot()
    block = snapshot.mirror.topic(RelPath(HOME)).blocks[0].id
    plan = forget.plan_block(snapshot, block)
    assert [p.id for p in plan.blocks] == [block]
    assert [p.text for p in plan.sources] == ["I have moved to PUDONG, you know."]
    carried_out(workspace, plan)

    text = text_of(workspace.snapshot(), HOME)
    assert "Pudong" not in text
    assert re.fullmatch(r"# Home\n\nThe user has a cat\.\[\^[^\]]+\] \^\w{8}\n\n\[\^[^\n]+\n", text)
    assert sorted(records(workspace).values()) == ["", "My cat is called Mimi."]
    assert validate(workspace) == []


def test_the_heading_of_an_erased_message_stays_so_that_links_resolve(
    workspace: Workspace,
) -> None:
    before = records(workspace)
    carried_out(workspace, forget.plan_match(workspace.snapshot(), "mimi"))
    assert records(workspace).keys() == before.keys()
    place = next((workspace.root / "sources").rglob("*.md"))
    assert sources.parse(place.read_text(encoding="utf-8"))[1] == []


def test_a_message_that_another_block_rests_on_keeps_its_words(workspace: Workspace) -> None:
    snapshot = workspace.snapshot()
    home = text_of(snapshot, HOME)
    source = next(s for s, text in records(workspace).items() if "cat" in text)
    (workspace.root / WORK).write_text(
        f"# Work\n\nMimi.[^1] ^mimi\n\n[^1]: Time: `2026`; Sources: {source}\n", encoding="utf-8"
    )
    cat = re.search(r"cat\.\S+ \^(\w+)", home)
    assert cat
    plan = forget.plan_block(workspace.snapshot(), cat[1])
    assert [(p.id, p.text) for p in plan.kept] == [(source, "^mimi")]
    assert plan.sources == ()
    carried_out(workspace, plan)
    assert records(workspace)[source] == "My cat is called Mimi."
    assert validate(workspace) == []


def test_a_block_that_others_link_to_is_refused_with_every_link(workspace: Workspace) -> None:
    snapshot = workspace.snapshot()
    block = snapshot.mirror.topic(RelPath(HOME)).blocks[0].id
    learn(workspace, WORK, "near", f"Work is near [home](home.md#^{block}).", "It is near.")
    (workspace.root / "core.md").write_text(f"# Core\n\nSee [home]({HOME}#^{block}).\n")
    with pytest.raises(DanglingBlockLink) as refused:
        forget.plan_block(workspace.snapshot(), block)
    assert [(p.path, p.line, p.message) for p in refused.value.problems] == [
        ("core.md", 3, f"links to ^{block}"),
        (WORK, 3, f"links to ^{block}"),
    ]
    assert "forget these first" in refused.value.message


def test_blocks_that_link_to_each_other_go_together(workspace: Workspace) -> None:
    block = workspace.snapshot().mirror.topic(RelPath(HOME)).blocks[0].id
    learn(workspace, WORK, "near", f"Pudong is [home](home.md#^{block}).", "Pudong it is.")
    plan = forget.plan_match(workspace.snapshot(), "pudong")
    assert len(plan.blocks) == 2
    carried_out(workspace, plan)
    assert not (workspace.root / WORK).exists(), "nothing is left of it"
    assert validate(workspace) == []


@pytest.mark.parametrize(
    ("text", "blocks", "messages"),
    [
        ("pudong", 1, 1),
        ("moved  TO\nPudong", 1, 1),
        ("mimi", 0, 1),
        ("has a cat", 1, 1),
        ("nowhere", 0, 0),
    ],
)
def test_a_text_is_found_whatever_its_case_and_line_breaks(
    workspace: Workspace, text: str, blocks: int, messages: int
) -> None:
    plan = forget.plan_match(workspace.snapshot(), text)
    assert (len(plan.blocks), len(plan.sources)) == (blocks, messages)
    assert plan.empty is (blocks + messages == 0)


def test_a_text_is_found_through_markdowns_marks(workspace: Workspace) -> None:
    said = "My **secret** key is\n`K-1`, see [the shelf](x.md)."
    learn(workspace, WORK, "key", "The _secret_ key is `K-1`, on [the shelf](../core.md).", said)
    plan = forget.plan_match(workspace.snapshot(), "secret key is K-1")
    assert (len(plan.blocks), len(plan.sources)) == (1, 1)
    assert forget.plan_match(workspace.snapshot(), "K-1, on the shelf").blocks == plan.blocks


def test_a_block_that_loses_words_it_rests_on_and_stays_is_named(workspace: Workspace) -> None:
    plan = forget.plan_match(workspace.snapshot(), "mimi")
    assert [passage.text.partition("[^")[0] for passage in plan.bared] == ["The user has a cat."]


def test_only_long_texts_are_looked_for_in_copies_and_short_ones_named(
    workspace: Workspace,
) -> None:
    block = learn(workspace, WORK, "pin", "PIN 1234.[^new-evidence-pin] It is for the door.", "ok")
    plan = forget.plan_block(workspace.snapshot(), block)
    assert plan.short == ("PIN 1234.",)
    assert plan.forgotten.traces.folded == ("it is for the door.",)


def test_what_was_wrong_before_is_in_nobodys_way(workspace: Workspace) -> None:
    home = workspace.root / HOME
    home.write_text(f"{home.read_text()}\nNo id and no evidence.\n")
    core = "".join(f"- Line {n} of a core that is far too long.\n" for n in range(400))
    (workspace.root / "core.md").write_text(f"# Core\n\n- Pudong.\n{core}")
    assert {p.rule for p in validate(workspace)} >= {"core-budget", "block-without-id"}
    carried_out(workspace, forget.plan_match(workspace.snapshot(), "pudong"))
    assert "udong" not in home.read_text() + (workspace.root / "core.md").read_text()


def test_what_would_be_wrong_afterwards_is_said_for_a_person(workspace: Workspace) -> None:
    source = next(iter(records(workspace)))
    (workspace.root / WORK).write_text(
        f"# Work\n\n- Parent.[^1] ^parent\n\n    - Child.[^1] ^child\n\n"
        f"[^1]: Time: `2026`; Sources: {source}\n"
    )
    before = (workspace.root / WORK).read_text()
    plan = forget.plan_block(workspace.snapshot(), "parent")
    with pytest.raises(BrokenContract, match=r"Nothing was forgotten: .* by hand"):
        forget.forget(workspace, plan, mode="off", now=NOW)
    assert (workspace.root / WORK).read_text() == before


def test_a_blank_text_and_an_unknown_block_are_refused(workspace: Workspace) -> None:
    with pytest.raises(InvalidArgument):
        forget.plan_match(workspace.snapshot(), " \n")
    with pytest.raises(InvalidArgument):
        forget.plan_block(workspace.snapshot(), "00000000")


def test_lines_of_the_core_go_and_lines_that_are_no_block_are_named(workspace: Workspace) -> None:
    (workspace.root / "core.md").write_text("# Core\n\n- Lives in Pudong.\n- Has a cat.\n")
    home = workspace.root / HOME
    home.write_text(home.read_text().replace("# Home", "# Pudong") + "\n<!-- pudong, or not? -->\n")
    plan = forget.plan_match(workspace.snapshot(), "Pudong")
    assert [(p.path, p.line) for p in plan.lines if p.path == "core.md"] == [("core.md", 3)]
    assert [p.text for p in plan.stays] == ["# Pudong", "<!-- pudong, or not? -->"]
    carried_out(workspace, plan)
    assert (workspace.root / "core.md").read_text() == "# Core\n\n- Has a cat.\n"


def test_nothing_happens_when_memory_moved_on_since_the_plan(workspace: Workspace) -> None:
    plan = forget.plan_match(workspace.snapshot(), "pudong")
    learn(workspace, WORK, "job", "The user works.", "I work.")
    with pytest.raises(ConcurrentUpdate):
        forget.forget(workspace, plan, mode="off", now=NOW)
    assert "PUDONG" in "".join(records(workspace).values())


def test_no_file_below_the_workspace_holds_the_text_afterwards(workspace: Workspace) -> None:
    learn(workspace, "topics/pudong/pudong.md", "place", "Pudong is a place.", "It is pudong.")
    log = workspace.layout.runtime_dir / "server.log"
    log.write_text('fine\n{"query": "pudong"}\nfine too\n')
    workspace.snapshot()
    assert any(workspace.layout.installed.glob("*-*"))
    plan = forget.plan_match(workspace.snapshot(), "pudong")
    carried_out(workspace, plan)

    found = [
        place
        for place in workspace.root.rglob("*")
        if place.is_file() and b"pudong" in place.read_bytes().lower()
    ]
    assert found == []
    assert erasure.leftovers(workspace.layout, plan.forgotten.traces).holding == ()
    assert log.read_text() == "fine\nfine too\n"
    assert validate(workspace) == []


def test_what_a_killed_write_left_is_found_and_removed(workspace: Workspace) -> None:
    runtime = workspace.layout.runtime_dir
    name = f"{TEMP_PREFIX}7-abc"
    folders = [runtime, runtime / "ingest" / "cursors", workspace.layout.staging]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('{"text": "Pudong is far"}\n')
    plan = forget.plan_match(workspace.snapshot(), "pudong")
    told = erasure.leftovers(workspace.layout, plan.forgotten.traces).holding
    assert f".scriptorium/ingest/cursors/{name}" in told
    carried_out(workspace, plan)
    assert [folder for folder in folders if (folder / name).exists()] == []
    assert erasure.leftovers(workspace.layout, plan.forgotten.traces).holding == ()


def test_a_file_whose_name_holds_the_text_is_named_while_it_stays(workspace: Workspace) -> None:
    path = "topics/pudong/pets.md"
    learn(workspace, path, "dog", "The user has a dog.", "I have a dog.")
    plan = forget.plan_match(workspace.snapshot(), "pudong")
    assert [(p.path, p.line) for p in plan.stays] == [(path, 0)]


def test_the_catalog_keeps_no_page_of_the_old_text(workspace: Workspace) -> None:
    place = workspace.layout.cache / "catalog.sqlite"
    plan = forget.plan_match(workspace.snapshot(), "pudong")
    carried_out(workspace, plan)
    with sqlite3.connect(place) as opened:
        assert opened.execute("PRAGMA freelist_count").fetchone() == (0,)
    opened.close()
    wal = place.with_name(place.name + "-wal")
    assert not wal.exists() or wal.stat().st_size == 0
    assert workspace.snapshot().locate_block(plan.blocks[0].id) is None


def test_a_reader_goes_on_while_the_catalog_is_rewritten(workspace: Workspace) -> None:
    other = open_workspace(workspace.root)
    revision = other.snapshot().revision
    carried_out(workspace, forget.plan_match(workspace.snapshot(), "pudong"))
    after = other.snapshot()
    assert after.revision != revision
    assert after.revision == workspace.snapshot().revision
    assert "Pudong." not in text_of(after, HOME)


def test_copies_kept_of_hand_edits_are_named(workspace: Workspace) -> None:
    copy = workspace.root / f"{HOME}.conflict-20260809T120000Z"
    copy.write_text("Pudong\n")
    plan = forget.plan_match(workspace.snapshot(), "pudong")
    carried_out(workspace, plan)
    assert erasure.conflict_copies(workspace.layout) == [f"{HOME}.conflict-20260809T120000Z"]
    left = erasure.leftovers(workspace.layout, plan.forgotten.traces)
    assert f"{HOME}.conflict-20260809T120000Z" in left.holding


TOPIC = """---
tags: [a]
---
# Title

## One

First.[^1] ^one

- Second.[^1][^2] ^two
- Third.[^3] ^three

## Two

| a |
|---|
| b |

[^2] ^table

[^1]: Time: `2026`; Sources: a/b/c
[^2]: Time: `2026`;
  Sources: a/b/d
[^3]: Time: `2026`; Sources: a/b/e
"""


@pytest.mark.parametrize(
    ("blocks", "gone"),
    [
        ({"one"}, ["First.[^1] ^one"]),
        ({"three"}, ["- Third.[^3] ^three", "[^3]: Time: `2026`; Sources: a/b/e"]),
        ({"table"}, ["## Two", "| a |", "|---|", "| b |", "[^2] ^table"]),
        (
            {"two", "table"},
            [
                "- Second.[^1][^2] ^two",
                "## Two",
                "| a |",
                "|---|",
                "| b |",
                "[^2] ^table",
                "[^2]: Time: `2026`;",
                "  Sources: a/b/d",
            ],
        ),
    ],
    ids=["shared-definition", "own-definition", "heading", "both"],
)
def test_what_only_the_removed_blocks_needed_goes(blocks: set[str], gone: list[str]) -> None:
    done = removal.removed(TOPIC, blocks)
    assert done.text is not None
    assert [line for line in TOPIC.split("\n") if line and line not in gone] == [
        line for line in done.text.split("\n") if line
    ]
    assert "\n\n\n" not in done.text
    assert done.text.endswith("\n")
    assert not done.text.endswith("\n\n")


def test_removing_nothing_changes_no_byte() -> None:
    assert removal.removed(TOPIC, ()).text == TOPIC
    assert removal.removed(TOPIC + "\n\n\n", ()).text == TOPIC + "\n\n\n"
