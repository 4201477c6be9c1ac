"""How much of the evidence the peers find on LoCoMo, through their own tools.

    python benchmarks/peer_recall.py locomo.json [--seconds N] [--cache FOLDER]

Each turn becomes one note or one entity, each question is searched for as it stands, and R@10 is
the share of its evidence among the first ten turns of the answer (`retrieval.py` says more). A peer
is asked the questions in an order drawn once until its time is over; Scriptorium's figure is of
exactly the questions that the peer answered.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from beside import connected
from peers import Scriptorium, Server, Unavailable, everyone
from retrieval import Conversation, Question, archived, conversations, ours

DEPTH = 10
SECONDS = 60
"""For each peer: filling is not counted."""


@dataclass(frozen=True, slots=True)
class PeerRecall:
    """Percent, over the questions that the peer was asked in its time."""

    name: str
    version: str
    recall_10: float | None
    ours_10: float | None
    questions: int
    of: int
    reason: str = ""


def measure(path: Path, cache: Path, *, seconds: float = SECONDS) -> list[PeerRecall]:
    """What each peer found, and Scriptorium's bm25 for the same questions."""
    talks = list(conversations(path))
    of = sum(len(talk.questions) for talk in talks)
    found = []
    for peer in everyone():
        if isinstance(peer, Scriptorium):
            continue
        try:
            peer.fetch(cache)
            pairs = [
                pair
                for number, talk in enumerate(talks)
                for pair in asyncio.run(_asked(peer, cache, talk, number, seconds / len(talks)))
            ]
        except (Unavailable, RuntimeError, OSError) as error:
            found.append(PeerRecall(peer.name, peer.version, None, None, 0, of, str(error)[:160]))
            continue
        theirs, mine = (round(100 * statistics.fmean(each), 1) for each in zip(*pairs, strict=True))
        found.append(PeerRecall(peer.name, peer.version, theirs, mine, len(pairs), of))
    return found


async def _asked(
    peer: Server, cache: Path, talk: Conversation, number: int, seconds: float
) -> list[tuple[float, float]]:
    """The peer's recall and ours, of each question that it was asked in the time."""
    questions = list(talk.questions)
    random.Random(number).shuffle(questions)
    turns = {f"topics/talk/turn-{n:05}.md": [turn.text] for n, turn in enumerate(talk.turns)}
    pairs = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        index, places = archived(place / "workspace", talk.turns)
        find = ours(index, places, "bm25", None)
        async with connected(peer, cache, place) as (client, _):
            await peer.fill(client, turns)
            end = time.perf_counter() + seconds
            for question in questions:
                answer = await peer.search(client, question.text)
                first = dict.fromkeys(int(n) for n in re.findall(r"turn-(\d{5})", answer))
                theirs = _recall(talk, question, list(first))
                pairs.append((theirs, _recall(talk, question, list(find(question.text)))))
                if time.perf_counter() > end:
                    break
        index.settle()
    return pairs


def _recall(talk: Conversation, question: Question, found: list[int]) -> float:
    first = {talk.turns[n].id for n in found[:DEPTH]}
    return len(question.evidence & first) / len(question.evidence)


def main() -> None:
    parser = argparse.ArgumentParser(description="The peers' evidence recall on LoCoMo.")
    parser.add_argument("data", type=Path, help="a LoCoMo JSON file")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/scriptorium/peers")
    arguments = parser.parse_args()
    for peer in measure(arguments.data, arguments.cache, seconds=arguments.seconds):
        print(peer)


if __name__ == "__main__":
    main()
