"""`Index`: the search of one workspace, by words, by meaning, or by both.

    index = Index(workspace)
    results = index.search("where does the user live", top_k=8, method="bm25")

Promises: any query is legal and gives an answer; a result is of one moment of the workspace; BM25
never stands in for embeddings. Must not write memory: caches aside, it only reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from scriptorium.errors import EmbeddingUnavailable, InvalidArgument
from scriptorium.search import bm25, dates, highlight, hybrid, ranking, scope, tokenize
from scriptorium.search.arrays import Array
from scriptorium.search.collection import Collection
from scriptorium.search.dates import Window
from scriptorium.search.embedding import UNCONFIGURED, Endpoint
from scriptorium.search.follower import Follower
from scriptorium.search.hybrid import Ranks
from scriptorium.search.postings import term_key
from scriptorium.search.ranking import Placed
from scriptorium.search.units import Kind, Shown
from scriptorium.search.vectors import Progress, Vectors
from scriptorium.workspace.workspace import Workspace

type Method = Literal["bm25", "embedding", "hybrid"]

METHODS: tuple[Method, ...] = get_args(Method.__value__)
MOST = 50
_CONTENT = 2900
"""Bytes of one hit's content: of a longer text, the part that matches best."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One block or source record."""

    rank: int
    """From 1."""
    score: float
    """Higher is better; comparable within one answer only."""
    path: str
    kind: Kind
    id: str
    """The block's id, empty where a person wrote none; or the source's."""
    headings: tuple[str, ...]
    """Outermost first."""
    content: str
    times: tuple[str, ...]
    """A block's evidence times; the day on which a source was observed."""
    sources: tuple[str, ...]
    """The ids of the sources that it rests on."""
    ranks: Ranks | None
    """With `hybrid`: its rank in either ranking."""


@dataclass(frozen=True, slots=True)
class Results:
    method: Method
    hits: tuple[Hit, ...]
    partial: Progress | None
    """While embeddings are still being made: how many units have one. None: all that can be had."""
    explanation: str
    """What could be tried, where there is no hit; else empty."""


class Index:
    """Made once for a workspace and used by any number of threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._follower = Follower(workspace)
        self._vectors = Vectors(workspace.layout)

    def search(
        self,
        query: str,
        *,
        top_k: int = 8,
        method: Method = "bm25",
        path_prefix: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        embedder: Endpoint | None = None,
    ) -> Results:
        """The best hits, best first, of the workspace as it is now.

        `top_k` is 1 to 50. Dates are `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, both inclusive. Raises
        InvalidArgument for an argument that is none of what is named here, EmbeddingUnavailable
        when `method` needs an endpoint and there is none that works.
        """
        _check(method, top_k)
        window = dates.window(date_from, date_to)
        if method != "bm25" and embedder is None:
            raise EmbeddingUnavailable(UNCONFIGURED)
        collection = self._follower.current()
        search = _Search(collection, query, _allowed(collection, path_prefix, window))
        if method == "bm25" or embedder is None:
            hits, partial = self._hits(search, search.by_words(top_k), {}), None
        else:
            meant = self._vectors.scores(collection, query, embedder)
            allowed = search.allowed & meant.known
            ranked = ranking.best(collection, meant.similarity, allowed, MOST)
            ranks: dict[int, Ranks] = {}
            if method == "hybrid":
                ranked, ranks = _fuse(search.by_words(MOST), ranked)
            hits, partial = self._hits(search, ranked[:top_k], ranks), meant.partial
        explanation = "" if hits else search.explanation(partial)
        return Results(method, hits, partial, explanation)

    def settle(self) -> None:
        """Nothing is being done in the background any more."""
        self._follower.settle()
        self._vectors.settle()

    def _hits(
        self, search: _Search, ranked: Sequence[Placed], ranks: dict[int, Ranks]
    ) -> tuple[Hit, ...]:
        hits = []
        for rank, placed in enumerate(ranked, 1):
            shown = search.shown(placed.document)
            content = shown.content if shown.content is not None else self._whole(shown)
            hits.append(
                Hit(
                    rank=rank,
                    score=placed.score,
                    path=search.collection.path(placed.document),
                    kind=search.collection.kind(placed.document),
                    id=shown.id,
                    headings=shown.headings,
                    content=highlight.excerpt(content, search.terms, _CONTENT),
                    times=shown.times,
                    sources=shown.sources,
                    ranks=ranks.get(placed.document),
                )
            )
        return tuple(hits)

    def _whole(self, shown: Shown) -> str:
        record = self._workspace.reading(lambda snapshot: snapshot.source(shown.id))
        return record.content if record else "".join(shown.embedded)


class _Search:
    """One query over one collection."""

    def __init__(self, collection: Collection, query: str, allowed: Array) -> None:
        self.collection = collection
        self.allowed = allowed
        self._asked = tokenize.query_terms(query, collection.languages)
        self._shown: dict[int, Shown] = {}
        wanted = [bm25.Wanted(term_key(asked.term), asked.word) for asked in self._asked]
        self._scores = bm25.score(collection.field, wanted)

    @property
    def terms(self) -> set[str]:
        return {asked.term for asked in self._asked}

    def shown(self, document: int) -> Shown:
        if document not in self._shown:
            self._shown[document] = self.collection.shown(document)
        return self._shown[document]

    def by_words(self, most: int) -> list[Placed]:
        scores = self._scores
        pool = 2 * most  # a block from behind may stand for a source before it
        ranked = ranking.best(self.collection, scores.total, self.allowed & scores.hits(), pool)
        kinds = {self.collection.kind(placed.document) for placed in ranked}
        if len(kinds) > 1:
            shown = {placed.document: self.shown(placed.document) for placed in ranked}
            ranked = ranking.blocks_first(self.collection, ranked, scores.own, shown)
        return ranked[:most]

    def explanation(self, partial: Progress | None) -> str:
        """Why there is no hit, and what could be tried."""
        if not self.collection.alive.any():
            return "The memory holds nothing yet that can be searched."
        if partial is not None and not partial.done:
            return "Embeddings are being made. Ask again soon, or search with method `bm25`."
        elsewhere = int((self._scores.hits() & self.collection.unit_alive).sum())
        if elsewhere:
            return (
                f"Nothing within path_prefix and the dates, but {elsewhere} matches outside them."
                " Widen or drop them; undated memory is in no window."
            )
        if not self._asked:
            return "The query has only very common words or signs. Add a name or a rarer word."
        return (
            "Nothing in memory shares a word with the query. Try other words: names, synonyms, the"
            " language in which it was said; or memory_list for the topics there are."
        )


def _check(method: str, top_k: int) -> None:
    """Raises InvalidArgument for what is not offered."""
    if method not in METHODS:
        raise InvalidArgument(f"method is one of {', '.join(METHODS)}, not {method!r}.")
    if not 1 <= top_k <= MOST:
        raise InvalidArgument(f"top_k is 1 to {MOST}, not {top_k}.")


def _allowed(collection: Collection, path_prefix: str | None, window: Window | None) -> Array:
    """A bool for each unit: whether it lies under the prefix and in the window."""
    allowed = np.ones(len(collection.columns.unit_document), bool)
    paths = scope.within(path_prefix, collection.paths)
    if paths is not None:
        allowed &= collection.in_paths(paths)
    if window is not None:
        allowed &= collection.in_days(window.first, window.last)
    return allowed


def _fuse(
    by_words: Sequence[Placed], similar: Sequence[Placed]
) -> tuple[list[Placed], dict[int, Ranks]]:
    fused = hybrid.fused([p.document for p in by_words], [p.document for p in similar])
    return [Placed(f.document, f.score) for f in fused], {f.document: f.ranks for f in fused}
