"""What `results.json` says, for people: the page `results.md`, the README's section, the plots.

Everything is made of the file alone, so that the same file gives the same text. Owns no figure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plot import Bar, bars, lines

HERE = Path(__file__).resolve().parent
RESULTS, PAGE, PLOTS = HERE / "results.json", HERE / "results.md", HERE / "plots"
README = HERE.parent / "README.md"
BEGIN, END = "<!-- figures: python benchmarks/run.py --write-readme -->", "<!-- /figures -->"
NONE = "–"

_MADE = (
    "Made by `python benchmarks/run.py`, not by hand: one run, one machine, from"
    " [results.json](results.json)."
)
_BESIDE = (
    "Through one client over stdio; every server holds the same facts, 20 a subject. A search is by"
    " four words of a fact that is there, in their order, then reversed; found means that the fact"
    " is in the answer. Scriptorium checks an update, archives its source and syncs it to the disk"
    " before it answers; the others write a file."
)
_PEER_RECALL = (
    "Through the peers' own tools, each turn a note or an entity, as many questions as fit into the"
    " time; Scriptorium's figure is of the same questions."
)

type Record = Mapping[str, Any]
"""An object of results.json: what the `measure` functions return, as `asdict` gives it."""
type Row = tuple[str, ...]


def write(results: Record) -> None:
    """`results.md` and the plots say what the results say."""
    PAGE.write_text(page(results), encoding="utf-8")
    PLOTS.mkdir(exist_ok=True)
    drawn = dict(plots(results))
    for name, svg in drawn.items():
        (PLOTS / f"{name}.svg").write_text(svg, encoding="utf-8")
    for old in PLOTS.glob("*.svg"):
        if old.stem not in drawn:
            old.unlink()


def write_readme(results: Record) -> None:
    """The README's section between the two markers says what the results say."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{section(results)}{END}{after}", encoding="utf-8")


def load() -> Record:
    loaded: Record = json.loads(RESULTS.read_text(encoding="utf-8"))
    return loaded


def section(results: Record) -> str:
    """The README's section, markers left out."""
    parts = [table(beside(results))]
    if results.get("retrieval"):
        parts += [_evidence(results), table(retrieval(results, brief=True))]
    return "\n\n".join([*parts, machine(results)]) + "\n"


def page(results: Record) -> str:
    """The whole of `results.md`."""
    parts = [
        "# Figures",
        _MADE,
        machine(results),
        "## Beside others",
        _BESIDE,
        table(beside(results)),
        *_unavailable(results),
        *(f"![{name}](plots/{name}.svg)" for name, _ in plots(results) if name != "retrieval"),
    ]
    if results.get("retrieval"):
        parts += ["## Finding the evidence", _evidence(results), table(retrieval(results))]
        parts += ["![retrieval](plots/retrieval.svg)"]
    if results.get("peer_recall"):
        parts += [_PEER_RECALL, table(peer_recall(results))]
    parts += ["## What was to be reached", table(targets(results))]
    return "\n\n".join(parts) + "\n"


def machine(results: Record) -> str:
    """Where and when, and what disturbed it."""
    made = results["made"]
    load = f"load {made['load_before']} before and {made['load_after']} after"
    quick = ", a quick run with fewer sizes" if made["quick"] else ""
    return (
        f"Measured on {made['date']} with {made['python']} on {made['system']}, {made['cores']}"
        f" cores, {load}{quick}."
    )


def beside(results: Record) -> list[Row]:
    """One row a figure, one column a server."""
    rows = results["beside"]
    sizes = [each["facts"] for each in rows[0]["sizes"]]
    at = " / ".join(f"{size:,}" for size in sizes)

    def over(key: str, shown: Callable[[float], str]) -> Row:
        return tuple(
            " / ".join(shown(each[key]) for each in row["sizes"]) if row["sizes"] else NONE
            for row in rows
        )

    return [
        ("", *(f"{_short_name(row)} {row['version']}" for row in rows)),
        ("start: `initialize` and `tools/list`, s", *(_or_none(row["start_s"]) for row in rows)),
        ("memory at the start, MB", *(_or_none(row["start_mb"]) for row in rows)),
        (f"keep one more fact, with {at} kept, ms", *over("add_ms", _ms)),
        ("give one topic, ms", *over("read_ms", _ms)),
        ("search, ms", *over("search_ms", _ms)),
        ("size of the answer, KB", *over("answer_kb", _short)),
        ("found, %", *over("found", _whole)),
        ("found with the words reversed, %", *over("found_reversed", _whole)),
        ("memory after all that, MB", *over("memory_mb", _whole)),
        ("memory of a new process after a search, MB", *over("memory_again_mb", _whole)),
    ]


def retrieval(results: Record, *, brief: bool = False) -> list[Row]:
    """One row a method."""
    found = results["retrieval"]["results"]
    if brief:
        head: Row = ("", "R@5, %", "R@10, %", "a search, ms")
        return [
            head,
            *(
                (r["method"], _one(r["recall"]["5"]), _one(r["recall"]["10"]), _ms(r["median_ms"]))
                for r in found
            ),
        ]
    depths, kinds = list(found[0]["recall"]), list(found[0]["recall_10_by_category"])
    rows = [
        (
            r["method"],
            *(_one(r["recall"][depth]) for depth in depths),
            _one(r["hit_10"]),
            *(_one(r["recall_10_by_category"][kind]) for kind in kinds),
            _ms(r["median_ms"]),
        )
        for r in found
    ]
    return [("", *(f"R@{depth}" for depth in depths), "hit@10", *kinds, "ms"), *rows]


def peer_recall(results: Record) -> list[Row]:
    return [
        ("", "R@10, %", "Scriptorium bm25, %", "questions"),
        *(
            (
                f"{r['name']} {r['version']}",
                _or_none(r["recall_10"]) if not r["reason"] else r["reason"],
                _or_none(r["ours_10"]),
                f"{r['questions']} of {r['of']}",
            )
            for r in results["peer_recall"]
        ),
    ]


def targets(results: Record) -> list[Row]:
    """Each figure that was to be reached, and whether it was."""
    rows = [
        (what, figure, target, "yes" if reached else "**no**")
        for what, figure, target, reached in _reached(results)
    ]
    return [("what", "measured", "to reach", "reached"), *rows]


def _reached(results: Record) -> Iterator[tuple[str, str, str, bool]]:
    start = results["start"]
    yield "start, warm", f"{start['seconds']:.2f} s", "≤ 0.65 s", start["seconds"] <= 0.65
    ratio = start["ratio"]
    yield "start, as a multiple of a bare server", f"{ratio:.2f}", "≤ 1.15", ratio <= 1.15
    at_start = start["megabytes"]
    yield "memory at the start", f"{at_start:.0f} MB", "≤ 75 MB", at_start <= 75
    yield from _sizes(results)
    yield from _tools(results)
    yield from _searches(results)
    for name, most in (("session-start", 150), ("stop", 50)):
        if results.get("hooks"):
            ms = results["hooks"][name]
            yield f"hook {name}, median", f"{ms:.0f} ms", f"≤ {most} ms", ms <= most
    yield from _capture(results)
    yield from _survival(results)
    if results.get("retrieval"):
        for method, least in (("bm25", 70), ("hybrid", 75)):
            for each in results["retrieval"]["results"]:
                if each["method"] == f"scriptorium {method}":
                    recall = each["recall"]["10"]
                    yield f"LoCoMo R@10, {method}", f"{recall} %", f"≥ {least} %", recall >= least


def _sizes(results: Record) -> Iterator[tuple[str, str, str, bool]]:
    for size in results["beside"][0]["sizes"]:
        if size["facts"] == 10_000:
            for key, when in (
                ("memory_again_mb", "after a search"),
                ("memory_mb", "that it indexed"),
            ):
                what, mb = f"memory of the server with 10,000 blocks {when}", size[key]
                yield what, f"{mb:.0f} MB", "≤ 150 MB", mb <= 150


def _tools(results: Record) -> Iterator[tuple[str, str, str, bool]]:
    tools = results["tools"]
    base = tools[0]["update"]
    yield "update, 100 blocks, median", f"{base:.1f} ms", "≤ 15 ms", base <= 15
    for each in tools[1:]:
        most = {10_000: 1.5, 100_000: 3.0}.get(each["blocks"])
        times = each["update"] / base
        if most:
            what = f"update, {each['blocks']:,} blocks, as a multiple of it"
            yield what, f"{times:.2f}", f"≤ {most:g}", times <= most
        if each["blocks"] == 10_000:
            for name, limit in (("read", 5), ("grep", 50)):
                ms = each[name]
                yield f"{name}, 10,000 blocks, median", f"{ms:.1f} ms", f"≤ {limit} ms", ms <= limit


def _searches(results: Record) -> Iterator[tuple[str, str, str, bool]]:
    for nominal, each in zip((10_000, 100_000), results["search"], strict=False):
        median, first = {10_000: (5, 0.3), 100_000: (25, 2)}[nominal]
        ms, s = each["median_ms"], each["first_s"]
        where = f"{nominal:,} units"
        yield f"search by words, {where}, median", f"{ms:.1f} ms", f"≤ {median} ms", ms <= median
        yield f"the first after a restart, {where}", f"{s:.2f} s", f"≤ {first} s", s <= first
        more = each["after_update_ms"] - ms
        yield f"more after an update, {where}", f"{more:.1f} ms", "≤ 10 ms", more <= 10


def _capture(results: Record) -> Iterator[tuple[str, str, str, bool]]:
    if day := results.get("heavy_day"):
        ms, calls = day["idle_ms"], day["idle_calls"]
        what = "background CPU of a turn below the threshold, median"
        yield what, f"{ms:.0f} ms, {calls} calls", "≤ 120 ms, 0 calls", ms <= 120 and calls == 0
        once, facts, messages = day["messages_once"], day["facts_once"], day["messages"]
        what = f"messages of a day with {day['killed']} ingests killed that are in memory once"
        whole = once == facts == messages
        yield what, f"{min(once, facts):,} of {messages:,}", "all", whole
    if reading := results.get("transcript"):
        ms = reading["new_ms"]
        what = (
            f"reading {reading['new_bytes']:,} new bytes of a {reading['megabytes']} MB transcript"
        )
        yield f"{what}, median", f"{ms:.1f} ms", "≤ 50 ms", ms <= 50


def _survival(results: Record) -> Iterator[tuple[str, str, str, bool]]:
    if found := results.get("survival"):
        runs, broken = found["runs"], found["broken"]
        what = f"updates killed or failed at each of {found['steps']} steps, whole or not there"
        yield what, f"{runs - broken} of {runs}", "all", broken == 0
        lost, torn = found["crowd_lost"] + found["crowd_twice"], found["crowd_torn"]
        what = f"{found['crowd_updates']} updates by 8 processes at once"
        yield what, f"{lost} lost, {torn} torn", "0 lost, 0 torn", lost == torn == 0


def plots(results: Record) -> Iterator[tuple[str, str]]:
    """The name and the SVG of each plot."""
    rows = [row for row in results["beside"] if row["sizes"]]
    starts = [Bar(_short_name(row), 1000 * row["start_s"], n == 0) for n, row in enumerate(rows)]
    yield "start", bars("Start: initialize and tools/list", "ms", starts)
    for name, key, title, unit in (
        ("update", "add_ms", "Keeping one more fact", "ms"),
        ("search", "search_ms", "A search by four words", "ms"),
        ("memory", "memory_again_mb", "Memory of a server after one search", "MB"),
    ):
        drawn = {
            _short_name(row): [(each["facts"], max(each[key], 0.01)) for each in row["sizes"]]
            for row in rows
        }
        if all(len(points) > 1 for points in drawn.values()):
            yield name, lines(title, "facts", unit, drawn)
    if results.get("retrieval"):
        found = results["retrieval"]["results"]
        shown = [Bar(r["method"], r["recall"]["10"], r["method"][:4] == "scri") for r in found]
        yield "retrieval", bars("Evidence in the first 10 hits (LoCoMo)", "%", shown)


def table(rows: Sequence[Row]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = rows
    marks = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *body))


def _evidence(results: Record) -> str:
    found = results["retrieval"]
    model = found["embedding_model"]
    meaning = f"; embeddings by {model}" if model else ""
    count = found["results"][0]["questions"]
    when = f" on {found['date']}" if found["date"] != results["made"]["date"] else ""
    return (
        f"LoCoMo{when}, {found['conversations']} conversations, each turn a source, {count}"
        f" questions as they stand: the share of the evidence among the first k hits{meaning}."
    )


def _unavailable(results: Record) -> list[str]:
    told = [f"- {row['name']}: {row['reason']}" for row in results["beside"] if row["reason"]]
    return ["\n".join(told)] if told else []


def _short_name(row: Record) -> str:
    """Without the scope of a package: what fits beside a bar."""
    return str(row["name"]).rpartition("/")[2]


def _or_none(value: float | None) -> str:
    return NONE if value is None else f"{value:g}"


def _ms(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _one(value: float) -> str:
    return f"{value:.1f}"


def _whole(value: float) -> str:
    return f"{value:.0f}"
