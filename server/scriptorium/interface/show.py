"""`scriptorium status`, `search` and `show`: the read tools, for a person.

Promises the very answers of the tools (`--json` prints their envelope) and readable text
otherwise. Text from memory is shown without its control characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scriptorium.errors import Json
from scriptorium.interface import calling, opening
from scriptorium.interface.call import Call
from scriptorium.interface.envelope import Answer, Record, mapping, records, sequence
from scriptorium.interface.memory import Memory
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings
from scriptorium.interface.terminal import Terminal, plain
from scriptorium.search import highlight


def status(arguments: Arguments, around: Surroundings) -> int:
    answer = _ask(arguments, around, "memory_status", {})
    if arguments.json or not answer.ok:
        return _printed(answer, around)
    print_status(answer.data, str(answer.payload["revision"]), around.out)
    return 0


def search(arguments: Arguments, around: Surroundings) -> int:
    given = {
        "query": arguments.query,
        "method": arguments.method,
        "top_k": arguments.top_k,
        "path_prefix": arguments.path_prefix,
        "date_from": arguments.date_from,
        "date_to": arguments.date_to,
    }
    given = {name: value for name, value in given.items() if value is not None}
    answer = _ask(arguments, around, "memory_search", given)
    if arguments.json or not answer.ok:
        return _printed(answer, around)
    print_results(answer.data, arguments.query, around.out)
    return 0 if answer.data["results"] else 1


def show(arguments: Arguments, around: Surroundings) -> int:
    block = arguments.block_id.removeprefix("^")
    memory = opening.memory(arguments, around)
    where = memory.locate_block(memory.snapshots(), block)
    if where is None:
        around.err.line(f"scriptorium: there is no block {block[:100]}; try `scriptorium search`")
        return 1
    answer = _call(memory, around, "memory_read", {"path": where, "block_id": block})
    if arguments.json or not answer.ok:
        return _printed(answer, around)
    print_block(answer.data, around.out)
    return 0


def print_status(data: Record, revision: str, out: Terminal) -> None:
    out.heading("Memory")
    out.pairs(_counts(data))
    layers = mapping(data.get("layers"))
    for name, layer in layers.items():
        state = mapping(layer)
        out.line()
        default = " (updates land here)" if name == data.get("default_layer") else ""
        out.heading(f"Layer {plain(name)}{default}")
        if "error" in state:
            out.line("  " + out.paint(f"left out: {plain(str(state['error']))}", "red"))
        else:
            out.pairs([*_counts(state), ("revision", str(state["revision"]))])
    out.line()
    out.heading("Capture and search")
    out.pairs([*_ingest(mapping(data["ingest"])), ("embedding", _embedding(data))])
    problems = records(data["problems"])
    out.line()
    out.heading(f"Problems: {len(problems)}" if problems else "No problems")
    for problem in problems:
        print_problem(problem, out)
    if not layers:
        out.line()
        out.pairs([("revision", revision)])


def print_results(data: Record, query: str, out: Terminal) -> None:
    results = records(data["results"])
    for hit in results:
        place = plain(str(hit["path"]))
        mark = f"^{hit['block_id']}" if "block_id" in hit else str(hit["source_id"])
        times = ", ".join(map(str, sequence(hit["times"])))
        head = f"{hit['rank']}. {out.paint(place, 'cyan')}  {out.paint(mark, 'dim')}"
        out.line(head + (f"  {out.paint(times, 'green')}" if times else ""))
        above = " › ".join(plain(str(h)) for h in sequence(hit["headings"]))
        if above:
            out.line("   " + out.paint(above, "bold"))
        for line in _shortened(plain(str(hit["content"])).splitlines()):
            out.line("   " + out.marked(line, highlight.marks(query, line)))
        out.line()
    if results:
        out.line(out.paint("Show one with its evidence: scriptorium show BLOCK_ID", "dim"))
    else:
        out.line(str(data.get("hint", "Nothing matches.")))


def print_block(data: Record, out: Terminal) -> None:
    place = f"{plain(str(data['path']))}:{data['start_line']}"
    out.line(out.paint(place, "cyan"))
    above = " › ".join(plain(str(h)) for h in sequence(data["headings"]))
    if above:
        out.heading(above)
    out.line()
    for line in plain(str(data["content"])).splitlines():
        out.line("  " + (out.paint(line, "dim") if line.startswith("[^") else line))
    for evidence in records(data["evidence"]):
        out.line()
        out.heading(
            f"{evidence['id']}: held {evidence['time'] or 'at no stated time'}; it rests on"
        )
        for source in records(evidence["sources"]):
            print_source(source, out)


def print_source(source: Record, out: Terminal) -> None:
    if source.get("missing"):
        out.line("  " + out.paint(f"{plain(str(source['id']))}: missing", "red"))
        return
    when = f" on {source['observed_at']}" if source["observed_at"] else ""
    out.line(
        f"  {out.paint(plain(str(source['role'])) + when, 'green')}  {plain(str(source['id']))}"
    )
    for line in plain(str(source["content"])).splitlines():
        out.line(f"    {out.paint('│', 'dim')} {line}")


def print_problem(problem: Record, out: Terminal) -> None:
    line = f":{problem['line']}" if problem["line"] else ""
    place = out.paint(f"{plain(str(problem['path']))}{line}", "cyan")
    out.line(f"  {place} {out.paint(str(problem['code']), 'red')} {plain(str(problem['message']))}")


def _counts(data: Record) -> list[tuple[str, str]]:
    return [
        ("topics", f"{data['topic_files']} files, {data['blocks']} blocks"),
        ("sources", f"{data['source_files']} files, {data['sources']} messages"),
        ("timeline", f"{data['timeline_files']} files"),
        ("relations", str(data["relations"])),
        ("core", f"{data['core_tokens']} of 2000 tokens"),
    ]


def _ingest(data: Record) -> list[tuple[str, str]]:
    rows = [
        ("pending", f"{data['pending_tokens']} tokens"),
        ("last run", str(data["last_run"] or "never")),
        ("spent today", f"${_amount(data['spent_usd_today']):.2f}"),
    ]
    if data["last_error"]:
        rows.append(("last error", plain(str(data["last_error"]))))
    if data.get("set_aside"):
        rows.append(("set aside", f"{data['set_aside']} messages: scriptorium ingest --retry"))
    return rows


def _embedding(data: Record) -> str:
    state = mapping(data["embedding"])
    if state["available"]:
        return f"{state['model']} at {state['url']}"
    return f"not available: {state['reason']}"


def _amount(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _shortened(lines: Sequence[str], most: int = 6) -> list[str]:
    shown = [line[:400] for line in lines if line.strip()]
    return shown if len(shown) <= most else [*shown[:most], "…"]


def _ask(
    arguments: Arguments, around: Surroundings, tool: str, given: Mapping[str, object]
) -> Answer:
    return _call(opening.memory(arguments, around), around, tool, given)


def _call(memory: Memory, around: Surroundings, tool: str, given: Mapping[str, object]) -> Answer:
    return calling.call(tool, given, lambda: Call(memory, "cli", around.clock()))


def _printed(answer: Answer, around: Surroundings) -> int:
    """Prints an envelope, or an error as one line where no JSON was asked for."""
    if answer.ok:
        around.out.line(answer.text())
        return 0
    around.err.line(f"scriptorium: {' '.join(plain(str(answer.error['message'])).split())}")
    return 2 if answer.error["code"] == "INVALID_ARGUMENT" else 1
