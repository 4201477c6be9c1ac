"""What is left of an update killed at every step, and of what eight processes write at once.

    python benchmarks/survival.py [--each N] [--json]

The same scenarios as the tests', here counted. The first: an update that edits, creates and deletes
topics is killed before, or within, each call that touches the disk, or that call fails, each in a
fresh copy; the next start then judges, and a half update ends the benchmark. The second: eight
processes make N updates each, every one against the newest revision, while two read.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.workspace import crash, test_crash_update, test_crowd

EACH = 20


@dataclass(frozen=True, slots=True)
class Survival:
    """What happened, and what of it should not have."""

    steps: int
    """Calls of one update that touch the disk."""
    runs: int
    """Updates that were killed or failed at one of them; each was there whole or not at all."""
    broken: int
    """Of those runs: acknowledged but not there, refused but there, or litter left."""
    crowd_updates: int
    """Acknowledged by the eight processes."""
    crowd_lost: int
    crowd_twice: int
    crowd_torn: int
    """Readers that saw half an update, writers that failed, and problems that `validate` finds."""
    crowd_seconds: float

    @property
    def reached(self) -> bool:
        return not any((self.broken, self.crowd_lost, self.crowd_twice, self.crowd_torn))


def measure(each: int = EACH) -> Survival:
    """Both scenarios; `each`: updates of one process of the crowd.

    Raises AssertionError where an update is there by half.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenario = test_crash_update.prepared(folder)
        matrix = crash.run_matrix(scenario, folder / "run", rotate=True)
        crowd = test_crowd.crowd(folder / "crowd", each)
    return Survival(
        steps=len(matrix.steps),
        runs=len(matrix.cells),
        broken=len(matrix.broken),
        crowd_updates=test_crowd.WRITERS * each,
        crowd_lost=crowd.lost,
        crowd_twice=crowd.twice,
        crowd_torn=crowd.torn,
        crowd_seconds=round(crowd.seconds, 1),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills updates, and lets eight processes write.")
    each = f"updates of one process; default: {EACH}"
    parser.add_argument("--each", type=int, default=EACH, metavar="N", help=each)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    survival = measure(options.each)
    if options.json:
        print(json.dumps(asdict(survival)))
    else:
        for name, value in asdict(survival).items():
            print(f"{name.replace('_', ' '):16}{value}")
        print("to reach: nothing broken, lost, twice or torn")
    return 0 if survival.reached else 1


if __name__ == "__main__":
    sys.exit(main())
