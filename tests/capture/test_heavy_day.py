"""A day of a heavy user: many sessions at once, large messages, and ingests killed at random.

Shortened here; with SCRIPTORIUM_FULL=1 it is 40 sessions, 600 turns, and two messages of 2 MB.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from collections import Counter
from datetime import UTC, datetime
from itertools import groupby

import pytest
from tests.capture.desk import Desk, filler
from tests.capture.test_exactly_once import FULL, started

from scriptorium.capture.parts import part_of
from scriptorium.format.tokens import estimate_tokens

SESSIONS, TURNS, LARGE, LARGE_SIZE = (40, 600, 2, 2 << 20) if FULL else (5, 24, 1, 300_000)
AT_ONCE = 3
KILLED = 0.1
"""The share of ingests that are killed somewhere on their way."""


@pytest.mark.timeout(3600 if FULL else 180)
def test_every_message_of_a_heavy_day_is_in_memory_once(desk: Desk) -> None:
    rng = random.Random(20260803)  # noqa: S311 - always the same day
    sessions = [desk.session(number) for number in range(1, SESSIONS + 1)]
    said: Counter[str] = Counter()
    large = set(rng.sample(range(TURNS), LARGE))
    running: list[subprocess.Popen[bytes]] = []
    for turn in range(TURNS):
        session = rng.choice(sessions)
        session.time = datetime.now(UTC)
        question = f"FACT-q{turn} {filler(rng.randint(50, 900))}"
        if turn in large:
            question = f"FACT-q{turn} " + filler(LARGE_SIZE // 5)[:LARGE_SIZE]
        answer = f"FACT-a{turn} {filler(rng.randint(50, 1500))}"
        session.turn(question, answer)
        said.update((question, answer))
        running.append(started(desk, session, threshold=16_000))
        if rng.random() < KILLED:
            signal.sigtimedwait([], rng.random() * 0.6)
            os.killpg(running[-1].pid, signal.SIGKILL)
        while len(running) >= AT_ONCE:
            running.pop(0).wait(120)
    for process in running:
        process.wait(120)
    calls_of_the_day = len(desk.script.calls)
    for session in sessions:
        desk.ingest(session, daily_usd=1000)
    desk.ingest(force=True, daily_usd=1000)

    assert archived(desk) == said
    facts = Counter(re.findall(r"FACT-[a-z0-9]+", desk.topics()))
    assert set(facts.values()) == {1}
    assert len(facts) == 2 * TURNS
    tokens = sum(estimate_tokens(text) for text in said)
    runs = outcomes(desk)
    assert tokens / 24_000 <= runs["written"] <= tokens / 11_000 + 2
    assert runs["failed"] == 0
    print(f"{TURNS} turns, {tokens} tokens, {calls_of_the_day} calls, runs: {dict(runs)}")


def archived(desk: Desk) -> Counter[str]:
    """The archived messages' texts, parts put together."""
    whole: Counter[str] = Counter()
    contents = sorted(desk.contents().items(), key=lambda item: place(item[0]))
    for _, parts in groupby(contents, key=lambda item: item[0].partition(".part-")[0]):
        whole["".join(text for _, text in parts)] += 1
    return whole


def place(source: str) -> tuple[str, int]:
    part = part_of(source)
    return source.partition(".part-")[0], part[0] if part else 0


def outcomes(desk: Desk) -> Counter[str]:
    lines = (desk.root / ".scriptorium" / "ingest.jsonl").read_text(encoding="utf-8").splitlines()
    return Counter(json.loads(line)["outcome"] for line in lines)


def test_a_turn_below_the_threshold_calls_nothing(desk: Desk) -> None:
    session = desk.session()
    for turn in range(3):
        session.turn(f"q{turn} {filler(100)}", "a")
        assert started(desk, session, threshold=16_000).wait(120) == 0
    assert desk.script.calls == []
