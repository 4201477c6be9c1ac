"""How long it takes to read what is new at the end of a long transcript.

    python benchmarks/transcript.py [--megabytes N] [--runs N] [--json]

A session of Claude Code of that size, most of it what tools printed, is written and read once; then
it grows by one turn of 4 KB at a time, each read with the cursor of the reading before. Prints the
median in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.capture.desk import Session, filler

from scriptorium.capture import transcript

MEGABYTES, RUNS = 400, 21
TEXT, PRINTED = 1700, 60_000
"""Characters of a question or an answer, and of what a tool printed."""
MOST_MS = 50
"""What is to be reached."""


@dataclass(frozen=True, slots=True)
class Reading:
    megabytes: int
    """The transcript's size before it grows."""
    first_s: float
    """The reading from its start."""
    new_bytes: int
    """What one turn adds."""
    new_ms: float
    """The reading of that, median."""


def measure(megabytes: int = MEGABYTES, runs: int = RUNS) -> Reading:
    """Needs as much room in the directory for temporary files."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        _fill(session, megabytes << 20)
        begin = time.perf_counter()
        reading = transcript.read_new(session.path, None)
        first = time.perf_counter() - begin
        taken = []
        for number in range(runs):
            size = session.path.stat().st_size
            _turn(session, f"new {number}")
            added = session.path.stat().st_size - size
            assert reading
            begin = time.perf_counter()
            reading = transcript.read_new(session.path, reading.cursor)
            taken.append(time.perf_counter() - begin)
            assert reading
            assert len(reading.messages) == 2, "a turn is a question and an answer"
    return Reading(megabytes, round(first, 2), added, round(statistics.median(taken) * 1000, 2))


def _fill(session: Session, size: int) -> None:
    while not session.path.exists() or session.path.stat().st_size < size:
        for _ in range(20):
            _turn(session, "earlier")
            printed = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * PRINTED}
            message = {"role": "user", "content": [printed]}
            session.write(session.row(type="user", message=message))


def _turn(session: Session, begin: str) -> None:
    text = f"{begin} {filler(TEXT)}"[:TEXT]
    session.turn(text, text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Reads what is new in a long transcript.")
    add = parser.add_argument
    add("--megabytes", type=int, default=MEGABYTES, metavar="N", help=f"default: {MEGABYTES}")
    add("--runs", type=int, default=RUNS, metavar="N", help=f"default: {RUNS}")
    add("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    reading = measure(options.megabytes, options.runs)
    if options.json:
        print(json.dumps(asdict(reading)))
    else:
        for name, value in asdict(reading).items():
            print(f"{name.replace('_', ' '):12}{value}")
        print(f"to reach: {MOST_MS} ms")
    return 0 if reading.new_ms <= MOST_MS else 1


if __name__ == "__main__":
    sys.exit(main())
