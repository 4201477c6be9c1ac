"""Every rule of the topic contract, by goldens; and that a good topic breaks none."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.format import cases
from tests.format.strategies import Facts, Known, texts, topics

from scriptorium.format.claims import id_marks
from scriptorium.format.contract import CORE_BUDGET, check_core, check_topic
from scriptorium.format.markdown import parse_topic
from scriptorium.format.model import Problem, RelPath
from scriptorium.format.tokens import estimate_tokens

HOME = RelPath("topics/home.md")
WORLD = Known(
    blocks={
        "office": "topics/work/office.md",
        "new": "topics/work/the (new) office.md",
        "home": "topics/home.md",
    },
    sources=frozenset({"a/b/1", "a/b/2"}),
    files=frozenset({"core.md", "topics/home.md", "topics/work/office.md"}),
    anchors=frozenset({("sources/a/b.md", "source-1", "a/b/1")}),
)


def _shown(problems: list[Problem]) -> str:
    lines = [f"{p.line} {p.rule}" + _code(p) for p in problems]
    return "\n".join(lines) or "kept"


def _code(problem: Problem) -> str:
    return "" if problem.error == "INVALID_TOPIC_FORMAT" else f" {problem.error}"


def shown_problems(text: str) -> str:
    return _shown(check_topic(HOME, parse_topic(text), WORLD))


def shown_core(text: str) -> str:
    return _shown(check_core(text, WORLD))


@pytest.mark.parametrize("case", cases.read("contract"), ids=lambda case: case.name)
def test_a_topic_is_told_every_breach_with_line_and_rule(case: cases.Case) -> None:
    assert shown_problems(case.text) == case.expected


@pytest.mark.parametrize("case", cases.read("core"), ids=lambda case: case.name)
def test_core_is_told_every_breach_with_line_and_rule(case: cases.Case) -> None:
    assert shown_core(case.text) == case.expected


def test_every_rule_has_a_golden_that_breaks_it() -> None:
    rules = {
        *("block-without-id", "several-ids", "block-id-format", "empty-block"),
        *("uncited-block", "uncited-prose", "undefined-evidence", "uncited-evidence"),
        *("duplicate-evidence", "evidence-format", "evidence-time", "evidence-without-source"),
        *("unknown-source", "link-without-block", "dangling-block-link", "duplicate-block-id"),
        *("core-budget", "core-dangling-link"),
    }
    broken = {
        line.split()[1]
        for folder in ("contract", "core")
        for case in cases.read(folder)
        for line in case.expected.splitlines()
        if " " in line
    }
    assert broken == rules


@settings(max_examples=100)
@given(topics())
def test_a_topic_that_keeps_the_contract_has_no_problem(facts: Facts) -> None:
    world = Known(dict.fromkeys(facts.blocks, HOME), frozenset(facts.sources))
    topic = parse_topic(facts.text)
    assert check_topic(HOME, topic, world) == []
    assert [block.id for block in topic.blocks] == list(facts.blocks)


@settings(max_examples=100)
@given(topics(), st.data())
def test_a_topic_that_lost_an_id_or_a_citation_has_problems(
    facts: Facts, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(facts.blocks) - 1))
    lost = data.draw(st.sampled_from([f"^b{number}", f"[^e-{number}]"]))
    world = Known(dict.fromkeys(facts.blocks, HOME), frozenset(facts.sources))
    assert check_topic(HOME, parse_topic(facts.text.replace(lost, "", 1)), world)


@settings(max_examples=100)
@given(texts)
def test_any_text_can_be_checked_and_problems_stand_in_its_lines(text: str) -> None:
    last = text.count("\n") + text.count("\r") + 1
    problems = [*check_topic(HOME, parse_topic(text), WORLD), *check_core(text, WORLD)]
    assert all(1 <= problem.line <= last and problem.message for problem in problems)


@settings(max_examples=100)
@given(texts)
@example("- a\n  - b ^x\n    c ^y\n")
@example("    code ^x\n\n^y\n")
def test_the_id_of_a_block_is_found_again_in_its_lines(text: str) -> None:
    for block in parse_topic(text).blocks:
        marks = id_marks(block)
        assert not marks or block.id in (None, *(mark.id for mark in marks))


def test_core_may_cost_its_budget_and_not_a_token_more() -> None:
    text = "word " * 100
    cost = estimate_tokens(text)
    assert check_core(text, WORLD, budget=cost) == []
    assert [p.rule for p in check_core(text, WORLD, budget=cost - 1)] == ["core-budget"]
    assert CORE_BUDGET == 2000


def test_messages_name_the_way_to_a_block_that_stands_elsewhere() -> None:
    text = "See [office](gone.md#^office).[^1] ^one\n\n[^1]: Time: `2026`; Sources: a/b/1\n"
    [problem] = check_topic(HOME, parse_topic(text), WORLD)
    assert "work/office.md#^office" in problem.message
