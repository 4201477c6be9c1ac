"""The views as text: what each one shows, and that nothing in it can pass for something else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptorium.format import markdown, views
from scriptorium.format.model import BlockId, RelPath
from scriptorium.format.views import Event, Moment, Relation

OFFICE = RelPath("topics/work/office.md")
HOME = RelPath("topics/home.md")


def moment(text: str = "The office moved.", headings: tuple[str, ...] = ("Office",)) -> Moment:
    return Moment(OFFICE, BlockId("91ab03fe"), headings, text)


@pytest.mark.parametrize(
    ("time", "path", "link"),
    [
        ("2026", "timeline/2026.md", "../topics/work/office.md#^91ab03fe"),
        ("2026-08", "timeline/2026/08.md", "../../topics/work/office.md#^91ab03fe"),
        ("2026-08-03", "timeline/2026/08/03.md", "../../../topics/work/office.md#^91ab03fe"),
    ],
)
def test_each_precision_has_its_own_file_and_links_to_blocks(
    time: str, path: str, link: str
) -> None:
    assert views.timeline_path(time) == path
    text = views.timeline(time, [moment()], [])
    assert text == f"# {time}\n\n- [Office]({link}): The office moved.\n"


def test_a_year_lists_its_months_and_a_month_its_days() -> None:
    assert views.timeline("2026", [], ["2026-07", "2026-08"]) == (
        "# 2026\n\n## Months\n\n- [2026-07](2026/07.md)\n- [2026-08](2026/08.md)\n"
    )
    assert views.timeline("2026-08", [], ["2026-08-03"]) == (
        "# 2026-08\n\n## Days\n\n- [2026-08-03](08/03.md)\n"
    )


def test_a_time_with_nothing_to_show_has_no_file() -> None:
    assert views.timeline("2026-08-03", [], []) is None


def test_a_block_without_headings_is_named_by_its_file() -> None:
    text = views.timeline("2026", [moment(headings=())], [])
    assert text is not None
    assert "- [office](" in text


@given(st.text(), st.lists(st.text(), max_size=2))
def test_whatever_a_block_says_its_timeline_line_links_to_it_alone(
    text: str, headings: list[str]
) -> None:
    said = moment(views.excerpt(text), tuple(headings))
    shown = views.timeline("2026-08-03", [said], [])
    assert shown is not None
    lines = shown.split("\n")
    assert len(lines) == 4
    assert len(shown.splitlines()) == 3
    (link,) = markdown.links(shown)
    assert link.target == "../../../topics/work/office.md#^91ab03fe"


@given(st.text(max_size=400), st.integers(10, 200))
def test_an_excerpt_is_one_line_within_its_limit(text: str, limit: int) -> None:
    short = views.excerpt(text, limit)
    assert len(short.splitlines()) <= 1
    assert len(short.replace("\\", "")) <= limit


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("The user moved.[^e-cc9467bf40] ^76fd3b6c", "The user moved."),
        ("- see [the office](../work/office.md#^91ab03fe) now", "see the office now"),
        ("> 他们\n> 搬家了", "他们 搬家了"),
        ("uses `a[0]` and [x] <b>", "uses `a[0]` and \\[x\\] \\<b>"),
        ("一" * 300, "一" * 159 + "…"),
    ],
)
def test_an_excerpt_keeps_prose_and_code_and_leaves_out_the_apparatus(
    markdown: str, plain: str
) -> None:
    assert views.excerpt(markdown) == plain


def test_recent_events_are_json_objects_one_a_line_in_the_order_given() -> None:
    event = Event(
        OFFICE,
        BlockId("91ab03fe"),
        ("A", "B\u2028C"),
        ("2026-08-03",),
        "2026-08-03T10:00:00+08:00",
        "搬",
    )
    text = views.recent_events([event, event])
    assert len(text.splitlines()) == 2
    assert json.loads(text.splitlines()[0]) == {
        "id": "91ab03fe",
        "path": "topics/work/office.md",
        "headings": ["A", "B\u2028C"],
        "times": ["2026-08-03"],
        "observed_at": "2026-08-03T10:00:00+08:00",
        "text": "搬",
    }
    assert "搬" in text


def test_relations_are_one_link_a_line_in_both_directions_whatever_the_order() -> None:
    there = Relation(HOME, BlockId("aa"), OFFICE, BlockId("bb"))
    back = Relation(OFFICE, BlockId("bb"), HOME, BlockId("aa"))
    other = Relation(HOME, BlockId("cc"), HOME, BlockId("aa"))
    text = views.relations([other, back, there, there])
    assert text == views.relations([there, other, back])
    shown = json.loads(text)
    assert shown["links"] == [
        {"from": "topics/home.md#^aa", "to": "topics/work/office.md#^bb"},
        {"from": "topics/home.md#^cc", "to": "topics/home.md#^aa"},
        {"from": "topics/work/office.md#^bb", "to": "topics/home.md#^aa"},
    ]
    assert [link["to"] for link in shown["backlinks"]] == [
        "topics/home.md#^aa",
        "topics/home.md#^aa",
        "topics/work/office.md#^bb",
    ]
    assert len(text.splitlines()) == 12


def test_no_relations_are_valid_json_too() -> None:
    assert json.loads(views.relations([])) == {"links": [], "backlinks": []}
