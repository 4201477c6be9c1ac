"""What a search of a workspace finds, in which order, and that it follows the files."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from scriptorium.errors import EmbeddingUnavailable, InvalidArgument
from scriptorium.format import sources
from scriptorium.search import arrays
from scriptorium.search.index import Index
from scriptorium.workspace import journal
from scriptorium.workspace.workspace import Workspace

from .workspaces import Fact, block, opened, write_thread, write_topic


def found(index: Index, query: str, **arguments: object) -> list[str]:
    """The ids of the hits, in order."""
    results = index.search(query, **arguments)  # type: ignore[arg-type]
    assert [hit.rank for hit in results.hits] == list(range(1, len(results.hits) + 1))
    assert [hit.score for hit in results.hits] == sorted(
        (hit.score for hit in results.hits), reverse=True
    )
    assert bool(results.hits) != bool(results.explanation)
    return [hit.id for hit in results.hits]


# --- what is found


def test_a_block_comes_with_all_that_an_answer_shows(workspace: Workspace, index: Index) -> None:
    [said] = write_thread(workspace, "t", ["I moved to Pudong"], ["2026-08-04T09:00:00+00:00"])
    fact = Fact("b1", [("The user moved to Pudong.", "2026-08-03")], [said], "Where the user lives")
    write_topic(workspace, "topics/home/residence.md", "Residence", [fact])
    [hit, source] = index.search("pudong").hits
    assert (hit.kind, hit.id, hit.path) == ("block", "b1", "topics/home/residence.md")
    assert hit.headings == ("Residence", "Where the user lives")
    assert hit.content == "The user moved to Pudong."
    assert (hit.times, hit.sources, hit.ranks) == (("2026-08-03",), (said,), None)
    assert (source.kind, source.id) == ("source", said)
    assert source.path == sources.thread_path(said)
    assert source.content == "I moved to Pudong"
    assert (source.times, source.sources) == (("2026-08-04",), (said,))


def test_the_claims_of_a_block_are_one_hit(workspace: Workspace, index: Index) -> None:
    claims = [("The cat is called Miso.", "2024"), ("The cat eats fish.", "2026-08")]
    write_topic(workspace, "topics/pets.md", "Pets", [Fact("b1", claims), block("b2", "A cat.")])
    assert sorted(found(index, "cat")) == ["b1", "b2"]
    assert index.search("miso").hits[0].times == ("2024", "2026-08")


def test_no_hit_shares_no_word(workspace: Workspace, index: Index) -> None:
    write_topic(workspace, "topics/a.md", "A", [block("b1", "Green tea."), block("b2", "Coffee.")])
    write_thread(workspace, "t", ["Green tea please", "Sure", "Thanks"])
    assert found(index, "tea") == ["b1", "test/t/0"]
    assert found(index, "zebra") == []


def test_a_heading_counts_less_than_the_text(workspace: Workspace, index: Index) -> None:
    facts = [
        Fact("b1", [("It has a red door.", "undated")], (), "Garden"),
        Fact("b2", [("The garden has a pond.", "undated")], (), "House"),
    ]
    write_topic(workspace, "topics/a.md", "Places", facts)
    assert found(index, "garden") == ["b2", "b1"]


def test_an_answer_is_found_by_its_question(workspace: Workspace, index: Index) -> None:
    talk = [
        "Hello there",
        "Which instrument does your sister play?",
        "The cello, since May",
        "Nice",
    ]
    write_thread(workspace, "t", talk)
    write_thread(workspace, "u", ["My sister is ill", "What did you play yesterday?"])
    assert "test/t/2" in found(index, "what instrument does the sister play")[:3]


def test_a_block_that_a_person_wrote_without_id_and_citation_is_found(
    workspace: Workspace, index: Index
) -> None:
    (workspace.root / "topics" / "note.md").write_text("# Note\n\nBuy a saxophone.\n")
    [hit] = index.search("saxophone").hits
    assert (hit.id, hit.path, hit.content) == ("", "topics/note.md", "Buy a saxophone.")


def test_links_are_no_words_and_code_that_looks_like_a_citation_stays(
    workspace: Workspace, index: Index
) -> None:
    text = "See [the office](../work/office.md#^b9) and match `[^abc]` there."
    write_topic(workspace, "topics/a.md", "A", [block("b1", text)])
    assert found(index, "b9") == []
    assert index.search("match").hits[0].content == text


def test_a_long_message_is_shown_where_it_matches(workspace: Workspace, index: Index) -> None:
    long = "filler text " * 2000 + "the saxophone is red " + "more filler " * 2000
    write_thread(workspace, "t", [long])
    [hit] = index.search("saxophone").hits
    assert "the saxophone is red" in hit.content
    assert len(hit.content.encode()) < 3000


# --- in which order


def test_an_exact_rare_name_comes_first(workspace: Workspace, index: Index) -> None:
    common = [block(f"c{n}", f"The user likes tea and reading, note {n}.") for n in range(30)]
    rare = block("rare", "Dr. Okonkwo, whom the user met in a very long meeting about many things.")
    write_topic(workspace, "topics/a.md", "Notes", [*common, rare])
    assert found(index, "what does the user say about Okonkwo and reading tea")[0] == "rare"


def test_a_block_comes_before_the_source_it_cites_when_both_match_equally(
    workspace: Workspace, index: Index
) -> None:
    [said] = write_thread(workspace, "t", ["I moved to Pudong"])
    write_thread(workspace, "u", ["Pudong is far away from all other places that I know well"])
    long = (
        "The user, who had lived in several other districts before, moved to Pudong with the cat."
    )
    write_topic(workspace, "topics/a.md", "A", [block("b1", long, "2026", said)])
    assert found(index, "moved Pudong")[:2] == ["b1", said]


def test_a_source_that_says_more_stays_before_the_block(workspace: Workspace, index: Index) -> None:
    [said] = write_thread(workspace, "t", ["I moved to Pudong because of the tram"])
    write_topic(workspace, "topics/a.md", "A", [block("b1", "The user moved.", "2026", said)])
    assert found(index, "moved Pudong tram")[:2] == [said, "b1"]


def test_the_newer_of_equal_hits_comes_first(workspace: Workspace, index: Index) -> None:
    text = "The user drinks tea."
    times = {"old": "2019", "new": "2026-08-03", "mid": "2024-05", "none": "undated"}
    for name, time in times.items():
        write_topic(workspace, f"topics/{name}.md", "Tea", [block(name, text, time)])
    assert found(index, "drinks") == ["new", "mid", "old", "none"]
    write_thread(workspace, "a", ["the xylophone"], ["2026-08-03T09:00:00+00:00"])
    write_thread(workspace, "b", ["the xylophone"], ["2026-08-03T10:00:00+00:00"])
    write_thread(workspace, "c", ["the xylophone"], ["2026-08-03T09:30:00+00:00"])
    assert found(index, "xylophone") == ["test/b/0", "test/c/0", "test/a/0"]


# --- within which limits


def test_dates_keep_claims_whose_own_times_overlap(workspace: Workspace, index: Index) -> None:
    facts = [
        block("year", "tea one", "2026"),
        block("month", "tea two", "2026-08"),
        block("day", "tea three", "2026-08-03"),
        block("never", "tea four", "undated"),
        block("other", "tea five", "2024-01-31"),
    ]
    write_topic(workspace, "topics/a.md", "A", facts)
    write_thread(workspace, "t", ["tea six", "tea seven"], ["2026-08-03T23:30:00+00:00", None])

    def kept(date_from: str | None, date_to: str | None) -> set[str]:
        return set(found(index, "tea", date_from=date_from, date_to=date_to, top_k=50))

    assert kept(None, None) == {"year", "month", "day", "never", "other", "test/t/0", "test/t/1"}
    assert kept("2026-08-03", "2026-08-03") == {"year", "month", "day", "test/t/0"}
    assert kept("2026-08-04", "2026") == {"year", "month"}
    assert kept("2026-09", None) == {"year"}
    assert kept(None, "2024-01") == {"other"}
    assert kept("2024-02", "2025") == set()


def test_a_block_is_kept_by_a_matching_claim_in_the_window_only(
    workspace: Workspace, index: Index
) -> None:
    claims = [("The office is in Pudong.", "2020"), ("The desk is new.", "2026")]
    write_topic(workspace, "topics/a.md", "A", [Fact("b1", claims)])
    assert found(index, "desk", date_from="2026") == ["b1"]
    assert found(index, "desk", date_to="2021") == []
    assert found(index, "zebra desk", date_from="2022", date_to="2023") == []


def test_a_prefix_keeps_its_folder(workspace: Workspace, index: Index) -> None:
    write_topic(workspace, "topics/work/office.md", "Office", [block("b1", "tea at work")])
    write_topic(workspace, "topics/home.md", "Home", [block("b2", "tea at home")])
    [said] = write_thread(workspace, "t", ["tea"])
    assert found(index, "tea", path_prefix="work/") == ["b1"]
    assert found(index, "tea", path_prefix="topics/work/office.md") == ["b1"]
    assert set(found(index, "tea", path_prefix="topics")) == {"b1", "b2"}
    assert found(index, "tea", path_prefix="/sources/") == [said]
    assert found(index, "tea", path_prefix="nowhere") == []


def test_an_empty_answer_says_what_could_be_tried(workspace: Workspace, index: Index) -> None:
    said = {index.search("tea").explanation}
    write_topic(workspace, "topics/a.md", "A", [block("b1", "tea")])
    said.add(index.search("tea", path_prefix="work/").explanation)
    said.add(index.search("tea", date_from="2026").explanation)
    said.add(index.search("the of and").explanation)
    said.add(index.search("zebra").explanation)
    assert "" not in said
    assert len(said) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        {"top_k": 0},
        {"top_k": 51},
        {"method": "magic"},
        {"date_from": "soon"},
        {"date_from": "2026", "date_to": "2025"},
    ],
    ids=str,
)
def test_an_argument_out_of_range_is_refused(index: Index, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        index.search("tea", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["embedding", "hybrid"])
def test_words_never_stand_in_for_embeddings(index: Index, method: str) -> None:
    with pytest.raises(EmbeddingUnavailable):
        index.search("tea", method=method)  # type: ignore[arg-type]


# --- and that it follows the files


def test_hand_edits_are_seen_by_the_next_search(workspace: Workspace, index: Index) -> None:
    write_topic(workspace, "topics/a.md", "A", [block("b1", "tea"), block("b2", "coffee")])
    assert found(index, "tea") == ["b1"]
    write_topic(workspace, "topics/a.md", "A", [block("b1", "milk"), block("b2", "coffee")])
    assert found(index, "tea") == []
    assert sorted(found(index, "milk coffee")) == ["b1", "b2"]
    (workspace.root / "topics/a.md").rename(workspace.root / "topics/b.md")
    assert [hit.path for hit in index.search("milk").hits] == ["topics/b.md"]
    (workspace.root / "topics/b.md").unlink()
    assert found(index, "milk") == []


def test_a_new_message_becomes_its_threads_neighbour(workspace: Workspace, index: Index) -> None:
    write_thread(workspace, "t", ["Which instrument does your sister play?"])
    assert found(index, "instrument sister play") == ["test/t/0"]
    write_thread(workspace, "t", ["The cello"])
    assert found(index, "instrument sister play") == ["test/t/0", "test/t/1"]


def test_a_broken_topic_costs_that_topic_only(workspace: Workspace, index: Index) -> None:
    write_topic(workspace, "topics/a.md", "A", [block("b1", "tea")])
    (workspace.root / "topics/bad.md").write_bytes(b"\xff\xfe tea \x80")
    assert found(index, "tea") == ["b1"]


def test_an_index_from_the_cache_finds_what_a_new_one_finds(
    workspace: Workspace, tmp_path: Path
) -> None:
    facts = [block(f"b{n}", f"tea number {n} with milk") for n in range(300)]
    write_topic(workspace, "topics/a.md", "A", facts)
    write_thread(workspace, "t", [f"tea message {n}" for n in range(40)])
    first = Index(workspace)
    before = first.search("tea milk", top_k=50)
    first.settle()
    assert (workspace.layout.cache / "search.arrays").is_file()
    assert Index(opened(tmp_path)).search("tea milk", top_k=50) == before


def test_a_restart_after_edits_finds_them(workspace: Workspace, tmp_path: Path) -> None:
    facts = [block(f"b{n}", f"tea number {n} with milk") for n in range(300)]
    write_topic(workspace, "topics/a.md", "A", facts)
    Index(workspace).search("tea")
    write_topic(workspace, "topics/a.md", "A", [*facts[1:], block("new", "a saxophone")])
    again = Index(opened(tmp_path))
    assert found(again, "saxophone") == ["new"]
    assert "b0" not in found(again, "tea number 0", top_k=50)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "missing", "directory"])
def test_a_damaged_cache_is_built_anew(workspace: Workspace, tmp_path: Path, damage: str) -> None:
    write_topic(workspace, "topics/a.md", "A", [block(f"b{n}", f"tea {n}") for n in range(300)])
    Index(workspace).search("tea")
    cache = workspace.layout.cache / "search.arrays"
    content = cache.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    cache.unlink()
    match damage:
        case "directory":
            cache.mkdir()
        case "missing":
            pass
        case _:
            damaged = {
                "cut": content[:-9],
                "flip": bytes(flipped),
                "empty": b"",
                "foreign": b"x" * 99,
            }
            cache.write_bytes(damaged[damage])
    assert found(Index(opened(tmp_path)), "tea 7")[0] == "b7"


def test_a_cache_of_another_format_is_built_anew(workspace: Workspace, tmp_path: Path) -> None:
    write_topic(workspace, "topics/a.md", "A", [block(f"b{n}", f"tea {n}") for n in range(300)])
    Index(workspace).search("tea")
    cache = workspace.layout.cache / "search.arrays"
    stored = arrays.load(cache)
    assert stored is not None
    older = replace(
        stored,
        labels={**stored.labels, "format": "0"},
        lists={**stored.lists, "paths": ("topics/elsewhere.md",)},
    )
    cache.write_bytes(arrays.pack(older))
    hit = Index(opened(tmp_path)).search("tea 7").hits[0]
    assert (hit.id, hit.path) == ("b7", "topics/a.md")


def test_words_of_an_erased_source_leave_the_cache(workspace: Workspace, index: Index) -> None:
    messages = [f"message {n}" for n in range(300)]
    written = write_thread(workspace, "t", [*messages, "my password is swordfish"])
    assert found(index, "swordfish") == [written[-1]]
    index.settle()
    cache = workspace.layout.cache / "search.arrays"
    assert b"swordfish" in cache.read_bytes()
    path = workspace.root / sources.thread_path(written[0])
    fresh = path.with_suffix(".new")
    text = path.read_text(encoding="utf-8")
    fresh.write_text(sources.tombstone(text, [written[-1]], "2026-08-03"), encoding="utf-8")
    fresh.replace(path)
    assert found(index, "swordfish") == []
    assert b"swordfish" not in cache.read_bytes()


def _search_in_a_process(root: str, result: multiprocessing.Queue[list[str]]) -> None:
    own = Index(Workspace.open(Path(root)))
    result.put([hit.id for hit in own.search("tea", top_k=50).hits])
    own.settle()


def test_several_processes_share_the_cache(workspace: Workspace) -> None:
    write_topic(workspace, "topics/a.md", "A", [block(f"b{n}", f"tea {n}") for n in range(300)])
    context = multiprocessing.get_context("spawn")
    result: multiprocessing.Queue[list[str]] = context.Queue()
    running = [
        context.Process(target=_search_in_a_process, args=(str(workspace.root), result))
        for _ in range(3)
    ]
    for process in running:
        process.start()
    answers = [result.get(timeout=120) for _ in running]
    for process in running:
        process.join()
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 50


def test_a_workspace_that_cannot_be_written_is_searched(
    workspace: Workspace, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "read-only")

    monkeypatch.setattr(journal, "write_runtime", refuse)
    write_topic(workspace, "topics/a.md", "A", [block(f"b{n}", f"tea {n}") for n in range(300)])
    assert found(index, "tea 7")[0] == "b7"
