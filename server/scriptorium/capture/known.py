"""What memory holds about a batch of messages: core, topic map, related blocks by search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from scriptorium.capture.pool import Waiting
from scriptorium.capture.render import Places
from scriptorium.capture.request import Known, RelatedBlock
from scriptorium.errors import ScriptoriumError
from scriptorium.format.model import RelPath
from scriptorium.format.paths import CORE
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.workspace import Workspace

QUERIES = 40
QUERY_LENGTH = 600
HITS = 6
RELATED = 60


class Search(Protocol):
    """Finds blocks: `search.Index`, or a stand-in."""

    def blocks(self, query: str) -> Sequence[RelatedBlock]:
        """The best blocks for the query, best first."""
        ...

    def done(self) -> None:
        """Nothing of it goes on in the background."""
        ...


class IndexSearch:
    """`search.Index` as `Search`; a search that fails finds nothing: the writer does without."""

    def __init__(self, workspace: Workspace) -> None:
        from scriptorium.search.index import Index  # noqa: PLC0415 - loads numpy

        self._index = Index(workspace)

    def blocks(self, query: str) -> Sequence[RelatedBlock]:
        try:
            results = self._index.search(query, top_k=HITS, method="bm25", path_prefix="topics/")
        except (ScriptoriumError, OSError):
            return ()
        return [
            RelatedBlock(hit.id, hit.path, tuple(hit.headings), hit.content, tuple(hit.times))
            for hit in results.hits
            if hit.kind == "block" and hit.id
        ]

    def done(self) -> None:
        self._index.settle()


def about(batch: Sequence[Waiting], snapshot: Snapshot, search: Search) -> Known:
    """What the writer is shown of memory for that batch."""
    topics = [f for f in snapshot.files(derived=False) if f.kind == "topic"]
    return Known(
        core=_core(snapshot),
        topics=[(f.path, f.headings) for f in topics],
        related=_related(batch, search),
    )


def places(known: Known) -> Places:
    """Where the related blocks stand: a place for a statement whose block goes meanwhile."""
    return Places(
        {b.id: (RelPath(b.path), b.headings[-1] if b.headings else "") for b in known.related}
    )


def _core(snapshot: Snapshot) -> str:
    try:
        return snapshot.read(CORE)
    except ScriptoriumError:  # missing, unreadable or not UTF-8: the writer does without
        return ""


def _related(batch: Sequence[Waiting], search: Search) -> list[RelatedBlock]:
    """The blocks that the messages' words find, the best of each message first."""
    typed = [w for w in batch if w.message.role == "user"]
    said = [w for w in batch if w.message.role == "assistant"]
    queries = [w.message.text[:QUERY_LENGTH] for w in (typed + said)[:QUERIES]]
    found = [search.blocks(query) for query in queries]
    ranked = (hits[rank] for rank in range(HITS) for hits in found if rank < len(hits))
    return list({block.id: block for block in ranked}.values())[:RELATED]
