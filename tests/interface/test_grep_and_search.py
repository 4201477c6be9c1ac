"""`memory_grep` and `memory_search`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptorium.interface import envelope, regex

from .conftest import MOVE, Layered, Remembered, creation, topic

PATH = "topics/personal/residence.md"


def test_grep_is_literal_and_ignores_case_unless_told(residence: Remembered) -> None:
    (match,) = residence.ok("memory_grep", query="MOVED to pudong.", prefix="topics")["matches"]
    assert (match["path"], match["line"]) == (PATH, 5)
    assert residence.ok("memory_grep", query="MOVED", case_sensitive=True)["total"] == 0


def test_grep_matches_a_regular_expression(residence: Remembered) -> None:
    data = residence.ok("memory_grep", query=r"^## F\w+$", literal=False)
    assert [match["text"] for match in data["matches"]] == ["## Facts"]


@pytest.mark.parametrize(
    ("query", "literal"), [("e\n\n## Facts", True), ("Residence\n", False), (r"e\n+#", False)]
)
def test_grep_across_lines_says_why_it_finds_nothing(
    residence: Remembered, query: str, literal: bool
) -> None:
    data = residence.ok("memory_grep", query=query, literal=literal)
    assert data["total"] == 0
    assert "line" in data["hint"]
    assert "hint" not in residence.ok("memory_grep", query="zzzz", literal=literal)


def test_grep_looks_through_views_only_when_the_prefix_names_them(residence: Remembered) -> None:
    paths = {match["path"] for match in residence.ok("memory_grep", query="pudong")["matches"]}
    assert {path.partition("/")[0] for path in paths} == {"topics", "sources"}
    for prefix in ("timeline", "timeline/2026", "recent_events.jsonl"):
        assert residence.ok("memory_grep", query="pudong", prefix=prefix)["total"] > 0


def test_grep_sees_an_edit_by_hand(residence: Remembered) -> None:
    file = residence.root / PATH
    for word in ("Puxi", "Minhang", "Hongkou"):
        assert residence.ok("memory_grep", query=word)["total"] == 0
        file.write_text(file.read_text().replace("to ", f"to {word} ", 1))
        (match,) = residence.ok("memory_grep", query=word.lower())["matches"]
        assert word in match["text"]


def test_grep_counts_what_it_does_not_show(remembered: Remembered) -> None:
    (remembered.root / "core.md").write_text("needle\n" * 90, encoding="utf-8")
    data = remembered.ok("memory_grep", query="needle", limit=7)
    assert (len(data["matches"]), data["total"], data["truncated"]) == (7, 90, True)


def test_grep_over_lines_of_a_megabyte_stays_within_the_limit(remembered: Remembered) -> None:
    (remembered.root / "core.md").write_text(("x" * 1_000_000 + "\n") * 3, encoding="utf-8")
    answer = remembered.call("memory_grep", query="xxx", limit=1000)
    assert answer.ok
    assert len(answer.text().encode()) <= envelope.LIMIT


@pytest.mark.parametrize("query", ["(", "[a", "*", "(?P<a", "a{9999999999}"])
def test_a_bad_regex_is_refused_but_is_a_fine_text(residence: Remembered, query: str) -> None:
    error = residence.refused("memory_grep", query=query, literal=False)
    assert error["code"] == "INVALID_ARGUMENT"
    assert residence.call("memory_grep", query=query).ok


def test_a_catastrophic_regex_ends_with_a_reason(remembered: Remembered) -> None:
    (remembered.root / "core.md").write_text("a" * 40 + "!\n", encoding="utf-8")
    error = remembered.refused("memory_grep", query="(a+)+$", literal=False)
    assert error["code"] == "INVALID_ARGUMENT"
    assert f"{regex.DEADLINE:g} s" in error["message"]


def test_a_file_that_cannot_be_decoded_costs_that_file_only(residence: Remembered) -> None:
    (residence.root / "topics" / "bad.md").write_bytes(b"# Bad \xff\xfe\n")
    assert residence.ok("memory_grep", query="Pudong", prefix="topics")["total"] == 1


def test_search_finds_the_block_with_its_fields(residence: Remembered) -> None:
    data = residence.ok("memory_search", query="moved pudong")
    first = data["results"][0]
    assert data["method"] == "bm25"
    assert (first["rank"], first["path"], first["kind"]) == (1, PATH, "block")
    assert first["headings"] == ["Residence", "Facts"]
    assert first["times"] == ["2026-08-03"]
    assert "Pudong" in first["content"]
    assert first["sources"]
    assert first["block_id"]


def test_search_that_finds_nothing_says_what_could_be_tried(residence: Remembered) -> None:
    data = residence.ok("memory_search", query="zzzz")
    assert data["results"] == []
    assert data["hint"]


@pytest.mark.parametrize("method", ["embedding", "hybrid"])
def test_embeddings_without_an_endpoint_are_refused_not_replaced(
    residence: Remembered, method: str
) -> None:
    error = residence.refused("memory_search", query="pudong", method=method)
    assert error["code"] == "EMBEDDING_UNAVAILABLE"


@pytest.mark.parametrize("given", [{"date_from": "2026-13"}, {"date_to": "tomorrow"}])
def test_a_bad_date_is_refused(residence: Remembered, given: dict[str, str]) -> None:
    error = residence.refused("memory_search", query="pudong", **given)
    assert error["code"] == "INVALID_ARGUMENT"


def test_a_date_window_keeps_what_overlaps(residence: Remembered) -> None:
    inside = residence.ok("memory_search", query="pudong", date_from="2026-08", date_to="2026")
    outside = residence.ok("memory_search", query="pudong moved", date_to="2025")
    assert PATH in [hit["path"] for hit in inside["results"]]
    assert outside["results"] == []


def test_search_interleaves_layers_by_rank(layered: Layered) -> None:
    both = layered("project", "global")
    for layer in ("project", "global"):
        for n in range(3):
            text = topic("a", f"Apples number {n} are red in {layer}.")
            both.update(creation(f"topics/{n}.md", text), MOVE, layer=layer)
    paths = [hit["path"] for hit in both.ok("memory_search", query="apples red")["results"]]
    assert [path.partition(":")[0] for path in paths[:4]] == ["project", "global"] * 2
    only = both.ok("memory_search", query="apples", path_prefix="global:topics/")["results"]
    assert {hit["path"].partition(":")[0] for hit in only} == {"global"}


def test_a_hit_of_a_megabyte_is_shown_in_part(remembered: Remembered) -> None:
    long = {**MOVE, "content": "pudong " * 140_000}
    remembered.update(creation(PATH, topic("residence", "The user moved.")), long)
    answer = remembered.call("memory_search", query="pudong")
    assert answer.data["results"]
    assert len(answer.text().encode()) <= envelope.LIMIT


QUERIES = [
    "",
    " ",
    "\0",
    "docker-compose",
    "what's",
    '"unbalanced',
    "a AND (b OR",
    "NEAR/3",
    "*",
    "c++",
    "浦东",
    "🚇",
    "a" * 100_000,
    "\u202e",
    "%s%n",
    "'; DROP TABLE",
    "\\",
    "e\u0301",
]


@pytest.mark.parametrize("query", QUERIES, ids=[str(n) for n in range(len(QUERIES))])
def test_any_query_is_answered(residence: Remembered, query: str) -> None:
    assert residence.call("memory_search", query=query).ok


@settings(max_examples=60)
@given(query=st.text(max_size=300))
def test_a_query_never_raises(shared: Remembered, query: str) -> None:
    assert shared.call("memory_search", query=query).ok
    if query:
        assert shared.call("memory_grep", query=query).ok
