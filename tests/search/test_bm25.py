"""Scores are rank_bm25's, and the repair and the context do what they promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from scriptorium.search import bm25, postings
from scriptorium.search.arrays import Array
from scriptorium.search.bm25 import Field, Wanted
from scriptorium.search.postings import Segment, term_key

WORDS = [f"w{n}" for n in range(12)]
CORPUS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), min_size=1, max_size=40
)
QUERY = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)


def field_of(
    corpus: Sequence[Sequence[str]], *, chained: bool = False, cuts: Sequence[int] = ()
) -> Field:
    """The corpus as units; `chained` makes one thread of them; `cuts`: where segments begin."""
    rows = [(n, _counted(words)) for n, words in enumerate(corpus)]
    segments: list[Segment] = []
    start = 0
    for end in (*sorted(set(cuts)), len(rows)):
        if rows[start:end]:
            segments.append(postings.segment(rows[start:end]))
        start = max(start, end)
    size = len(corpus)
    before = np.arange(-1, size - 1) if chained else np.full(size, -1)
    after = np.append(np.arange(1, size), -1) if chained else np.full(size, -1)
    before, after = np.append(before, -1), np.append(after, -1)
    own = np.array([len(words) for words in corpus], float)
    sizes = bm25.spread(own, before, after, np.arange(size))
    return Field(segments, np.ones(size, bool), sizes, before, after)


def _counted(words: Sequence[str]) -> dict[int, float]:
    return {term_key(word): float(count) for word, count in Counter(words).items()}


def scored(field: Field, query: Sequence[str]) -> Array:
    return bm25.score(field, [Wanted(term_key(word), n) for n, word in enumerate(query)]).total


@settings(max_examples=100)
@given(CORPUS, QUERY, st.lists(st.integers(1, 39), max_size=3))
def test_scores_equal_rank_bm25_where_its_idf_is_sound(
    corpus: list[list[str]], query: list[str], cuts: list[int]
) -> None:
    holders = Counter(word for words in corpus for word in set(words))
    rare = [word for word in query if holders[word] < 0.4 * len(corpus)]
    expected = BM25Okapi(corpus).get_scores(rare)
    cuts = [cut for cut in cuts if cut < len(corpus)]
    assert scored(field_of(corpus, cuts=cuts), rare) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=100)
@given(CORPUS, QUERY)
def test_a_unit_scores_above_zero_exactly_where_it_shares_a_word(
    corpus: list[list[str]], query: list[str]
) -> None:
    total = scored(field_of(corpus), query)
    assert [value > 0 for value in total] == [bool(set(words) & set(query)) for words in corpus]


@settings(max_examples=50)
@given(st.integers(1, 60))
def test_the_idf_falls_with_the_number_of_holders_and_stays_positive(size: int) -> None:
    sizes = np.ones(size)
    okapi = bm25.Okapi(sizes, {holders: holders for holders in range(1, size + 1)})
    idf = [okapi.idf[holders] for holders in range(1, size + 1)]
    assert all(one > other > 0 for one, other in pairwise(idf))


def test_two_units_are_told_apart_where_rank_bm25_gives_both_nothing() -> None:
    corpus = [["the", "cat"], ["the", "dog"]]
    assert list(BM25Okapi(corpus).get_scores(["cat"])) == [0.0, 0.0]
    assert scored(field_of(corpus), ["cat"])[0] > 0
    assert scored(field_of([["cat"]]), ["cat"])[0] > 0


@settings(max_examples=50)
@given(CORPUS, QUERY, st.data())
def test_dead_units_count_for_nothing(
    corpus: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus))))
    if not alive.any():
        return
    field = field_of(corpus)
    dead = Field(field.segments, alive, field.size, field.before, field.after)
    left = [words for words, lives in zip(corpus, alive, strict=True) if lives]
    assert scored(dead, query)[alive] == pytest.approx(scored(field_of(left), query))
    assert not scored(dead, query)[~alive].any()


@settings(max_examples=50)
@given(CORPUS, st.integers(0, 39), st.integers(1, 8))
def test_the_unit_that_holds_a_name_is_ahead_of_its_neighbours(
    corpus: list[list[str]], at: int, length: int
) -> None:
    """Whatever the lengths around it: three steps of context leave the holder in front."""
    at = min(at, len(corpus) - 1)
    corpus = [list(words) for words in corpus]
    corpus[at] = ["name", *corpus[at] * length]
    total = scored(field_of(corpus, chained=True), ["name"])
    assert total.argmax() == at


def test_context_reaches_three_steps_and_fades() -> None:
    corpus = [["a"], ["b"], ["c"], ["name"], ["d"], ["e"], ["f"], ["g"]]
    total = scored(field_of(corpus, chained=True), ["name"])
    assert total[3] > total[4] > total[5] > total[6] > total[7] == 0
    assert total[0] > 0


def test_context_alone_is_a_hit_only_with_two_words_of_the_query() -> None:
    field = field_of([["zebra", "fence"], ["yes"], ["no"]], chained=True)
    one = bm25.score(field, [Wanted(term_key("zebra"), 0)])
    two = bm25.score(field, [Wanted(term_key("zebra"), 0), Wanted(term_key("fence"), 1)])
    same = bm25.score(field, [Wanted(term_key("zebra"), 0), Wanted(term_key("fence"), 0)])
    assert list(one.hits()) == [True, False, False]
    assert list(two.hits()) == [True, True, True]
    assert list(same.hits()) == [True, False, False]


def test_a_repeated_word_counts_again_and_a_thousand_words_cost_sixty_four() -> None:
    corpus = [["cat", "dog"], ["cat"], ["bird"], ["fish"], ["cow"]]
    field = field_of(corpus)
    assert scored(field, ["bird", "bird"])[2] == pytest.approx(2 * scored(field, ["bird"])[2])
    wide = field_of([[f"t{n}" for n in range(1000)], ["x"], ["y"]])
    many = bm25.score(wide, [Wanted(term_key(f"t{n}"), n) for n in range(1000)])
    assert int(many.own[0]).bit_count() == bm25.MOST_TERMS


@settings(max_examples=50)
@given(CORPUS, st.lists(st.integers(1, 39), max_size=8))
def test_segments_merge_to_what_one_build_gives(corpus: list[list[str]], cuts: list[int]) -> None:
    parts = field_of(corpus, cuts=[cut for cut in cuts if cut < len(corpus)]).segments
    added: tuple[Segment, ...] = ()
    for part in parts:
        added = postings.added(added, part)
    assert len(added) <= 2 + len(corpus).bit_length()
    whole, merged = field_of(corpus).segments[0], postings.merged(added)
    for name in ("terms", "starts", "units", "counts"):
        assert np.array_equal(getattr(whole, name), getattr(merged, name))
