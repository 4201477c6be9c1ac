"""What the tools cost in workspaces of 100, 10,000 and 100,000 blocks: one table from one run.

    python benchmarks/workspace.py [--blocks 100 10000 100000] [--json out.json] [--profile
    out.prof]

Each size is generated in a temporary folder (`generate.py`) and measured in a process of its own,
through the tools as the server calls them, but without the protocol around them. An update writes
one block with its evidence and source into a topic chosen at random, and the next one takes it out
again, so that the workspace keeps its size; every one is synced to the disk. Medians, in
milliseconds, of calls that each look at the disk first, as they do to see hand edits.
"""

from __future__ import annotations

import argparse
import cProfile
import difflib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from generate import generate

from scriptorium.format.model import RelPath
from scriptorium.interface import calling
from scriptorium.interface.call import Call
from scriptorium.interface.memory import Memory
from scriptorium.workspace.layers import LayerSpec, open_layers
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

NOW = datetime(2026, 8, 9, 12, tzinfo=UTC)
UPDATES, READS, GREPS, STATUSES = 40, 100, 10, 10
UPDATE_MS, RATIOS = 15.0, {10_000: 1.5, 100_000: 3.0}
"""What is to be reached: the update at 100 blocks, and the others as a multiple of it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds but for the names that say otherwise."""

    blocks: int
    topics: int
    views: int
    open_and_look: float
    first_update: float
    update: float
    update_p95: float
    linking_update: float
    read: float
    grep: float
    status: float
    validate_s: float
    memory_at_start_mb: float
    memory_mb: float


class Session:
    """A workspace behind its tools."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        opened = open_layers([LayerSpec(None, str(root))], Workspace.open, cwd=root)
        self.memory = Memory(opened, git="off")
        self.topics = [
            path for path in self.workspace.snapshot().authored() if path.startswith("topics/")
        ]

    @property
    def workspace(self) -> Workspace:
        return self.memory.workspace(self.memory.layers.default)

    def call(self, tool: str, **arguments: object) -> None:
        answer = calling.call(tool, arguments, lambda: Call(self.memory, "claude-code", NOW))
        assert answer.ok, answer.text()

    def update(self, path: str, text: str, said: str) -> float:
        """The milliseconds that the update takes which makes the topic's text this one."""
        snapshot = self.workspace.snapshot()
        old = snapshot.read(RelPath(path))
        patch = "".join(
            difflib.unified_diff(
                old.splitlines(keepends=True),
                text.splitlines(keepends=True),
                f"a/{path}",
                f"b/{path}",
            )
        )
        source = {"label": "new-source-1", "role": "user", "content": said}
        started = time.perf_counter()
        self.call("memory_update", base_revision=snapshot.revision, patch=patch, sources=[source])
        return (time.perf_counter() - started) * 1000


def measure(root: Path, blocks: int, profile: Path | None) -> Figures:
    """The figures of the workspace at `root`, which has `blocks` blocks."""
    at_start = _resident_mb()
    started = time.perf_counter()
    session = Session(root, blocks)
    opened = (time.perf_counter() - started) * 1000
    first = _updates(session, 1)[0]
    profiler = cProfile.Profile() if profile else None
    if profiler:
        profiler.enable()
    updates = _updates(session, UPDATES)
    if profiler and profile:
        profiler.disable()
        profiler.dump_stats(profile)
    linking = _updates(session, 5, link=True)
    chosen = [session.chance.choice(session.topics) for _ in range(READS)]
    read = [_timed(lambda: session.call("memory_read", path=path)) for path in chosen]  # noqa: B023
    words = [f"({session.chance.randrange(100_000)})" for _ in range(GREPS)]
    grep = [_timed(lambda: session.call("memory_grep", query=word)) for word in words]  # noqa: B023
    status = [_timed(lambda: session.call("memory_status")) for _ in range(STATUSES)]
    memory = _resident_mb()
    counts = session.workspace.snapshot().counts()
    started = time.perf_counter()
    problems = validate(session.workspace)
    seconds = time.perf_counter() - started
    assert problems == [], problems[:5]
    return Figures(
        blocks=blocks,
        topics=counts.topic_files,
        views=counts.timeline_files,
        open_and_look=opened,
        first_update=first,
        update=statistics.median(updates),
        update_p95=statistics.quantiles(updates, n=20)[-1],
        linking_update=statistics.median(linking),
        read=statistics.median(read),
        grep=statistics.median(grep),
        status=statistics.median(status),
        validate_s=seconds,
        memory_at_start_mb=at_start,
        memory_mb=memory,
    )


def _updates(session: Session, count: int, *, link: bool = False) -> list[float]:
    """Milliseconds of as many pairs of updates, which add a block and take it away."""
    taken = []
    for number in range(count):
        path = session.chance.choice(session.topics)
        old = (session.root / path).read_text("utf-8")
        block = old.rpartition(" ^")[2][:8]
        see = f", see [it](#^{block})" if link else ""
        text = (
            f"{old}\nThe user said number {number} of {session.chance.random()}{see}."
            "[^new-evidence-1] ^new-block-1\n\n"
            "[^new-evidence-1]: Time: `2026-05-03`; Sources: new-source-1\n"
        )
        taken.append(session.update(path, text, f"Number {number}."))
        taken.append(session.update(path, old, f"Not number {number}."))
    return taken


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def _resident_mb() -> float:
    """Memory of this process now, where the system tells (Linux)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * 4096 / 1e6


def table(found: list[Figures]) -> str:
    """The figures side by side, and what they are multiples of."""
    rows = [name for name in asdict(found[0]) if name != "blocks"]
    lines = ["".join(["blocks".ljust(22), *(f"{figures.blocks:>12,}" for figures in found)])]
    for row in rows:
        values = (asdict(figures)[row] for figures in found)
        shown = (f"{v:>12,.2f}" if isinstance(v, float) else f"{v:>12,}" for v in values)
        lines.append(row.ljust(22) + "".join(shown))
    base = found[0].update
    ratios = "".join(f"{figures.update / base:>12.2f}" for figures in found)
    lines.append("update, as a multiple".ljust(22) + ratios)
    return "\n".join(lines)


def missed(found: list[Figures]) -> list[str]:
    """The targets that were not reached."""
    base = found[0].update
    told = [f"update at {found[0].blocks}: {base:.1f} ms"] if base > UPDATE_MS else []
    for figures in found[1:]:
        most = RATIOS.get(figures.blocks)
        if most and figures.update > most * base:
            told.append(f"update at {figures.blocks}: {figures.update / base:.2f} × (most {most})")
    return told


def run(blocks: int, profile: Path | None) -> Figures:
    """The figures of a new workspace of that size, measured in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="scriptorium-benchmark-") as place:
        root = Path(place) / "memory"
        generate(root, blocks)
        command = [sys.executable, __file__, "--measure", str(root), "--blocks", str(blocks)]
        if profile:
            command += ["--profile", str(profile.with_stem(f"{profile.stem}-{blocks}"))]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Figures(**json.loads(answer.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--blocks", type=int, nargs="+", default=[100, 10_000, 100_000])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--profile", type=Path, help="write cProfile statistics of the updates")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        figures = measure(arguments.measure, arguments.blocks[0], arguments.profile)
        print(json.dumps(asdict(figures)))
        return 0
    found = [run(blocks, arguments.profile) for blocks in arguments.blocks]
    print(table(found))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(f) for f in found], indent=2) + "\n")
    for miss in missed(found):
        print(f"missed: {miss}")
    return 1 if missed(found) else 0


if __name__ == "__main__":
    sys.exit(main())
