"""Every benchmark in one run: writes `results.json`, and `results.md` and `plots/` from it.

    python benchmarks/run.py [--quick] [--locomo locomo.json]
                             [--embedding-url U --embedding-model M] [--keep-retrieval]
                             [--write-readme]

Takes some six minutes, with LoCoMo and embeddings some seventeen; a quick run takes two, prints the
page and writes nothing. Needs a Python with the package and its development tools (the one that
`bin/test` makes has them), and npm for one of the peers. LoCoMo is read from where it lies; only
figures are written. `--keep-retrieval` takes over what an earlier run found, which depends on no
machine. `--write-readme` alone brings results.md, the plots and README.md up to date with the
results that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import beside
import heavy_day
import hooks
import peer_recall
import report
import retrieval
import search_latency
import start
import survival
import transcript

import workspace
from scriptorium.search.embedding import Endpoint


def measure(options: argparse.Namespace) -> report.Record:
    """Every figure; what takes longest comes last."""
    quick: bool = options.quick
    cache: Path = options.cache
    os.environ.setdefault("SCRIPTORIUM_ENV_DIR", str(cache / "env"))
    made = _made(quick)
    begin = time.perf_counter()
    blocks, units = (
        ((100, 10_000), (10_000,)) if quick else ((100, 10_000, 100_000), (10_000, 100_000))
    )
    sizes = beside.SIZES[:2] if quick else beside.SIZES
    results = {
        "made": made,
        "start": _told("start", lambda: asdict(start.measure(3 if quick else 11))),
        "hooks": _told("hooks", lambda: _hooks(5 if quick else 15)),
        "beside": _told(
            "side by side",
            lambda: [asdict(r) for r in beside.measure(sizes, cache, starts=3 if quick else 7)],
        ),
        "search": _told("search", lambda: [asdict(search_latency.run(n)) for n in units]),
        "tools": _told("tools", lambda: [asdict(workspace.run(n, None)) for n in blocks]),
        "transcript": _told("transcript", lambda: asdict(transcript.measure(40 if quick else 400))),
        "heavy_day": _told(
            "a heavy day", lambda: asdict(heavy_day.measure(*((3, 20) if quick else (10, 150))))
        ),
        "survival": _told("survival", lambda: asdict(survival.measure(5 if quick else 20))),
        "retrieval": _told("retrieval", lambda: _retrieval(options)),
        "peer_recall": _told("the peers' retrieval", lambda: _peer_recall(options)),
    }
    made["load_after"] = _load()
    made["minutes"] = round((time.perf_counter() - begin) / 60, 1)
    return results


def _made(quick: bool) -> dict[str, object]:
    """When and where; nothing that names the machine."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": f"Python {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "load_before": _load(),
        "load_after": 0.0,
        "quick": quick,
    }


def _load() -> float:
    return round(os.getloadavg()[0], 1)


def _told[T](name: str, work: Callable[[], T]) -> T:
    print(f"{name} …", file=sys.stderr, flush=True)
    begin = time.perf_counter()
    done = work()
    print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    return done


def _hooks(runs: int) -> dict[str, float]:
    return {name: round(ms, 1) for name, ms in hooks.measure(runs).items()}


def _kept(options: argparse.Namespace, part: str) -> Any:
    """What results.json holds of it already."""
    return report.load().get(part) if options.keep_retrieval else None


def _retrieval(options: argparse.Namespace) -> dict[str, object] | None:
    if options.locomo is None:
        return _kept(options, "retrieval")
    endpoint = None
    if options.embedding_url and options.embedding_model and not options.quick:
        endpoint = Endpoint(options.embedding_url, options.embedding_model)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "conversations": sum(1 for _ in retrieval.conversations(options.locomo)),
        "embedding_model": endpoint.model if endpoint else None,
        "results": [asdict(each) for each in retrieval.measure(options.locomo, endpoint)],
    }


def _peer_recall(options: argparse.Namespace) -> list[dict[str, object]] | None:
    if options.locomo is None or options.quick:
        return _kept(options, "peer_recall")
    return [asdict(each) for each in peer_recall.measure(options.locomo, options.cache)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Every benchmark in one run.")
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer sizes and runs, no embeddings")
    add("--locomo", type=Path, metavar="FILE", help="a LoCoMo JSON file, for the retrieval table")
    keep = "keep the retrieval table of results.json: what is found depends on no machine"
    add("--keep-retrieval", action="store_true", help=keep)
    add("--embedding-url", metavar="URL", help="an endpoint, for the retrieval by meaning")
    add("--embedding-model", metavar="MODEL", help="its model's name")
    default = Path.home() / ".cache" / "scriptorium" / "peers"
    add("--cache", type=Path, default=default, help=f"where peers are kept; default: {default}")
    add("--output", type=Path, metavar="FILE", help="default: results.json; of a quick run: none")
    add("--write-readme", action="store_true", help="only bring README.md up to date")
    options = parser.parse_args()
    if options.write_readme:
        report.write(report.load())
        report.write_readme(report.load())
        return 0
    results = measure(options)
    output = options.output or (None if options.quick else report.RESULTS)
    if output:
        output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if output == report.RESULTS:
        report.write(report.load())
    else:
        print(report.page(json.loads(json.dumps(results))))
    missed = [row[0] for row in report.targets(json.loads(json.dumps(results))) if "no" in row[3]]
    print("\n".join(f"missed: {what}" for what in missed) or "everything is reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
