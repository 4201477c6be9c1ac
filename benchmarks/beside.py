"""What the same work costs in several memory servers, through one client, in one run.

    python benchmarks/beside.py [--sizes 100 1000 10000] [--cache FOLDER]

Every server holds the same facts (those of a workspace that `generate.py` makes), is started over
stdio by the same client, and is asked the same: to shake hands and list its tools, to keep one more
fact, to give one topic, and to find a fact by four words of it, in their order and reversed. Times
are medians of a call as the client sees it. Scriptorium syncs each update to the disk, checks
it and archives its source; the peers write a file. Memory is resident: of the process that has
done all this, which has built what it searches by, and of a new one after one search.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from generate import generate
from mcp import Client
from mcp.client.stdio import stdio_client
from peers import Server, Topics, Unavailable, everyone

from scriptorium.format import markdown

SIZES = (100, 1000, 10_000)
STARTS, CALLS = 7, 15
SECONDS = 25
"""Calls of one kind at one size end after this time; at least two are made."""


@dataclass(frozen=True, slots=True)
class AtSize:
    """Medians in milliseconds; `found` and `found_reversed` in percent of the searches."""

    facts: int
    add_ms: float
    read_ms: float
    search_ms: float
    searches: int
    answer_kb: float
    found: float
    found_reversed: float
    memory_mb: float
    memory_again_mb: float
    """Of a new process, after one search: what a session starts with."""


@dataclass(frozen=True, slots=True)
class Row:
    """One server. `reason` says why there are no figures."""

    name: str
    version: str
    start_s: float | None
    start_mb: float | None
    sizes: tuple[AtSize, ...]
    reason: str = ""


def measure(sizes: Sequence[int], cache: Path, *, starts: int = STARTS) -> list[Row]:
    """The figures of every server that can be had."""
    rows = []
    for server in everyone():
        try:
            server.fetch(cache)
            begun = asyncio.run(_starts(server, cache, starts))
            found = tuple(asyncio.run(_at_size(server, cache, size)) for size in sizes)
        except (Unavailable, RuntimeError, OSError) as error:
            rows.append(Row(server.name, server.version, None, None, (), str(error)[:160]))
            continue
        seconds, megabytes = (statistics.median(each) for each in zip(*begun, strict=True))
        row = Row(server.name, server.version, round(seconds, 3), round(megabytes, 1), found)
        rows.append(row)
    return rows


@asynccontextmanager
async def connected(server: Server, cache: Path, place: Path) -> AsyncIterator[tuple[Client, int]]:
    """A client that has shaken hands and listed the tools, and the server's process id."""
    before = _children()
    with open(os.devnull, "w", encoding="utf-8") as silent:  # noqa: PTH123 - a device
        transport = stdio_client(server.parameters(cache, place), errlog=silent)
        async with Client(transport, mode="legacy", read_timeout_seconds=120) as client:
            await client.list_tools()
            yield client, next(iter(_children() - before), 0)


def topics_of(root: Path) -> Topics:
    """The facts of each topic, without ids, citations and links."""
    found = {}
    for file in sorted((root / "topics").rglob("*.md")):
        blocks = markdown.parse_topic(file.read_text(encoding="utf-8")).blocks
        found[file.relative_to(root).as_posix()] = [
            re.sub(r", see \[.*?\]\(.*?\)", "", " ".join(claim.text for claim in block.claims))
            for block in blocks
        ]
    return found


async def _starts(server: Server, cache: Path, count: int) -> list[tuple[float, float]]:
    """Seconds and megabytes of as many starts over an empty memory; one more comes first."""
    taken = []
    for _ in range(count + 1):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            begin = time.perf_counter()
            async with connected(server, cache, Path(folder)) as (_, pid):
                taken.append((time.perf_counter() - begin, resident_mb(pid)))
    return taken[1:]


async def _at_size(server: Server, cache: Path, size: int) -> AtSize:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        generate(place / "workspace", size)
        topics = topics_of(place / "workspace")
        chance = random.Random(size)
        async with connected(server, cache, place) as (client, pid):
            await server.fill(client, topics)
            paths = list(topics)

            async def add() -> None:
                said = f"The user mentioned number {chance.randrange(10**9)}."
                await server.add(client, chance.choice(paths), said)

            async def read() -> None:
                await server.read(client, chance.choice(paths))

            added, read_ms = await _median(add), await _median(read)
            wanted = [chance.choice(topics[chance.choice(paths)]) for _ in range(CALLS)]
            straight = await _searches(server, client, [_words(fact) for fact in wanted])
            turned = await _searches(server, client, [_words(fact)[::-1] for fact in wanted])
            worked = resident_mb(pid)
        async with connected(server, cache, place) as (client, pid):
            await server.search(client, " ".join(_words(wanted[0])))
            again = resident_mb(pid)
        return AtSize(
            facts=size,
            add_ms=added,
            read_ms=read_ms,
            search_ms=round(statistics.median(each.ms for each in straight), 2),
            searches=len(straight) + len(turned),
            answer_kb=round(statistics.median(each.kb for each in straight), 1),
            found=_percent([each.found for each in straight]),
            found_reversed=_percent([each.found for each in turned]),
            memory_mb=round(worked, 1),
            memory_again_mb=round(again, 1),
        )


@dataclass(frozen=True, slots=True)
class _Search:
    ms: float
    kb: float
    found: bool


async def _searches(
    server: Server, client: Client, queries: Sequence[Sequence[str]]
) -> list[_Search]:
    """Each search; it has found the fact when the fact's number stands in the answer."""
    taken: list[_Search] = []
    end = time.perf_counter() + SECONDS
    for words in queries:
        number = next(word for word in words if re.search(r"\(\d+\)", word))
        begin = time.perf_counter()
        answer = await server.search(client, " ".join(words))
        ms = 1000 * (time.perf_counter() - begin)
        digits = re.sub(r"\D", "", number)
        taken.append(_Search(ms, len(answer.encode()) / 1000, digits in answer))
        if time.perf_counter() > end and len(taken) > 1:
            break
    return taken


def _words(fact: str) -> list[str]:
    """The last four words of a fact, of which one is its number."""
    return fact.rstrip(".").split()[-4:]


async def _median(work: Callable[[], Awaitable[None]]) -> float:
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    await work()
    while len(taken) < CALLS and (time.perf_counter() < end or len(taken) < 2):
        begin = time.perf_counter()
        await work()
        taken.append(1000 * (time.perf_counter() - begin))
    return round(statistics.median(taken), 2)


def _percent(found: Sequence[bool]) -> float:
    return round(100 * statistics.fmean(found))


def _children() -> set[int]:
    """The processes that this one has started, where the system tells (Linux)."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in lists for pid in file.read_text().split()}


def resident_mb(pid: int) -> float:
    """Megabytes of resident memory of a process, where the system tells (Linux); else 0."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    line = next((line for line in status.splitlines() if line.startswith("VmRSS")), "VmRSS: 0")
    return int(line.split()[1]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory servers side by side.")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/scriptorium/peers")
    arguments = parser.parse_args()
    for row in measure(arguments.sizes, arguments.cache):
        print(f"{row.name} {row.version}: {row.reason or f'{row.start_s} s, {row.start_mb} MB'}")
        for size in row.sizes:
            print(f"    {size}")


if __name__ == "__main__":
    main()
