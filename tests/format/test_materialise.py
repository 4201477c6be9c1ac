"""Materialising: names become stable ids, and nothing else changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from tests.format.strategies import texts

from scriptorium.format import ids, materialise, sources
from scriptorium.format.model import Problem, RelPath, SourceId

A = RelPath("topics/a.md")
B = RelPath("topics/work/b.md")
CORE = RelPath("core.md")
MOVE = ids.source_id("claude-code", "cc9f", "bd17")
OLD = ids.source_id("claude-code", "0000", "0001")
LINK = f"[{MOVE}](../sources/claude-code/cc9f.md#{ids.anchor(MOVE)})"
DEFINITION = "[^new-evidence-m]: Time: `2026-08-03`; Sources: new-source-move\n"
RESIDENCE = f"# Residence\n\nThe user moved.[^new-evidence-m] ^new-block-r\n\n{DEFINITION}"


def made(
    edits: Mapping[RelPath, str | None],
    before: Mapping[RelPath, str | None] | None = None,
    blocks: Collection[str] = (),
    evidence: Collection[str] = (),
) -> materialise.Materialised:
    known = {MOVE, OLD}
    return materialise.materialise(
        edits,
        dict.fromkeys(edits) if before is None else before,
        labels={"new-source-move": MOVE},
        block_taken=lambda name: name in blocks,
        evidence_taken=lambda name: name in evidence,
        source_path=lambda name: sources.thread_path(SourceId(name)) if name in known else None,
    )


def rules(problems: Collection[Problem]) -> list[tuple[str, int, str]]:
    return [(p.path, p.line, p.rule) for p in problems]


def test_a_new_topic_gets_stable_ids_and_linked_sources() -> None:
    result = made({A: RESIDENCE})
    block = result.block_ids["new-block-r"]
    evidence = result.evidence_ids["new-evidence-m"]
    assert result.problems == ()
    assert result.texts == {
        A: f"# Residence\n\nThe user moved.[^{evidence}] ^{block}\n\n"
        f"[^{evidence}]: Time: `2026-08-03`; Sources: {LINK}\n"
    }
    assert re.fullmatch("[0-9a-f]{8}", block)
    assert re.fullmatch("e-[0-9a-f]{10}", evidence)


def test_the_same_update_gives_the_same_ids() -> None:
    assert made({A: RESIDENCE}) == made({A: RESIDENCE})


def test_a_taken_id_is_not_given_again() -> None:
    first = made({A: RESIDENCE})
    block, evidence = first.block_ids["new-block-r"], first.evidence_ids["new-evidence-m"]
    second = made({A: RESIDENCE}, blocks={block}, evidence={evidence})
    assert second.block_ids["new-block-r"] != block
    assert second.evidence_ids["new-evidence-m"] != evidence


def test_line_ends_and_a_bom_stay() -> None:
    result = made({A: "\ufeff" + RESIDENCE.replace("\n", "\r\n")})
    expected = made({A: RESIDENCE})
    text, plain = result.texts[A], expected.texts[A]
    assert text is not None
    assert plain is not None
    assert re.sub("[0-9a-f]{8,10}", "", text) == "\ufeff" + re.sub(
        "[0-9a-f]{8,10}", "", plain
    ).replace("\n", "\r\n")


@pytest.mark.parametrize(
    "link",
    [
        "[x](#^new-block-r)",
        "[x](a.md#^new-block-r)",
        "[x](a.md#%5Enew-block-r)",
        "[x](<a.md#^new-block-r> 'title')",
        "[[a#^new-block-r]]",
        "[[a#^new-block-r|x]]",
        "![x](a.md#^new-block-r)",
    ],
)
def test_a_link_to_a_new_block_gets_its_id(link: str) -> None:
    result = made({A: RESIDENCE, CORE: f"See {link}.\n"})
    block = result.block_ids["new-block-r"]
    expected = link.replace("%5E", "^").replace("new-block-r", block)
    assert result.texts[CORE] == f"See {expected}.\n"


@pytest.mark.parametrize(
    "block",
    [
        "- item[^new-evidence-m] ^new-block-r\n",
        "> quote\n> more[^new-evidence-m] ^new-block-r\n",
        "| a |\n|---|\n| b |\n\n[^new-evidence-m] ^new-block-r\n",
        "```\n^new-block-r\n```\n\n[^new-evidence-m]\n^new-block-r\n",
        "住在浦东。[^new-evidence-m]^new-block-r\n",
        "- item\n\n  > deep[^new-evidence-m]\n  ^new-block-r\n",
    ],
)
def test_a_block_of_any_kind_gets_its_id(block: str) -> None:
    result = made({A: f"{block}\n{DEFINITION}"})
    text = result.texts[A]
    assert result.problems == ()
    assert text is not None
    assert re.search(f"[ \n]\\^{result.block_ids['new-block-r']}$", text, re.MULTILINE)
    assert text.count("new-block-r") == block.count("new-block-r") - 1
    assert "new-evidence" not in text


def test_names_in_code_comments_and_escaped_text_are_text() -> None:
    text = (
        "---\nx: ^new-block-y\n---\nWrite `[^new-evidence-m]` and \\[^new-evidence-m] and"
        " `[x](#^new-block-r)`. ^new-block-r\n\n<!-- [^new-evidence-m] ^new-block-r -->\n\n"
        "```\n[^new-evidence-m]: Sources: new-source-move ^new-block-r\n```\n^new-block-c\n"
    )
    result = made({A: text})
    assert set(result.block_ids) == {"new-block-r", "new-block-c"}
    first, last = (result.block_ids[n] for n in ("new-block-r", "new-block-c"))
    assert result.texts[A] == text.replace("`. ^new-block-r", f"`. ^{first}").replace(
        "\n^new-block-c\n", f"\n^{last}\n"
    )
    assert result.evidence_ids == {}


def test_a_name_used_for_two_blocks_is_refused_and_both_places_named() -> None:
    result = made({A: "x ^new-block-r\n\ny ^new-block-r\n", B: "z ^new-block-r\n"})
    assert rules(result.problems) == [(A, 3, "duplicate-block-id"), (B, 1, "duplicate-block-id")]


def test_a_name_of_evidence_belongs_to_its_file() -> None:
    result = made({A: RESIDENCE, B: RESIDENCE.replace("new-block-r", "new-block-s")})
    first, second = (result.evidence_ids[key] for key in ("new-evidence-m", f"{B}#new-evidence-m"))
    assert first != second
    assert f"[^{second}]" in (result.texts[B] or "")
    assert f"[^{first}]" not in (result.texts[B] or "")


def test_an_id_that_the_update_invents_is_refused() -> None:
    text = f"x.[^e-1234567890] ^deadbeef\n\n{DEFINITION.replace('new-evidence-m', 'e-1234567890')}"
    result = made({A: text})
    assert rules(result.problems) == [
        (A, 1, "invented-block-id"),
        (A, 3, "invented-evidence-id"),
    ]


def test_ids_that_were_there_may_move_to_another_file() -> None:
    text = f"x.[^e-1] ^deadbeef\n\n[^e-1]: Time: `2026`; Sources: {LINK}\n"
    assert made({A: None, B: text}, {A: text, B: None}, blocks={"deadbeef"}).problems == ()
    assert made({A: None, B: text}, {A: text, B: None}).problems == ()
    again = text.replace(LINK, LINK.replace("../", "../../"))
    assert made({A: None, B: text}, {A: text, B: None}).texts == {A: None, B: again}


@pytest.mark.parametrize("name", ["x ^new-block-r more\n", "# Heading ^new-block-r\n"])
def test_a_name_that_ends_no_block_is_refused(name: str) -> None:
    assert rules(made({A: f"text\n\n{name}"}).problems) == [(A, 3, "block-id-format")]


def test_core_holds_no_blocks() -> None:
    assert rules(made({CORE: "Standing. ^new-block-r\n"}).problems) == [
        (CORE, 1, "id-outside-topic")
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("new-source-move", LINK),
        ("[new-source-move]", LINK),
        ("[new-source-move](x)", LINK),
        (MOVE, LINK),
        (f"[{MOVE}]", LINK),
        (LINK, LINK),
        (LINK.replace("source-", "source%2D"), LINK.replace("source-", "source%2D")),
        (LINK.replace("../sources", "../../sources"), LINK),
        (f"{OLD}, new-source-move", None),
        ("new-source-none", "new-source-none"),
        ("https://example.org", "https://example.org"),
        ("`new-source-move`", "`new-source-move`"),
    ],
)
def test_a_source_is_written_as_a_link_to_its_record(written: str, expected: str | None) -> None:
    text = f"x.[^new-evidence-m]\n\n[^new-evidence-m]: Time: `2026`; Sources: {written}\n"
    result = made({A: text}).texts[A]
    assert result is not None
    if expected is None:
        old = f"[{OLD}](../sources/claude-code/0000.md#{ids.anchor(OLD)})"
        expected = f"{old}, {LINK}"
    assert result.endswith(f"; Sources: {expected}\n")


def test_a_definition_that_the_update_does_not_touch_keeps_every_byte() -> None:
    old = f"[^e-1]: Time: `2026`; Sources: {MOVE}\n"
    result = made({A: f"new text.[^e-1] ^k\n\n{old}"}, {A: f"old text.[^e-1] ^k\n\n{old}"})
    assert result.texts == {A: f"new text.[^e-1] ^k\n\n{old}"}
    assert result.problems == ()


def test_a_problem_can_be_told_in_the_words_of_the_patch() -> None:
    result = made({A: RESIDENCE})
    block, evidence = result.block_ids["new-block-r"], result.evidence_ids["new-evidence-m"]
    problem = Problem(A, 3, "x", f"[^{evidence}] in ^{block}")
    assert result.as_written(problem).message == "[^new-evidence-m] in ^new-block-r"


@given(texts)
def test_a_text_without_names_keeps_every_byte(text: str) -> None:
    result = made({A: text, CORE: text}, {A: text, CORE: text})
    assert result.texts == {A: text, CORE: text}


@given(texts)
def test_any_text_is_taken(text: str) -> None:
    named = text.replace("id", "new-block-x").replace("e-1", "new-evidence-y")
    result = made({A: named, B: f"{named}\n{DEFINITION}"})
    assert set(result.texts) == {A, B}


ANCHORED = f"../sources/claude-code/cc9f.md#{ids.anchor(MOVE)}"
MENTIONS = {
    "bare": ("They said so (new-source-move).", f"They said so ({LINK})."),
    "link": ("See [the words](new-source-move).", f"See [the words]({ANCHORED})."),
    "link of itself": ("[new-source-move](new-source-move)", LINK),
    "in a link's text": ("[new-source-move](https://a.b)", "[new-source-move](https://a.b)"),
    "in brackets": ("Said in [new-source-move].", f"Said in {LINK}."),
    "code": ("`new-source-move`", "`new-source-move`"),
    "unknown": ("new-source-moved a-new-source-move", "new-source-moved a-new-source-move"),
}


@pytest.mark.parametrize(("text", "expected"), MENTIONS.values(), ids=MENTIONS)
def test_a_source_that_prose_names_becomes_a_link(text: str, expected: str) -> None:
    result = made({A: f"# T\n\n{text}\n", CORE: f"# Core\n\n{text}\n"})
    assert result.texts[A] == f"# T\n\n{expected}\n"
    assert result.texts[CORE] == f"# Core\n\n{expected}\n".replace("../sources", "sources")


def test_core_may_cite_new_evidence_and_keeps_its_own_footnotes() -> None:
    text = f"Lives in Pudong.[^new-evidence-m] Likes tea.[^1]\n\n[^1]: A note.\n{DEFINITION}"
    result = made({CORE: text}, {CORE: "Likes tea.\n"})
    evidence = result.evidence_ids["new-evidence-m"]
    assert result.problems == ()
    assert result.texts[CORE] == text.replace("new-evidence-m", evidence).replace(
        "new-source-move", LINK.replace("../", "")
    )


def test_core_cannot_cite_new_evidence_that_nothing_defines() -> None:
    assert rules(made({CORE: "# C\n\nLives there.[^new-evidence-m]\n"}).problems) == [
        (CORE, 3, "undefined-evidence")
    ]


def test_a_definition_may_link_to_the_label_of_a_source() -> None:
    text = RESIDENCE.replace("Sources: new-source-move", "Sources: [the words](new-source-move)")
    assert f"Sources: {LINK}\n" in str(made({A: text}).texts[A])
