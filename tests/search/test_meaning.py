"""Search by embeddings, and by both: what is sent, what is kept, and what is answered meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scriptorium.errors import EmbeddingUnavailable
from scriptorium.search import embedding, vectors
from scriptorium.search.hybrid import Ranks, fused
from scriptorium.search.index import Index
from scriptorium.workspace.workspace import Workspace

from .endpoints import Server, serving
from .workspaces import Fact, block, opened, write_thread, write_topic


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_dialects", {})


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    facts = [
        block("b1", "They drink tea, more tea and tea."),
        block("b2", "The cat and the dog."),
        block("b3", "An office with a garden.", "2026-08-03"),
    ]
    write_topic(workspace, "topics/a.md", "Notes", facts)
    return workspace


def meant(index: Index, server: Server, query: str, **arguments: object) -> list[str]:
    results = index.search(query, method="embedding", embedder=server.endpoint(), **arguments)  # type: ignore[arg-type]
    return [hit.id for hit in results.hits]


def test_the_nearest_in_meaning_comes_first(filled: Workspace, server: Server) -> None:
    index = Index(filled)
    assert meant(index, server, "tea")[0] == "b1"
    assert meant(index, server, "a dog with a cat")[0] == "b2"
    assert meant(index, server, "office", date_from="2026") == ["b3"]
    assert meant(index, server, "office", path_prefix="nowhere") == []


def test_each_text_is_sent_once_and_a_restart_sends_none(
    filled: Workspace, server: Server, tmp_path: Path
) -> None:
    index = Index(filled)
    meant(index, server, "tea")
    index.settle()
    assert len(server.sent) == 4
    meant(index, server, "cat")
    assert server.sent[4:] == ["cat"]
    again = Index(opened(tmp_path))
    meant(again, server, "dog")
    assert server.sent[5:] == ["dog"]


def test_only_what_is_new_is_sent(filled: Workspace, server: Server) -> None:
    index = Index(filled)
    meant(index, server, "tea")
    index.settle()
    write_topic(filled, "topics/b.md", "More", [block("b4", "Coffee at home.")])
    before = len(server.sent)
    assert meant(index, server, "coffee")[0] == "b4"
    assert server.sent[before:] == ["coffee", "More: Coffee at home."]


def test_a_message_is_sent_with_its_neighbours(
    workspace: Workspace, index: Index, server: Server
) -> None:
    write_thread(workspace, "t", ["Tea or coffee?", "The first", "Good"])
    meant(index, server, "x")
    index.settle()
    assert set(server.sent[1:]) == {
        "Tea or coffee?\nThe first",
        "Tea or coffee?\nThe first\nGood",
        "The first\nGood",
    }


def test_another_model_or_length_has_a_cache_beside_the_first(
    filled: Workspace, server: Server
) -> None:
    index = Index(filled)

    def caches() -> int:
        index.settle()
        return len(list(filled.layout.cache.glob("vectors-*")))

    meant(index, server, "tea")
    assert caches() == 1
    server.length = 16
    meant(index, server, "tea")
    assert caches() == 2
    server.model = "other"
    index.search("tea", method="embedding", embedder=server.endpoint(model="other"))
    assert caches() == 3
    server.model, server.length = "m", 8
    sent = len(server.sent)
    meant(index, server, "tea")
    assert server.sent[sent:] == ["tea"]


def test_a_failure_keeps_what_was_made_and_answers_with_it(
    filled: Workspace, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH", 1)
    index = Index(filled)
    server.override = lambda _: (400, b"no") if len(server.requests) == 4 else None
    results = index.search("cat", method="embedding", embedder=server.endpoint("/api"))
    assert results.partial is not None
    assert (results.partial.done, results.partial.total) == (2, 3)
    assert results.partial.error
    assert len(results.hits) == 2
    index.settle()
    again = Index(filled)
    server.override = lambda _: None
    sent = len(server.sent)
    results = again.search("cat", method="embedding", embedder=server.endpoint("/api"))
    assert results.partial is None
    assert len(server.sent[sent:]) == 2


def test_a_slow_endpoint_does_not_hold_the_answer(
    filled: Workspace, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_PATIENCE", 0.05)
    go_on = threading.Event()

    def wait(texts: list[str]) -> None:
        if texts != ["tea"]:
            go_on.wait(120)

    server.override = wait
    index = Index(filled)
    results = index.search("tea", method="embedding", embedder=server.endpoint("/api"))
    assert results.hits == ()
    assert results.partial is not None
    assert (results.partial.done, results.partial.total, results.partial.error) == (0, 3, None)
    assert results.explanation
    both = index.search("tea", method="hybrid", embedder=server.endpoint("/api"))
    assert [hit.id for hit in both.hits] == ["b1"]
    assert both.partial is not None
    go_on.set()
    index.settle()
    assert index.search("tea", method="embedding", embedder=server.endpoint("/api")).partial is None


def test_an_endpoint_that_makes_no_vector_of_memory_is_unavailable(
    filled: Workspace, server: Server
) -> None:
    server.override = lambda texts: (400, b"no") if texts != ["tea"] else None
    index = Index(filled)
    for method in ("embedding", "hybrid"):
        with pytest.raises(EmbeddingUnavailable):
            index.search("tea", method=method, embedder=server.endpoint("/api"))


def test_a_failure_never_drops_a_good_cache(filled: Workspace, server: Server) -> None:
    index = Index(filled)
    meant(index, server, "tea")
    index.settle()
    [cache] = filled.layout.cache.glob("vectors-*")
    kept = cache.read_bytes()
    server.override = lambda _: (500, b"broken")
    with pytest.raises(EmbeddingUnavailable):
        meant(index, server, "cat")
    assert cache.read_bytes() == kept


@pytest.mark.parametrize("damage", [b"", b"x" * 50, None], ids=["empty", "foreign", "cut"])
def test_a_damaged_cache_is_filled_anew(
    filled: Workspace, server: Server, damage: bytes | None
) -> None:
    index = Index(filled)
    meant(index, server, "tea")
    index.settle()
    [cache] = filled.layout.cache.glob("vectors-*")
    content = cache.read_bytes()
    cache.unlink()
    cache.write_bytes(content[:-5] if damage is None else damage)
    assert meant(Index(filled), server, "tea")[0] == "b1"


def test_hybrid_gives_both_ranks_of_each_hit(filled: Workspace, server: Server) -> None:
    write_topic(filled, "topics/b.md", "More", [block("b4", "Darjeeling tea-time.")])
    results = Index(filled).search("tea garden", method="hybrid", embedder=server.endpoint())
    ranks = {hit.id: hit.ranks for hit in results.hits}
    assert set(ranks) == {"b1", "b2", "b3", "b4"}
    assert ranks["b2"] is not None
    assert ranks["b2"].bm25 is None
    embedded = sorted(r.embedding for r in ranks.values() if r and r.embedding)
    assert embedded == [1, 2, 3, 4]
    scores = [hit.score for hit in results.hits]
    assert scores == sorted(scores, reverse=True)


def test_ranks_are_fused_by_their_reciprocals() -> None:
    one, two, three = fused([7, 8], [8, 9])
    assert (one.document, one.ranks) == (8, Ranks(2, 1))
    assert one.score == pytest.approx(1 / 62 + 1 / 61)
    assert (two.document, two.ranks) == (7, Ranks(1, None))
    assert two.score == pytest.approx(1 / 61)
    assert (three.document, three.ranks) == (9, Ranks(None, 2))
    assert three.score == pytest.approx(1 / 62)
    assert fused([], []) == []


def test_claims_are_sent_with_their_headings(workspace: Workspace, server: Server) -> None:
    claims = [("The cat sleeps.", "2024"), ("The dog barks.", "2025")]
    write_topic(workspace, "topics/a.md", "Pets", [Fact("b1", claims, (), "At home")])
    index = Index(workspace)
    assert meant(index, server, "dog") == ["b1"]
    index.settle()
    assert set(server.sent[1:]) == {
        "Pets › At home: The cat sleeps.",
        "Pets › At home: The dog barks.",
    }


def test_many_units_in_batches_of_a_bounded_size(workspace: Workspace, server: Server) -> None:
    facts = [block(f"b{n}", f"tea number {n}") for n in range(100)]
    write_topic(workspace, "topics/a.md", "A", facts)
    index = Index(workspace)
    index.search("tea", method="embedding", embedder=server.endpoint())
    index.settle()
    assert max(map(len, server.requests)) == embedding.BATCH
    assert len(server.requests) == 1 + -(-100 // embedding.BATCH)
    [cache] = workspace.layout.cache.glob("vectors-*")
    assert np.prod([100, 8]) * 4 < cache.stat().st_size
