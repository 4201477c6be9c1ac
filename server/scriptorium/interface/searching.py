"""`memory_search`: ranked blocks and sources of all layers.

Promises that layers are interleaved by rank, that BM25 never stands in for embeddings in silence,
and that an empty result says what could be tried. Never writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scriptorium.errors import Json
from scriptorium.interface import envelope
from scriptorium.interface.call import Reading
from scriptorium.interface.envelope import Answer, success
from scriptorium.interface.memory import Memory
from scriptorium.search.index import Hit, Method, Results
from scriptorium.workspace.layers import interleave

_CONTENT = 3000
"""Bytes of one hit's content that an answer shows."""


def search(
    call: Reading,
    *,
    query: str,
    method: Method,
    top_k: int,
    path_prefix: str | None,
    date_from: str | None,
    date_to: str | None,
) -> Answer:
    """The best hits, best first."""
    layers, prefix = call.reach(path_prefix or "")
    found = {
        name: call.memory.index(name).search(
            query,
            top_k=top_k,
            method=method,
            path_prefix=prefix or None,
            date_from=date_from,
            date_to=date_to,
            embedder=call.memory.endpoint,
        )
        for name, _ in layers
    }
    return success(_data(call.memory, found, method, top_k), call.snapshots.revision)


def _data(
    memory: Memory, found: Mapping[str, Results], method: Method, top_k: int
) -> dict[str, Json]:
    """The answer's data from the results of each layer."""
    rankings = [[(name, hit) for hit in results.hits] for name, results in found.items()]
    hits = interleave(rankings)[:top_k]
    records = [
        _record(memory.qualify(name, hit.path), rank, hit)
        for rank, (name, hit) in enumerate(hits, 1)
    ]
    shown = envelope.take(records, envelope.ROOM - 2048)
    data: dict[str, Json] = {"method": method, "results": shown}
    if len(shown) < len(records):
        data |= {"truncated": True, "go_on": "Ask for fewer with top_k, or narrow path_prefix."}
    if not shown:
        data["hint"] = " ".join(dict.fromkeys(results.explanation for results in found.values()))
    data |= _progress(found.values())
    if any(hit.kind == "source" for _, hit in hits):
        data["note"] = envelope.DATA_NOT_INSTRUCTIONS
    return data


def _progress(found: Iterable[Results]) -> dict[str, Json]:
    """Says so while some units have no vector yet."""
    partial = [results.partial for results in found if results.partial is not None]
    if not partial:
        return {}
    progress: dict[str, Json] = {
        "embedded": sum(each.done for each in partial),
        "total": sum(each.total for each in partial),
        "error": next((each.error for each in partial if each.error), None),
    }
    return {"partial": progress}


def _record(path: str, rank: int, hit: Hit) -> dict[str, Json]:
    record: dict[str, Json] = {
        "rank": rank,
        "score": round(hit.score, 4),
        "path": path,
        "kind": hit.kind,
        "block_id" if hit.kind == "block" else "source_id": hit.id,
        "headings": envelope.take([envelope.clip(h, 200) for h in hit.headings], 1024),
        "content": envelope.clip(hit.content, _CONTENT),
        "times": list(hit.times[:20]),
        "sources": list(hit.sources[:20]),
    }
    if hit.ranks is not None:
        record["ranks"] = {"bm25": hit.ranks.bm25, "embedding": hit.ranks.embedding}
    return record
