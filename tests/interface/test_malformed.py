"""A hundred malformed calls of each tool: an envelope each time, and not one byte changes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from scriptorium.interface import envelope, tools

from .conftest import MOVE, Remembered, creation, digest, topic

PATH = "topics/personal/residence.md"
GOOD: dict[str, dict[str, Any]] = {
    "memory_status": {},
    "memory_list": {"prefix": "topics/", "limit": 5, "offset": 0, "include_derived": True},
    "memory_read": {"path": PATH, "offset": 1, "limit": 2},
    "memory_grep": {"query": "moved", "literal": True, "limit": 5, "prefix": ""},
    "memory_search": {"query": "moved", "top_k": 3, "method": "bm25", "path_prefix": "topics"},
    "memory_update": {
        "base_revision": "0" * 32,  # replaced by the workspace's own
        "patch": creation("topics/x.md", topic("x", "A fact.") + "\nProse without evidence.\n"),
        "sources": [MOVE],
        "commit_message": "x",
    },
}
JUNK: list[object] = [
    None,
    True,
    -1,
    0,
    2.5,
    10**30,
    float("nan"),
    "",
    "3",
    "\0",
    "\ud800",
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\x",
    "topics/\u202ex.md",
    "x" * 300_000,
    "浦东" * 3000,
    [],
    [[]],
    [None],
    [{}],
    {},
    {"a": {"b": []}},
]
HOSTILE_PATCHES = [
    "",
    "\n",
    "diff",
    "--- a/core.md",
    "--- a/core.md\n+++ b/core.md\n",
    "--- a/core.md\n+++ b/core.md\n@@",
    "--- a/core.md\n+++ b/core.md\n@@ -1 +1 @@\n-nothing like this\n+x\n",
    "--- /dev/null\n+++ b/core.md\n@@ -0,0 +1 @@\n+x\n",
    "--- a/topics/none.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    "rename from a\nrename to b\n",
    "old mode 100644\nnew mode 100755\n--- a/core.md\n+++ b/core.md\n",
    "GIT binary patch\nliteral 1\nIcmZPo000310RR91\n",
    "--- a/../core.md\n+++ b/../core.md\n@@ -0,0 +1 @@\n+x\n",
    "--- /dev/null\n+++ /etc/cron.d/x\n@@ -0,0 +1 @@\n+x\n",
    "--- /dev/null\n+++ b/sources/x.md\n@@ -0,0 +1 @@\n+x\n",
    "--- /dev/null\n+++ b/.scriptorium/runtime.json\n@@ -0,0 +1 @@\n+x\n",
    "--- /dev/null\n+++ b/topics/CON.md\n@@ -0,0 +1 @@\n+x\n",
    "--- /dev/null\n+++ b/topics/" + "x" * 300 + ".md\n@@ -0,0 +1 @@\n+x\n",
    "--- /dev/null\n+++ b/topics/" + "x/" * 40 + "a.md\n@@ -0,0 +1 @@\n+x\n",
    creation("topics/x.md", "no block id\n"),
    creation("topics/x.md", topic("x", "a").replace("^new-block-x", "^deadbeef")),
    creation("topics/x.md", topic("x", "a").replace("2026-08-03", "2026-02-30")),
    creation("core.md", "x\n" * 20_000),
]


def _malformed(tool: str) -> Iterator[dict[str, Any]]:
    """At least a hundred calls, none of them as it should be."""
    good = GOOD[tool]
    names = [p.name for p in tools.TOOLS[tool].parameters]
    for junk in JUNK:
        for name in names:
            yield {**good, name: junk}
        yield {**good, "unknown": junk}
    for name in good:
        yield {key: value for key, value in good.items() if key != name}
        yield {**good, name.upper(): 1}
    if tool == "memory_update":
        for patch in HOSTILE_PATCHES:
            yield {**good, "patch": patch}
        for field in MOVE:
            for junk in JUNK:
                yield {**good, "sources": [{**MOVE, field: junk}]}
    chance = random.Random(7)  # noqa: S311  seeded, so that a failure comes again
    for _ in range(100):
        keys = chance.choices([*names, "Path", "__class__", "", "\ud800", "a" * 5000], k=3)
        yield {key: chance.choice(JUNK) for key in [*keys, "surely-unknown"]}


@pytest.mark.parametrize("tool", GOOD)
def test_a_hundred_malformed_calls_get_an_envelope_and_change_nothing(
    residence: Remembered, tool: str
) -> None:
    before = digest(residence.root)
    calls = list(_malformed(tool))
    assert len(calls) >= 100
    refused = 0
    for given in calls:
        if given.get("base_revision") == "0" * 32:
            given["base_revision"] = residence.revision
        answer = residence.call(tool, **given)
        whole = json.loads(answer.text())
        assert set(whole) in ({"ok", "data", "revision"}, {"ok", "error"})
        assert len(answer.text().encode("utf-8")) <= envelope.LIMIT
        assert str(residence.root) not in answer.text()
        if not answer.ok:
            refused += 1
            assert answer.error["code"] != "INTERNAL_ERROR", (given, answer.text())
        assert not (answer.ok and tool == "memory_update"), given
    assert refused >= 100 or tool == "memory_status"
    assert digest(residence.root) == before
    assert residence.call("memory_status").ok


def test_a_tool_that_does_not_exist_is_refused_by_name(remembered: Remembered) -> None:
    error = remembered.refused("memory_forget")
    assert error["code"] == "INVALID_ARGUMENT"
    assert "memory_update" in str(error["message"])
