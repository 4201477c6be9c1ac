"""What a person wants forgotten: which blocks and messages that is, and their removal.

    plan      from one block's id, or from a text: what would go, and what stays; changes nothing
    forget    the plan carried out as one transaction

A block goes with the evidence that only it cites. A message loses its content, and keeps its
heading so that links resolve, where no block that stays rests on it; one that holds the text loses
it in any case. Promises: a plan that would cut other blocks' links is refused, and names them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from scriptorium.errors import DanglingBlockLink, InvalidArgument, Json
from scriptorium.format import paths, removal, sources
from scriptorium.format.model import (
    BlockId,
    RelPath,
    Revision,
    SourceId,
    SourceRecord,
    SourceRef,
    Topic,
)
from scriptorium.workspace import git
from scriptorium.workspace.memory import Snapshot, Workspace
from scriptorium.workspace.transaction import Update, UpdateResult, update

CORE = RelPath("core.md")
_SHORTEST = 12
"""Characters of a forgotten line that are looked for elsewhere: shorter ones stand anywhere."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A place in a file of memory."""

    path: RelPath
    line: int
    text: str
    id: str = ""
    """The block's or the source's id; empty for other lines."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be forgotten."""

    revision: Revision
    blocks: tuple[Passage, ...]
    sources: tuple[Passage, ...]
    """The messages whose content goes."""
    lines: tuple[Passage, ...]
    """The lines of the core, and headings, that go too."""
    kept: tuple[Passage, ...]
    """Messages that a forgotten block cites, and a block that stays as well; `text` names that."""
    stays: tuple[Passage, ...]
    """Lines that hold the text and are no block: a person has to edit them."""
    edits: Mapping[RelPath, str | None]
    erased: Mapping[RelPath, frozenset[SourceId]]
    needles: tuple[str, ...]
    """The forgotten texts, folded, to be looked for in caches and logs."""

    @property
    def empty(self) -> bool:
        return not (self.blocks or self.sources or self.lines)

    def matches(self, text: str) -> bool:
        """Whether the text holds something that is to be forgotten."""
        folded = fold(text)
        return any(needle in folded for needle in self.needles)


def fold(text: str) -> str:
    """The text in the form in which texts are compared: case, form and line breaks do not count."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def plan_block(snapshot: Snapshot, block: str) -> Plan:
    """What forgetting the block takes. Raises InvalidArgument where there is no such block, and
    DanglingBlockLink where others link to it.
    """
    if snapshot.locate_block(block) is None:
        raise InvalidArgument(
            f"There is no block {paths.show(block)}. Find it: `scriptorium search`."
        )
    return _plan(snapshot, None, lambda passage: passage.id == block)


def plan_match(snapshot: Snapshot, text: str) -> Plan:
    """What forgetting everything that holds the text takes: case and line breaks do not count.

    Raises InvalidArgument for a blank text, and DanglingBlockLink as `plan_block`.
    """
    needle = fold(text)
    if not needle:
        raise InvalidArgument("--match needs a text that is not blank.")
    return _plan(snapshot, needle, lambda passage: needle in fold(passage.text))


def forget(workspace: Workspace, plan: Plan, *, mode: git.Mode, now: datetime) -> UpdateResult:
    """The plan is carried out, whole. Raises as `transaction.update`: ConcurrentUpdate when memory
    is not as it was planned for.
    """
    when = now.date().isoformat()

    def erased(snapshot: Snapshot) -> dict[RelPath, bytes]:
        return {
            path: sources.tombstone(snapshot.read(path), ids, when).encode("utf-8")
            for path, ids in plan.erased.items()
        }

    return update(
        workspace,
        Update(
            base_revision=plan.revision,
            edits=lambda _: plan.edits,
            erased=erased,
            git=mode,
            commit_message="Forget",
        ),
        now=now,
    )


def _plan(snapshot: Snapshot, needle: str | None, wanted: Callable[[Passage], bool]) -> Plan:
    topics = {p: t for p in snapshot.authored() if p != CORE and (t := snapshot.topic(p))}
    every = list(_blocks(topics))
    blocks = [block for block in every if wanted(block)]
    ids = {block.id for block in blocks}
    lines, core = _core(snapshot, needle)
    _check_links(snapshot, ids, {line.line for line in lines})
    texts, headings, stays = _edited(snapshot, blocks, ids, needle, topics)
    cited = {b.id: _cited(snapshot, b.path, topics[b.path], b.id) for b in every}
    gone = {s for b in blocks for s in cited[BlockId(b.id)]}
    rests = {s: b.id for b in every if b.id not in ids for s in cited[b.id] if s in gone}
    doomed, kept = [], []
    for path, record in _records(snapshot, None if needle else gone):
        passage = Passage(path, 0, record.content, record.id)
        if (needle is not None and wanted(passage)) or (
            record.id in gone and record.id not in rests and record.content
        ):
            doomed.append(passage)
        elif record.id in rests:
            kept.append(Passage(path, 0, f"^{rests[record.id]}", record.id))
    erased: dict[RelPath, set[SourceId]] = {}
    for passage in doomed:
        erased.setdefault(passage.path, set()).add(SourceId(passage.id))
    return Plan(
        revision=snapshot.revision,
        blocks=tuple(blocks),
        sources=tuple(doomed),
        lines=(*lines, *headings),
        kept=tuple(kept),
        stays=tuple(stays),
        edits=texts | core,
        erased={path: frozenset(found) for path, found in erased.items()},
        needles=(needle,) if needle else _needles([*blocks, *doomed]),
    )


def _blocks(topics: Mapping[RelPath, Topic]) -> Iterator[Passage]:
    for path, topic in topics.items():
        for block in topic.blocks:
            if block.id is not None:
                yield Passage(path, block.start_line, block.text, block.id)


def _needles(passages: list[Passage]) -> tuple[str, ...]:
    """The lines of forgotten passages that are long enough to be told from others."""
    lines = (fold(line) for passage in passages for line in passage.text.split("\n"))
    return tuple(dict.fromkeys(line for line in lines if len(line) >= _SHORTEST))


def _records(snapshot: Snapshot, only: set[str] | None) -> Iterator[tuple[RelPath, SourceRecord]]:
    """The archived messages, or those of these ids, with their files."""
    files = {p for p in snapshot.mirror.files if paths.kind(p) == "source"}
    if only is not None:
        files = {p for s in only if (p := snapshot.source_path(s))}
    for path in sorted(files):
        for record in snapshot.sources_of(path):
            if only is None or record.id in only:
                yield path, record


def _cited(snapshot: Snapshot, path: RelPath, topic: Topic, block: str) -> set[str]:
    """The ids of the sources that a block rests on."""
    labels = {
        e for b in topic.blocks if b.id == block for claim in b.claims for e in claim.evidence
    }
    refs = [ref for e in topic.evidence if e.id in labels for ref in e.sources]
    return {_resolved(snapshot, path, ref) for ref in refs}


def _resolved(snapshot: Snapshot, path: RelPath, ref: SourceRef) -> str:
    """The source's id, also where a person named the link otherwise."""
    if ref.target is None or snapshot.source_path(ref.id) is not None:
        return ref.id
    target, _, anchor = ref.target.partition("#")
    place = paths.resolve(path, target)
    found = snapshot.anchor_source(place, anchor) if place else None
    return found or ref.id


def _core(
    snapshot: Snapshot, needle: str | None
) -> tuple[list[Passage], dict[RelPath, str | None]]:
    """The core's lines that hold the text, and the core without them."""
    if needle is None or CORE not in snapshot.mirror.files:
        return [], {}
    lines = snapshot.read(CORE).split("\n")
    found = [Passage(CORE, n, t) for n, t in enumerate(lines, 1) if needle in fold(t)]
    gone = {passage.line for passage in found}
    rest = "\n".join(line for n, line in enumerate(lines, 1) if n not in gone)
    return found, {CORE: rest} if found else {}


def _edited(
    snapshot: Snapshot,
    blocks: list[Passage],
    ids: set[str],
    needle: str | None,
    topics: Mapping[RelPath, Topic],
) -> tuple[dict[RelPath, str | None], list[Passage], list[Passage]]:
    """The topics without the blocks; headings that go with them; lines with the text that stay."""
    texts: dict[RelPath, str | None] = {}
    headings: list[Passage] = []
    stays: list[Passage] = []
    edited = {block.path for block in blocks}
    for path in topics if needle else edited:
        done = removal.removed(snapshot.read(path), ids if path in edited else ())
        if path in edited:
            texts[path] = done.text
        headings += [Passage(path, line, text) for line, text in done.headings]
        if needle is not None:
            stays += [Passage(path, n, text) for n, text in done.lines if needle in fold(text)]
            if done.text is not None and needle in fold(path):
                stays.append(Passage(path, 0, "the file's own name"))
    return texts, headings, stays


def _check_links(snapshot: Snapshot, ids: set[str], core_lines: set[int]) -> None:
    """No block or line that stays links to one that goes. Raises DanglingBlockLink."""
    found: list[tuple[RelPath, int, str, str]] = []
    for block in sorted(ids):
        for path in snapshot.mirror.linkers(block):
            for link in snapshot.mirror.topic(path).links:
                goes = link.origin in ids or (path == CORE and link.line in core_lines)
                if link.target == block and not goes:
                    found.append((path, link.line, block, link.origin or ""))
    if not found:
        return
    shown = "; ".join(f"{path}:{line} links to ^{block}" for path, line, block, _ in found[:10])
    listed: list[Json] = [
        {"path": path, "line": line, "block_id": origin, "target": block}
        for path, line, block, origin in found
    ]
    raise DanglingBlockLink(
        f"Nothing was forgotten: {shown}. Edit or forget these first.",
        path=found[0][0],
        details={"links": listed},
    )
