"""A day of a heavy user, against a scripted writer: is every message in memory once, at what cost?

    python benchmarks/heavy_day.py [--sessions N] [--turns N] [--json]

Each turn is one `scriptorium ingest --hook` in a process of its own, as the Stop hook starts it,
three at a time; one in ten is killed somewhere on its way. Before the day come some turns below the
threshold, whose CPU time is measured with and without a settings file. The writer makes one fact
of each `FACT-…` in a message. Prints what is in memory afterwards beside what was said.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.capture.desk import Desk, Session, filler, install_script

from scriptorium.capture.parts import part_of
from scriptorium.format.tokens import estimate_tokens

IDLE_TURNS = 15
AT_ONCE = 3
KILLED = 0.1
"""The share of ingests that are killed."""
LARGE, LARGE_SIZE = 2, 2 << 20
TOKENS_A_RUN, IDLE_MS = 16_000, 120
"""What is to be reached."""
SETTINGS = "ingest:\n  daily_usd: 1000\n"
PROGRAM = (sys.executable, "-I", "-X", "utf8", "-c")
CODE = "import sys; sys.path[:0] = {paths!r}; from scriptorium.interface.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Report:
    sessions: int
    turns: int
    tokens: int
    messages: int
    messages_once: int
    """Of them in memory exactly once, word by word."""
    facts_once: int
    """Of as many facts as messages."""
    killed: int
    idle_ms: float
    """CPU of a turn below the threshold, median."""
    idle_with_settings_ms: float
    idle_calls: int
    """Of the model, in those turns."""
    runs: dict[str, int]
    """By outcome."""
    expected_runs: float
    """Tokens by 16,000."""
    minutes: float

    @property
    def reached(self) -> bool:
        whole = self.messages_once == self.facts_once == self.messages
        return whole and self.idle_calls == 0 and self.idle_ms <= IDLE_MS


@dataclass(slots=True)
class Day:
    """A home, its sessions, and the ingests that run in it."""

    desk: Desk
    rng: random.Random = field(default_factory=lambda: random.Random(20260803))
    said: Counter[str] = field(default_factory=Counter)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    killed: int = 0

    def turn(self, session: Session, question: str, answer: str) -> subprocess.Popen[bytes]:
        """The turn stands in the transcript, and its ingest has begun."""
        session.time = datetime.now(UTC)
        session.turn(question, answer)
        self.said.update(text for text in (question, answer) if "FACT-" in text)
        return self.ingest(
            {"transcript_path": str(session.path), "cwd": "/", "last_assistant_message": answer}
        )

    def ingest(self, hook: dict[str, object] | None, *arguments: str) -> subprocess.Popen[bytes]:
        code = CODE.format(paths=[p for p in sys.path if p.endswith("server")])
        process = subprocess.Popen(
            [*PROGRAM, code, "ingest", *(arguments or ["--hook"])],
            env={**self.desk.environ, "SCRIPTED_COST": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin
        process.stdin.write(json.dumps(hook).encode())
        process.stdin.close()
        return process

    def idle(self) -> float:
        """The median CPU of turns below the threshold, in milliseconds."""
        session = self.desk.session(9000)
        used = []
        for number in range(IDLE_TURNS):
            process = self.turn(session, f"idle {number} {filler(60)}", f"fine {number}")
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            used.append(usage.ru_utime + usage.ru_stime)
        return statistics.median(used) * 1000

    def heavy(self, sessions: int, turns: int) -> None:
        """The day's turns, a few at a time, some of them killed."""
        open_ones = [self.desk.session(number) for number in range(1, sessions + 1)]
        large = set(self.rng.sample(range(turns), min(LARGE, turns)))
        for number in range(turns):
            question = f"FACT-q{number} {filler(self.rng.randint(50, 900))}"
            if number in large:
                question = f"FACT-q{number} {filler(LARGE_SIZE)}"[:LARGE_SIZE]
            answer = f"FACT-a{number} {filler(self.rng.randint(50, 1500))}"
            process = self.turn(self.rng.choice(open_ones), question, answer)
            self.running.append(process)
            if self.rng.random() < KILLED:
                time.sleep(self.rng.random() * 0.6)
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    self.killed += 1
            while len(self.running) >= AT_ONCE:
                self.running.pop(0).wait()
        for process in self.running:
            process.wait()
        for session in open_ones:  # a session's last turn may have been killed
            self.ingest(None, "--transcript", str(session.path)).wait()
        self.ingest(None, "--force").wait()


def measure(sessions: int, turns: int) -> Report:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        script = install_script(Path(folder, "bin"), ("claude",))
        day = Day(Desk.made(Path(folder, "home"), None, script))  # type: ignore[arg-type]
        settings = day.desk.home / ".scriptorium" / "config.yaml"
        settings.parent.mkdir()
        idle = day.idle()
        settings.write_text(SETTINGS, encoding="utf-8")
        idle_with_settings = day.idle()
        idle_calls = len(script.calls)
        day.heavy(sessions, turns)
        root = day.desk.home / ".scriptorium" / "memory"
        return _report(
            day,
            Archive(root),
            sessions=sessions,
            turns=turns,
            idle_ms=round(idle, 1),
            idle_with_settings_ms=round(idle_with_settings, 1),
            idle_calls=idle_calls,
            minutes=round((time.perf_counter() - begin) / 60, 1),
        )


@dataclass(frozen=True, slots=True)
class Archive:
    """What the day left in memory."""

    root: Path

    def messages(self) -> Counter[str]:
        """The archived messages' texts, the parts of a large one put together."""
        from scriptorium.workspace.workspace import Workspace  # noqa: PLC0415

        snapshot = Workspace.open(self.root).snapshot()
        files = [f.path for f in snapshot.files() if f.kind == "source"]
        records = [r for path in files for r in snapshot.sources_of(path)]
        ordered = sorted(records, key=lambda r: (_whole(r.id), (part_of(r.id) or (0, 0))[0]))
        messages = groupby(ordered, key=lambda r: _whole(r.id))
        return Counter("".join(r.content for r in parts) for _, parts in messages)

    def facts(self) -> Counter[str]:
        topics = (path.read_text(encoding="utf-8") for path in self.root.glob("topics/**/*.md"))
        return Counter(fact for text in topics for fact in re.findall(r"FACT-[a-z0-9]+", text))

    def runs(self) -> Iterator[str]:
        lines = (self.root / ".scriptorium" / "ingest.jsonl").read_text(encoding="utf-8")
        return (json.loads(line)["outcome"] for line in lines.splitlines())


def _whole(source: str) -> str:
    return source.partition(".part-")[0]


def _report(day: Day, archive: Archive, *, sessions: int, turns: int, **figures: object) -> Report:
    messages, facts = archive.messages(), archive.facts()
    tokens = sum(estimate_tokens(text) for text in day.said)
    return Report(
        sessions=sessions,
        turns=turns,
        tokens=tokens,
        messages=len(day.said),
        messages_once=sum(messages[text] == 1 for text in day.said),
        facts_once=sum(count == 1 for count in facts.values()),
        killed=day.killed,
        runs=dict(Counter(archive.runs())),
        expected_runs=round(tokens / TOKENS_A_RUN, 1),
        **figures,  # type: ignore[arg-type]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulates a day of a heavy user.")
    parser.add_argument("--sessions", type=int, default=40, help="default: 40")
    parser.add_argument("--turns", type=int, default=600, help="default: 600")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = measure(options.sessions, options.turns)
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        for name, value in asdict(report).items():
            print(f"{name.replace('_', ' '):24}{value}")
        print(f"to reach: all once, no idle call, idle {IDLE_MS} ms")
    return 0 if report.reached else 1


if __name__ == "__main__":
    sys.exit(main())
