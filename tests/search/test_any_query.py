"""Any query is legal: it gives an answer, whatever it holds and however long it is.

A few hundred queries by default; SCRIPTORIUM_QUERIES=10000 asks as many as one likes.
"""

from __future__ import annotations

import os
import random
import sys

import pytest

from scriptorium.search.index import Index
from scriptorium.workspace.workspace import Workspace

from .workspaces import block, write_thread, write_topic

QUERIES = int(os.environ.get("SCRIPTORIUM_QUERIES", "300"))

SYNTAX = [
    *(
        '"',
        '""',
        "'",
        "*",
        "tea*",
        "^tea",
        "NEAR(tea milk, 3)",
        "tea AND",
        "OR NOT",
        "-tea",
        "+tea",
    ),
    *("content:tea", "{a b}:c", "(", ")", "()", "((((", "tea)", "a:b:c", "tea;--", "' OR 1=1 --"),
    *(
        "[",
        "[^",
        "(?P<",
        "(?:",
        "a{1,99999}",
        "(a+)+$",
        "\\",
        "\\d+",
        "\\",
        ".*",
        "$^",
        "|",
        "a||b",
    ),
    *("docker-compose", "what's", "C:\\x", "%00", "\0", "\x1b[31m", "\u202e", "\ud800", "\udfff"),
    *("🎉", "👩‍👩‍👧‍👦", "🇨🇳", "上海", "ｶﾀｶﾅ", "שלום", "سلام", "हिन्दी", "ภาษา", "ß", "İ", "ﬁ", "ǆ"),
    *("a/b.py", "---", "___", "....", "=", "::", "@@", "2026-08-03", "9999999999-99", "１２３"),
    *("the", "", " ", "\n\t", "\u3000", "\ufeff", "é" * 50, "\u0301" * 50, "null", "None", "../.."),
]


def queries(count: int, chance: random.Random) -> list[str]:
    """Syntax of every kind, all of Unicode, and a few of 100 KB."""
    made = list(SYNTAX)
    while len(made) < count:
        parts = chance.choices(SYNTAX, k=chance.randrange(1, 8))
        wild = "".join(
            chr(chance.randrange(sys.maxunicode + 1)) for _ in range(chance.randrange(30))
        )
        made.append(chance.choice((" ", "")).join([*parts, wild]))
    for number in range(0, count, 100):
        part = made[number] or "x"
        made[number] = (part * (100_000 // len(part) + 1))[:100_000]
    return made


@pytest.mark.timeout(1800 if QUERIES > 1000 else 180)
def test_a_query_never_raises(workspace: Workspace, index: Index) -> None:
    facts = [block(f"b{n}", f"tea {n} 上海 docker-compose a/b.py what's 🎉") for n in range(20)]
    write_topic(workspace, "topics/a.md", "A", facts)
    write_thread(
        workspace, "t", ["el perro de la casa y los gatos", "der Hund und die Katze", "tea"]
    )
    chance = random.Random(7)  # noqa: S311 - no secret
    for query in queries(QUERIES, chance):
        results = index.search(query, top_k=3)
        assert len(results.hits) <= 3
        assert bool(results.hits) != bool(results.explanation)
