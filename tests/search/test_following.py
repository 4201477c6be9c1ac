"""However a workspace came about, its index is the one that a fresh build gives."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptorium.search import bm25, collection, compact, follower
from scriptorium.search.arrays import Array
from scriptorium.search.collection import Collection
from scriptorium.search.index import Index
from scriptorium.workspace.workspace import Workspace

from .workspaces import block, opened, write_thread, write_topic

WORDS = ("tea", "milk", "Pudong", "上海", "parse_topic", "running", "garden", "2026-08")


def change(workspace: Workspace, chance: random.Random) -> None:
    """Something that a person or the runtime does to a workspace."""
    number = chance.randrange(4)
    path = f"topics/{number}.md"
    match chance.randrange(4):
        case 0:
            (workspace.root / path).unlink(missing_ok=True)
        case 1:
            write_thread(workspace, f"t{number}", [_words(chance), _words(chance)])
        case _:
            facts = [
                block(f"b{number}-{n}", _words(chance), chance.choice(("2026", "undated")))
                for n in range(chance.randrange(1, 5))
            ]
            write_topic(workspace, path, _words(chance), facts)


def _words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randrange(1, 6)))


def answers(index: Index) -> list[object]:
    def of(query: str) -> object:
        hits = index.search(query, top_k=50).hits
        return sorted((hit.path, hit.id, hit.content, round(hit.score, 6)) for hit in hits)

    return [of(word) for word in WORDS]


@settings(max_examples=15)
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_following_changes_gives_what_a_new_index_gives(chance: random.Random, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = opened(Path(folder))
        followed = Index(workspace)
        for _ in range(steps):
            change(workspace, chance)
            followed.search(chance.choice(WORDS))
        assert answers(followed) == answers(Index(workspace))


def test_a_change_measures_the_units_that_it_touches_alone(
    workspace: Workspace, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        facts = [block(f"{name}{n}", "tea") for n in "12"]
        write_topic(workspace, f"topics/{name}.md", name, facts)
        write_thread(workspace, name, ["tea", "milk"])
    index.search("tea")
    measured: list[int] = []

    def counting(own: Array, before: Array, after: Array, units: Array) -> Array:
        measured.append(len(units))
        return spread(own, before, after, units)

    spread = bm25.spread
    monkeypatch.setattr(bm25, "spread", counting)
    write_topic(workspace, "topics/a.md", "a", [block("a1", "tea"), block("a2", "coffee")])
    index.search("coffee")
    write_thread(workspace, "b", ["coffee"])
    index.search("coffee")
    assert measured == [1, 3]


@settings(max_examples=15)
@given(st.randoms(use_true_random=False))
def test_a_compacted_and_stored_collection_is_the_same(chance: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = opened(Path(folder))
        grown = collection.empty()
        for _ in range(6):
            change(workspace, chance)
            grown = collection.followed(grown, workspace.snapshot())
        compact.store(workspace.layout, compact.compacted(grown))
        stored = compact.stored(workspace.layout)
        assert stored.alive.all()
        assert _shown(stored) == _shown(grown)
        assert stored.field.size == pytest.approx(grown.field.size[grown.unit_alive])
        again = collection.followed(stored, workspace.snapshot())
        assert again is stored


def _shown(known: Collection) -> list[object]:
    return [(known.path(n), known.shown(n)) for n in np.flatnonzero(known.alive).tolist()]


def test_the_same_files_under_another_catalog_are_not_read_as_new(workspace: Workspace) -> None:
    write_topic(workspace, "topics/a.md", "A", [block(f"b{n}", f"tea {n}") for n in range(10)])
    before = collection.followed(collection.empty(), workspace.snapshot())
    for file in workspace.layout.cache.glob("catalog*"):
        file.unlink()
    other = Workspace(workspace.layout)
    write_topic(workspace, "topics/b.md", "B", [block("new", "coffee")])
    after = collection.followed(before, other.snapshot())
    assert after.epoch != before.epoch
    assert after.changed - before.changed == 1


def test_the_cache_takes_on_the_numbers_of_a_new_catalog(
    workspace: Workspace, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_FEW", 5)
    write_topic(workspace, "topics/a.md", "A", [block(f"b{n}", f"tea {n}") for n in range(10)])
    index.search("tea")
    for file in workspace.layout.cache.glob("catalog*"):
        file.unlink()
    other = Workspace(workspace.layout)
    again = Index(other)
    assert len(again.search("tea").hits) == 8
    again.settle()
    assert compact.stored(workspace.layout).epoch == other.snapshot().epoch


def test_the_cache_is_written_beside_searches_once_enough_has_changed(
    workspace: Workspace, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_FEW", 5)
    facts = [block(f"b{n}", f"tea {n}") for n in range(20)]
    write_topic(workspace, "topics/a.md", "A", facts)
    index.search("tea")
    first = compact.stored(workspace.layout)
    for n in range(20):
        write_topic(workspace, "topics/a.md", "A", [*facts, block("x", f"coffee {n}")])
        assert [hit.content for hit in index.search("coffee").hits] == [f"coffee {n}"]
    index.settle()
    assert compact.stored(workspace.layout).sequence > first.sequence
