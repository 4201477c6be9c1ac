"""A model's answer as hostile input: what is accepted, what is refused, and what it becomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scriptorium.capture import answer, render
from scriptorium.capture.answer import SCHEMA, Addition, Answer, Refused, Revision
from scriptorium.capture.prose import InvalidProseError, line, prose
from scriptorium.capture.render import Places
from scriptorium.format.model import RelPath
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.transaction import Update, update
from scriptorium.workspace.workspace import Workspace

NOON = datetime(2026, 8, 3, 12, 0, tzinfo=UTC)
ITEM = {
    "topic": "topics/home.md",
    "heading": "Where",
    "text": "The user moved.",
    "time": "2026-08-03",
    "messages": [1],
}
REVISION = {"block_id": "abc", "text": "Moved on.", "time": "2026", "messages": [1]}


def check(value: object) -> Answer | Refused:
    return answer.check(value, messages=3, is_block=lambda block: block == "abc")


def whole(additions: object = (), revisions: object = (), core: object = ()) -> dict[str, object]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in (("additions", additions), ("revisions", revisions), ("core", core))
    }


def test_a_good_answer_is_carried_as_it_is() -> None:
    checked = check(whole([ITEM], [REVISION], ["The user is called Ana."]))
    assert checked == Answer(
        (Addition(RelPath("topics/home.md"), "Where", "The user moved.", "2026-08-03", (1,)),),
        (Revision("abc", "Moved on.", "2026", (1,)),),
        ("The user is called Ana.",),
    )


def test_nothing_at_all_is_a_good_answer() -> None:
    assert check(whole()) == Answer()


@pytest.mark.parametrize("value", [None, [], "text", 7, {"additions": "x"}, {"additions": [1]}])
def test_another_shape_is_refused(value: object) -> None:
    assert isinstance(check(value), Refused)


BAD: dict[str, Mapping[str, object]] = {
    "outside": {"topic": "../../etc/passwd"},
    "absolute": {"topic": "/etc/passwd"},
    "view": {"topic": "topics/../timeline/2026.md"},
    "hidden": {"topic": "topics/.git/config"},
    "control": {"topic": "topics/a\u0000b"},
    "no-topic": {"topic": None},
    "only-folder": {"topic": "topics/"},
    "below-a-file": {"topic": "topics/ana.md/more.md"},
    "not-a-date": {"time": "2026-02-30"},
    "in-words": {"time": "yesterday"},
    "month-13": {"time": "2026-13"},
    "no-time": {"time": None},
    "empty": {"text": "  "},
    "no-words": {"text": "***"},
    "not-text": {"text": ["a"]},
    "too-long": {"text": "word " * 1000},
    "footnote": {"text": "The user moved.[^e-1]"},
    "definition": {"text": "[^e-1]: Time: `2026`; Sources: x"},
    "link": {"text": "See [home](../home.md#^abc)."},
    "reference": {"text": "See [home][1]."},
    "wiki": {"text": "See [[home]]."},
    "no-message": {"messages": []},
    "message-0": {"messages": [0]},
    "message-4": {"messages": [1, 4]},
    "message-true": {"messages": [True]},
    "message-text": {"messages": ["1"]},
    "heading-list": {"heading": ["a"]},
    "heading-long": {"heading": "h" * 200},
    "heading-link": {"heading": "[a](b.md)"},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_a_bad_field_is_refused_with_its_place(change: Mapping[str, object]) -> None:
    checked = check(whole([ITEM, {**ITEM, **change}]))
    assert isinstance(checked, Refused)
    assert all(error.startswith("additions[1].") for error in checked.errors)


def test_every_fault_is_told_at_once() -> None:
    bad = {**ITEM, "time": "soon", "messages": [9], "text": ""}
    checked = check(whole([bad], [{**REVISION, "block_id": "gone"}]))
    assert isinstance(checked, Refused)
    assert len(checked.errors) == 4


def test_a_path_without_its_usual_ends_is_understood() -> None:
    checked = check(whole([{**ITEM, "topic": "people/ana"}]))
    assert isinstance(checked, Answer)
    assert checked.additions[0].topic == "topics/people/ana.md"


def test_the_schema_is_strict_as_both_clients_want_it() -> None:
    def objects(node: object) -> list[dict[str, Any]]:
        if isinstance(node, list):
            return [found for item in node for found in objects(item)]
        if not isinstance(node, dict):
            return []
        inner = [found for item in node.values() for found in objects(item)]
        return [node, *inner] if node.get("type") == "object" else inner

    found = objects(json.loads(json.dumps(SCHEMA)))
    assert len(found) == 3
    assert all(o["additionalProperties"] is False for o in found)
    assert all(o["required"] == list(o["properties"]) for o in found)


# --- what becomes of it


def source(label: str) -> SourceInput:
    return SourceInput(label, "user", "I moved.", NOON.isoformat())


def written(workspace: Workspace, answered: Answer, places: Places | None = None) -> Workspace:
    """The answer is in the workspace, through the one transaction that checks everything."""
    asked = Update(
        base_revision=None,
        sources=tuple(source(render.label(n)) for n in (1, 2, 3)),
        git="off",
        edits=lambda snapshot: render.edits(answered, snapshot, places or Places({})),
    )
    update(workspace, asked, now=NOON)
    return workspace


def addition(text: str = "The user moved.", heading: str = "Where", **more: Any) -> Addition:
    return Addition(
        more.get("topic", RelPath("topics/home.md")),
        heading,
        text,
        more.get("time", "2026-08-03"),
        more.get("messages", (1,)),
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "memory")


def topic_text(workspace: Workspace, path: str = "topics/home.md") -> str:
    return workspace.snapshot().read(RelPath(path))


def hand_made(workspace: Workspace, text: str, name: str = "topics/home.md") -> None:
    path = workspace.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def test_an_addition_makes_its_topic_and_heading(workspace: Workspace) -> None:
    written(workspace, Answer((addition(),)))
    lines = topic_text(workspace).splitlines()
    assert lines[:4] == ["# Home", "", "## Where", ""]
    assert lines[4].startswith("The user moved.[^e-")
    assert lines[6].startswith("[^e-")
    assert "Time: `2026-08-03`; Sources: [claude-code/" in lines[6]


def test_a_second_fact_stands_under_the_same_heading(workspace: Workspace) -> None:
    written(workspace, Answer((addition("One."), addition("Other.", "Else"))))
    written(workspace, Answer((addition("Two.", "where"),)))
    topic = workspace.snapshot().topic(RelPath("topics/home.md"))
    assert topic is not None
    placed = {block.claims[0].text.strip(): block.headings[-1] for block in topic.blocks}
    assert placed == {"One.": "Where", "Two.": "Where", "Other.": "Else"}
    assert len(topic.evidence) == 3


def test_a_revision_adds_its_statement_and_the_old_one_stays(workspace: Workspace) -> None:
    written(workspace, Answer((addition("The user lives in Xuhui.", time="2025"),)))
    topic = workspace.snapshot().topic(RelPath("topics/home.md"))
    assert topic is not None
    block = str(topic.blocks[0].id)
    revision = Revision(block, "They moved to Pudong.", "2026-08-03", (2,))
    written(workspace, Answer(revisions=(revision,)))
    after = workspace.snapshot().topic(RelPath("topics/home.md"))
    assert after is not None
    (revised,) = after.blocks
    assert revised.id == block
    assert [c.text.strip() for c in revised.claims] == [
        "The user lives in Xuhui.",
        "They moved to Pudong.",
    ]
    assert [e.time for e in after.evidence] == ["2025", "2026-08-03"]


SOURCES = "\n[^e-0000000001]: Time: `2026`; Sources: {source}\n"


def with_evidence(workspace: Workspace, body: str) -> None:
    """A hand-made topic that cites a source which exists."""
    written(workspace, Answer((addition(topic=RelPath("topics/other.md")),)))
    hand_made(workspace, body + SOURCES.format(source=some_source(workspace)))


def some_source(workspace: Workspace) -> str:
    snapshot = workspace.snapshot()
    path = next(f.path for f in snapshot.files() if f.kind == "source")
    return snapshot.sources_of(path)[0].id


@pytest.mark.parametrize(
    "body",
    [
        "# Home\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[^e-0000000001] ^tab-1\n",
        "# Home\n\n```\ncode\n```\n\n[^e-0000000001] ^tab-1\n",
    ],
    ids=["table", "fence"],
)
def test_a_revision_of_what_is_no_prose_stands_beside_it(workspace: Workspace, body: str) -> None:
    with_evidence(workspace, body)
    written(workspace, Answer(revisions=(Revision("tab-1", "It grew.", "2026", (1,)),)))
    text = topic_text(workspace)
    assert body.strip() in text
    topic = workspace.snapshot().topic(RelPath("topics/home.md"))
    assert topic is not None
    assert "It grew." in [c.text.strip() for b in topic.blocks for c in b.claims]


@pytest.mark.parametrize(
    "body",
    ["# Home\n\n- One.[^e-0000000001] ^item-1\n", "# Home\n\n> One.[^e-0000000001] ^item-1\n"],
    ids=["list", "quote"],
)
def test_a_revision_of_an_item_or_a_quote_stands_in_it(workspace: Workspace, body: str) -> None:
    with_evidence(workspace, body)
    written(workspace, Answer(revisions=(Revision("item-1", "Two.", "2026", (1,)),)))
    topic = workspace.snapshot().topic(RelPath("topics/home.md"))
    assert topic is not None
    assert len(topic.blocks) == 1
    assert len(topic.blocks[0].claims) == 2


def test_a_revision_of_a_block_that_is_gone_becomes_an_addition(workspace: Workspace) -> None:
    places = Places({"gone": (RelPath("topics/home.md"), "Where")})
    written(workspace, Answer(revisions=(Revision("gone", "Moved.", "2026", (1,)),)), places)
    assert "## Where" in topic_text(workspace)


def test_line_ends_bom_and_every_other_byte_of_a_file_stay(workspace: Workspace) -> None:
    body = "\ufeff# Home\r\n\r\nOne.[^e-0000000001] ^one\r\n"
    written(workspace, Answer((addition(topic=RelPath("topics/other.md")),)))
    source = some_source(workspace)
    definition = f"\r\n[^e-0000000001]: Time: `2026`; Sources: {source}\r\n"
    hand_made(workspace, body + definition)
    written(workspace, Answer((addition("Two."),)))
    text = (workspace.root / "topics/home.md").read_bytes().decode()
    assert text.startswith(body)
    assert text.count("\n") == text.count("\r\n")


def test_a_file_in_breach_of_the_contract_is_left_and_another_one_takes_the_fact(
    workspace: Workspace,
) -> None:
    hand_made(workspace, "# Home\n\nA person wrote this without evidence.\n")
    closed = frozenset({RelPath("topics/home.md")})
    written(workspace, Answer((addition(),)), Places({}, closed))
    assert topic_text(workspace) == "# Home\n\nA person wrote this without evidence.\n"
    assert "The user moved." in topic_text(workspace, "topics/home-captured.md")


def test_core_gets_a_line_once_and_keeps_its_budget(workspace: Workspace) -> None:
    written(workspace, Answer(core=("The user is called Ana.",)))
    written(workspace, Answer(core=("the user is called Ana.", "long " * 50)))
    written(workspace, Answer(core=tuple(f"line {n} {'word ' * 50}" for n in range(60))))
    text = topic_text(workspace, "core.md")
    assert text.casefold().count("called ana") == 1
    assert workspace.snapshot().counts().core_tokens <= 2000


HOSTILE = (
    "# heading", "> quote", "- item", "1. item", "```", "~~~", "| a | b |", "---", "<!-- x",
    "<div>", "<A>", ":<A>", "List<int>",
    "text ^abc123", "^abc", "`half", "``a`", "trailing \\", "*em", "**strong", "[x] done", ": def",
    "a $$ b", "new-source-1 ^new-block-1", "\u202etext", "a\u2028b", "{#id}", "&lt;!--", "_x_",
    "[a]: http://x", "===", "    code", "http://a.b/[c]", "word `code ^x` word",
    "\u200b^abc", "%% x %%",
)  # fmt: skip


@given(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=60), st.tuples(
    st.sampled_from(HOSTILE), st.sampled_from(HOSTILE)).map(" ".join)))  # fmt: skip
@example("a `b ^c` d ^e")
@settings(max_examples=60)
def test_whatever_prose_is_accepted_keeps_the_contract(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    checked = check(whole([{**ITEM, "text": text, "heading": text}], [], [text]))
    if isinstance(checked, Refused):
        return
    workspace = Workspace.open(tmp_path_factory.mktemp("memory"))
    written(workspace, checked)
    topic = workspace.snapshot().topic(RelPath("topics/home.md"))
    assert topic is not None
    (block,) = topic.blocks
    assert len(block.claims) == 1
    assert block.links == ()
    written(workspace, Answer(revisions=(Revision(str(block.id), "More.", "2026", (2,)),)))


@given(st.text(max_size=80))
def test_prose_and_lines_are_one_line_or_refused(text: str) -> None:
    for make in (prose, line):
        try:
            made = make(text, 100)
        except InvalidProseError:
            continue
        assert len(made.splitlines()) <= 1


def test_a_topic_spelled_in_another_case_is_the_one_there_is(workspace: Workspace) -> None:
    home, twin = addition("One."), addition("Two.", topic=RelPath("topics/Home.md"))
    written(workspace, Answer((home, twin)))
    written(workspace, Answer((addition("Three.", topic=RelPath("topics/HOME.md")),)))
    assert [f.path for f in workspace.snapshot().files() if f.kind == "topic"] == ["topics/home.md"]
