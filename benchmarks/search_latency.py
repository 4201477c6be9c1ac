"""How fast a search by words is at 10,000 and 100,000 units, after a restart and after an update.

    python benchmarks/search_latency.py [--units 10000 100000] [--json out.json] [--plot out.svg]

Generates a workspace of each size (`generate.py`), builds the search's cache once, and measures in
a new process: the first search after the restart (opening the workspace, loading numpy and the
cache included), the median of 300 different queries, the median of searches right after an edit of
one topic, and the process's memory. A search includes the look at every file that makes hand edits
seen; its share is given apart.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from generate import generate
from plot import Bar, bars

TARGETS = {10_000: (5.0, 0.3), 100_000: (25.0, 2.0)}
"""Units -> the median (ms) and the first search after a restart (s) that are to be reached."""
AFTER_UPDATE = 10.0
"""Milliseconds that a search may take longer when a topic has changed."""
UNITS_A_BLOCK = 1.58
"""What the generator makes: claims of a block, and the sources they cite."""
QUERIES, UPDATES = 300, 20
_WORDS = (
    *("moved", "Lisbon", "Pudong", "office", "garden", "release", "parser", "budget", "holiday"),
    *("bicycle", "report", "camera", "desk", "trip", "Mira", "Jonas", "Okafor", "landlord"),
    *("retryBudget", "parse_topic", "cache/http.py", "MAX_LINKS", "onResume", "renamed", "timeout"),
    *(
        "evenings",
        "浦东",
        "杭州",
        "地铁",
        "相机",
        "王芳",
        "2024-05",
        "2021",
        "prefers",
        "quarterly",
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    units: int
    first_s: float
    median_ms: float
    p95_ms: float
    of_which_looking_ms: float
    after_update_ms: float
    megabytes: int


def measure(root: Path) -> Measured:
    """The figures of this process, which has not searched yet."""
    begin = time.perf_counter()
    from scriptorium.search.index import Index  # noqa: PLC0415 - a part of what is measured
    from scriptorium.workspace.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.open(root)
    index = Index(workspace)
    index.search("Lisbon bicycle")
    first = time.perf_counter() - begin
    chance = random.Random(1)
    searches = [_timed(lambda: index.search(_query(chance))) for _ in range(QUERIES)]
    looks = [_timed(workspace.snapshot) for _ in range(QUERIES // 3)]
    topics = sorted((root / "topics").rglob("*.md"))
    after = []
    for number in range(UPDATES):
        topic = topics[number * 7 % len(topics)]
        text = topic.read_text(encoding="utf-8")
        topic.write_text(text.replace(".[^", f" again {number}.[^", 1), encoding="utf-8")
        after.append(_timed(lambda: index.search(_query(chance))))
    index.settle()
    return Measured(
        units=_units(root),
        first_s=round(first, 3),
        median_ms=round(1000 * statistics.median(searches), 2),
        p95_ms=round(1000 * statistics.quantiles(searches, n=20)[-1], 2),
        of_which_looking_ms=round(1000 * statistics.median(looks), 2),
        after_update_ms=round(1000 * statistics.median(after), 2),
        megabytes=_megabytes(),
    )


def _timed(work: object) -> float:
    assert callable(work)
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _query(chance: random.Random) -> str:
    return " ".join(chance.sample(_WORDS, 4))


def _units(root: Path) -> int:
    from scriptorium.search import compact  # noqa: PLC0415
    from scriptorium.workspace.layout import Layout  # noqa: PLC0415

    return len(compact.stored(Layout.of(root)).columns.unit_document)


def _megabytes() -> int:
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text().split()[1]) if statm.exists() else 0
    return pages * 4096 // 2**20


def prepared(root: Path, units: int) -> None:
    """A workspace of about so many units, with the cache of an earlier search."""
    from scriptorium.search.index import Index  # noqa: PLC0415
    from scriptorium.workspace.workspace import Workspace  # noqa: PLC0415

    generate(root, round(units / UNITS_A_BLOCK), views=False)
    index = Index(Workspace.open(root))
    index.search("x")
    index.settle()


def run(units: int) -> Measured:
    """The figures of a new workspace of about that size, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        prepared(root, units)
        child = [sys.executable, __file__, "--measure", str(root)]
        output = subprocess.run(child, stdout=subprocess.PIPE, check=True, text=True).stdout
    return Measured(**json.loads(output))


def main() -> None:
    parser = argparse.ArgumentParser(description="Latency of a search by words.")
    parser.add_argument("--units", type=int, nargs="+", default=list(TARGETS))
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--plot", type=Path, help="draw them here, as SVG")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(asdict(measure(arguments.measure))))
        return
    results = []
    for units in arguments.units:
        results.append(run(units))
        print(_line(results[-1], units))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(result) for result in results], indent=2))
    if arguments.plot:
        rows = [Bar(f"{result.units:,} units", result.median_ms, True) for result in results]
        drawn = bars("A search by words, median", "ms", rows)
        arguments.plot.write_text(drawn, encoding="utf-8")


def _line(result: Measured, units: int) -> str:
    slower = result.after_update_ms - result.median_ms
    line = (
        f"{result.units:,} units: median {result.median_ms} ms (looking at the files"
        f" {result.of_which_looking_ms}), p95 {result.p95_ms} ms; first after a restart"
        f" {result.first_s} s; after an update +{slower:.1f} ms; {result.megabytes} MB"
    )
    if units not in TARGETS:
        return line
    median, first = TARGETS[units]
    reached = result.median_ms <= median and result.first_s <= first and slower <= AFTER_UPDATE
    targets = f"targets {median:g} ms, {first:g} s, +{AFTER_UPDATE:g} ms"
    return f"{line}\n    {targets}: {'reached' if reached else 'MISSED'}"


if __name__ == "__main__":
    main()
