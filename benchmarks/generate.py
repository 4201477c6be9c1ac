"""Makes realistic workspaces of any size: topics, links, years of dates, and the sources they cite.

Promises: the same size and seed give the same bytes, and `validate` finds nothing to complain of.
Writes the files directly (hundred thousand blocks take seconds) and lets the package render the
views.

    python benchmarks/generate.py /tmp/memory --blocks 10000
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

from scriptorium.format import ids, paths, sources
from scriptorium.format.model import BlockId, RelPath, SourceId, SourceRecord
from scriptorium.workspace import layout, transaction
from scriptorium.workspace.workspace import Workspace

BLOCKS_A_TOPIC = 20
BLOCKS_A_SOURCE = 3
RECORDS_A_THREAD = 8
LINKED = 0.3
"""The share of blocks that link to another."""
FIRST_DAY = date(2019, 1, 1)
DAYS = 2700

_AREAS = ("people", "work", "home", "health", "travel", "code", "reading", "money", "项目", "朋友")
_SUBJECTS = (
    "office",
    "garden",
    "release",
    "parser",
    "doctor",
    "budget",
    "holiday",
    "居住",
    "会议",
    "论文",
)
_WHO = ("The user", "Mira", "Jonas", "The team", "小林", "Dr. Okafor", "The landlord", "王芳")
_DID = (
    "moved to {place}",
    "decided to keep {thing} for another year",
    "prefers {thing} over anything else",
    "fixed `{code}` after two evenings of looking",
    "met {who} in {place} to talk about {thing}",
    "搬到了{place}，每天坐地铁上班",
    "认为{thing}比较合适，下周再决定",
    "renamed `{code}` because the old name said nothing",
    "plans a trip to {place} once {thing} is done",
    "把 `{code}` 的超时改成了三十秒",
)
_PLACES = ("Pudong", "Lisbon", "Kraków", "浦东", "the north wing", "Oslo", "杭州", "Room 4.12")
_THINGS = (
    "the old bicycle",
    "green tea",
    "the quarterly report",
    "夜班",
    "a standing desk",
    "旧相机",
)
_CODE = ("parse_topic", "retryBudget", "cache/http.py", "MAX_LINKS", "tokenize_cjk", "onResume()")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block that can be linked to stands."""

    path: RelPath
    block: BlockId


def generate(root: Path, blocks: int, *, seed: int = 1, views: bool = True) -> None:
    """A workspace of about `blocks` blocks is at `root`, which is new; with its views if wanted."""
    chance = random.Random(f"{seed}/{blocks}")
    made = layout.create(root, ignore=False)
    archive = _threads(chance, max(1, blocks // BLOCKS_A_SOURCE))
    cited: list[tuple[SourceId, RelPath]] = []
    for path, records in archive:
        _write(made.root / path, _thread(records))
        cited += [(record.id, path) for record in records]
    linkable: list[Place] = []
    numbers = iter(range(blocks))
    for topic in range((blocks + BLOCKS_A_TOPIC - 1) // BLOCKS_A_TOPIC):
        path = _topic_path(topic)
        count = min(BLOCKS_A_TOPIC, blocks - topic * BLOCKS_A_TOPIC)
        own = [Place(path, _block_id(seed, next(numbers))) for _ in range(count)]
        _write(made.root / path, _topic(chance, own, linkable, cited))
        linkable += own
    _write(made.root / "core.md", _core(linkable[:5]))
    if views:
        transaction.rebuild_views(Workspace.open(made.root))


def _threads(chance: random.Random, count: int) -> Iterator[tuple[RelPath, list[SourceRecord]]]:
    for start in range(0, count, RECORDS_A_THREAD):
        thread = sha256(f"thread {start}".encode()).hexdigest()[:16]
        records = [
            SourceRecord(
                ids.source_id(
                    "claude-code", thread, sha256(f"{start}/{n}".encode()).hexdigest()[:16]
                ),
                "user" if n % 2 == 0 else "assistant",
                f"{_day(chance).isoformat()}T{chance.randrange(24):02}:{chance.randrange(60):02}:00+00:00",
                " ".join(f"{_statement(chance)}." for _ in range(chance.randint(1, 4))),
            )
            for n in range(min(RECORDS_A_THREAD, count - start))
        ]
        yield sources.thread_path(records[0].id), records


def _thread(records: list[SourceRecord]) -> str:
    return sources.append("", records)


def _topic_path(number: int) -> RelPath:
    area = _AREAS[number % len(_AREAS)]
    subject = _SUBJECTS[number // len(_AREAS) % len(_SUBJECTS)]
    return RelPath(f"topics/{area}/{subject}-{number}.md")


def _topic(
    chance: random.Random,
    own: list[Place],
    linkable: list[Place],
    cited: list[tuple[SourceId, RelPath]],
) -> str:
    path = own[0].path
    lines = [f"# {path.rpartition('/')[2].removesuffix('.md')}", ""]
    definitions = []
    for number, place in enumerate(own):
        if number % 5 == 0:
            lines += [f"## {chance.choice(_SUBJECTS)} {number // 5 + 1}", ""]
        claims = []
        for claim in range(chance.choice((1, 1, 1, 2))):
            label = "e-" + sha256(f"{place.block}/{claim}".encode()).hexdigest()[:10]
            claims.append(f"{_claim(chance, path, linkable if claim == 0 else [])}[^{label}]")
            definitions.append(_definition(chance, path, label, chance.choice(cited)))
        marker = "- " if chance.random() < 0.3 else ""
        lines += [f"{marker}{' '.join(claims)} ^{place.block}", ""]
    return "\n".join([*lines, *definitions]) + "\n"


def _claim(chance: random.Random, path: RelPath, linkable: list[Place]) -> str:
    text = _statement(chance)
    if linkable and chance.random() < LINKED:
        target = chance.choice(linkable)
        text += f", see [{target.block}]({paths.relative(path, target.path)}#^{target.block})"
    return f"{text}."


def _statement(chance: random.Random) -> str:
    did = chance.choice(_DID).format(
        place=chance.choice(_PLACES),
        thing=chance.choice(_THINGS),
        code=chance.choice(_CODE),
        who=chance.choice(_WHO),
    )
    return f"{chance.choice(_WHO)} {did} ({chance.randrange(100_000)})"


def _definition(
    chance: random.Random, path: RelPath, label: str, source: tuple[SourceId, RelPath]
) -> str:
    source_id, file = source
    target = f"{paths.relative(path, file)}#{ids.anchor(source_id)}"
    return f"[^{label}]: Time: `{_time(chance)}`; Sources: [{source_id}]({target})"


def _time(chance: random.Random) -> str:
    day = _day(chance).isoformat()
    precision = chance.random()
    if precision < 0.03:
        return "undated"
    return day[:4] if precision < 0.05 else day[:7] if precision < 0.13 else day


def _day(chance: random.Random) -> date:
    return FIRST_DAY + timedelta(days=chance.randrange(DAYS))


def _block_id(seed: int, number: int) -> BlockId:
    # Eight digits of a bijection, not of a hash: a hundred thousand of those would collide.
    return BlockId(f"{(number * 2_654_435_761 + seed * 97) % (1 << 32):08x}")


def _core(places: list[Place]) -> str:
    links = "".join(
        f"- [{p.block}]({paths.relative(RelPath('core.md'), p.path)}#^{p.block})\n" for p in places
    )
    return f"# Core memory\n\nThe user likes short answers.\n\n{links}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("root", type=Path, help="a directory that does not exist yet")
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generate(arguments.root, arguments.blocks, seed=arguments.seed)


if __name__ == "__main__":
    main()
