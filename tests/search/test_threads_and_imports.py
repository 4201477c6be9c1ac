"""One index serves many threads, and nobody pays for what is not used."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from scriptorium.search import follower
from scriptorium.search.index import Index
from scriptorium.workspace.workspace import Workspace

from .workspaces import block, write_topic


def test_threads_search_while_files_change(
    workspace: Workspace, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_FEW", 3)
    write_topic(workspace, "topics/a.md", "A", [block(f"a{n}", f"tea {n}") for n in range(20)])

    def search(number: int) -> int:
        if number % 10 == 0:
            facts = [block(f"b{n}", f"coffee {number}") for n in range(5)]
            write_topic(workspace, "topics/b.md", "B", facts)
        hits = index.search("tea coffee", top_k=50).hits
        assert len({hit.id for hit in hits}) == len(hits)
        return sum(hit.id.startswith("a") for hit in hits)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(search, range(120))) == {20}
    assert len(index.search("coffee", top_k=50).hits) == 5


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("embedding", ("numpy", "httpx", "rank_bm25")),
        ("highlight", ("numpy", "httpx", "rank_bm25", "snowballstemmer")),
        ("index", ("httpx", "snowballstemmer")),
    ],
)
def test_importing_costs_only_what_is_used(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, scriptorium.search.{module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(heavy) & set(loaded.stdout.split())
