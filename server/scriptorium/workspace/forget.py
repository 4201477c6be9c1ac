"""What a person wants forgotten: which blocks and messages that is, and their removal.

    plan      from one block's id, or from a text: what would go, and what stays; changes nothing
    forget    the plan carried out as one transaction

A block goes with the evidence that only it cites. A message loses its content, and keeps its
heading so that links resolve, where no block that stays rests on it; one that holds the text loses
it in any case. Promises: a plan that would cut other blocks' links is refused, and names them;
what was wrong with memory before is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from scriptorium.errors import BrokenContract, InvalidArgument
from scriptorium.format import evidence, paths, removal, sources
from scriptorium.format.model import (
    BlockId,
    Problem,
    RelPath,
    Revision,
    SourceId,
    SourceRecord,
    Topic,
)
from scriptorium.format.traces import Traces
from scriptorium.workspace import git
from scriptorium.workspace.forgotten import Forgotten, is_long
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.transaction import Update, UpdateResult, update
from scriptorium.workspace.workspace import Workspace

_INTRO = "Nothing was forgotten"


class UnknownBlock(InvalidArgument):
    """There is no such block."""


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
    bared: tuple[Passage, ...]
    """Blocks that stay, though a message that they rest on goes."""
    stays: tuple[Passage, ...]
    """Lines that hold the text and are no block: a person has to edit them."""
    edits: Mapping[RelPath, str | None]
    erased: Mapping[RelPath, frozenset[SourceId]]
    forgotten: Forgotten
    short: tuple[str, ...]
    """Forgotten statements that are too short to be looked for elsewhere."""

    @property
    def empty(self) -> bool:
        return not (self.blocks or self.sources or self.lines)

    def same(self, other: Plan) -> bool:
        """Whether the other takes the same from memory, at whatever revision."""
        return (self.blocks, self.sources, self.lines, self.bared) == (
            other.blocks,
            other.sources,
            other.lines,
            other.bared,
        )


def plan_block(snapshot: Snapshot, block: str) -> Plan:
    """What forgetting the block takes. Raises UnknownBlock, and DanglingBlockLink where others link
    to it.
    """
    if snapshot.locate_block(block) is None:
        raise UnknownBlock(f"There is no block {paths.show(block)}. Find it: `scriptorium search`.")
    return _plan(snapshot, None, lambda passage: passage.id == block)


def plan_match(snapshot: Snapshot, text: str) -> Plan:
    """What forgetting everything that holds the text takes; `traces` says what does not count.

    Raises InvalidArgument for a blank text, and DanglingBlockLink as `plan_block`.
    """
    needle = Traces.of([text])
    if not needle.folded:
        raise InvalidArgument("--match needs a text that is not blank.")
    return _plan(snapshot, needle, lambda passage: needle.stand_in(passage.text))


def plan_nothing(snapshot: Snapshot) -> Plan:
    """What takes nothing: for where only copies are left to be erased."""
    return _plan(snapshot, None, lambda _: False)


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

    wanted = Update(
        base_revision=plan.revision,
        edits=lambda _: plan.edits,
        erased=erased,
        git=mode,
        commit_message="Forget",
        removal=True,
    )
    try:
        return update(workspace, wanted, now=now)
    except BrokenContract as error:
        step = "Mend these lines by hand, or forget these blocks too."
        raise BrokenContract.of(error.problems, intro=_INTRO, step=step) from error


def _plan(snapshot: Snapshot, needle: Traces | None, wanted: Callable[[Passage], bool]) -> Plan:
    topics = {p: t for p in snapshot.authored() if p != paths.CORE and (t := snapshot.topic(p))}
    every = list(_blocks(topics))
    blocks = [block for block in every if wanted(block)]
    ids = {block.id for block in blocks}
    lines, core = _core(snapshot, needle)
    _check_links(snapshot, ids, {line.line for line in lines})
    texts, headings, stays = _edited(snapshot, blocks, ids, needle, topics)
    cited = {b.id: set(_cited(snapshot, b.path, topics[b.path], b.id)) for b in every}
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
    words = {SourceId(passage.id) for passage in doomed}
    said = list(_statements(blocks, topics))
    return Plan(
        revision=snapshot.revision,
        blocks=tuple(blocks),
        sources=tuple(doomed),
        lines=(*lines, *headings),
        kept=tuple(kept),
        bared=tuple(b for b in every if b.id not in ids and words & cited[b.id]),
        stays=tuple(stays),
        edits=texts | core,
        erased={path: frozenset(found) for path, found in erased.items()},
        forgotten=(
            Forgotten(needle, needle)
            if needle
            else Forgotten.of(said, [passage.text for passage in doomed])
        ),
        short=() if needle else tuple(text for text in said if text and not is_long(text)),
    )


def _blocks(topics: Mapping[RelPath, Topic]) -> Iterator[Passage]:
    for path, topic in topics.items():
        for block in topic.blocks:
            if block.id is not None:
                yield Passage(path, block.start_line, block.text, block.id)


def _statements(blocks: Iterable[Passage], topics: Mapping[RelPath, Topic]) -> Iterator[str]:
    """What the blocks say, without citations and ids."""
    for passage in blocks:
        for block in topics[passage.path].blocks:
            if block.id == passage.id:
                yield from (claim.text for claim in block.claims)
                yield block.trailing


def _records(snapshot: Snapshot, only: set[str] | None) -> Iterator[tuple[RelPath, SourceRecord]]:
    """The archived messages, or those of these ids, with their files."""
    files = {p for p in snapshot.mirror.files if paths.kind(p) == "source"}
    if only is not None:
        files = {p for s in only if (p := snapshot.source_path(s))}
    for path in sorted(files):
        for record in snapshot.sources_of(path):
            if only is None or record.id in only:
                yield path, record


def _cited(snapshot: Snapshot, path: RelPath, topic: Topic, block: str) -> Iterator[str]:
    """The ids of the sources that a block rests on."""
    for one in topic.blocks:
        if one.id == block:
            for cited in evidence.cited(topic, one):
                yield from (snapshot.source_named(path, ref) for ref in cited.sources)


def _core(
    snapshot: Snapshot, needle: Traces | None
) -> tuple[list[Passage], dict[RelPath, str | None]]:
    """The core's lines that hold the text, and the core without them."""
    if needle is None or paths.CORE not in snapshot.mirror.files:
        return [], {}
    lines = snapshot.read(paths.CORE).split("\n")
    found = [Passage(paths.CORE, n, t) for n, t in enumerate(lines, 1) if needle.stand_in(t)]
    gone = {passage.line for passage in found}
    rest = "\n".join(line for n, line in enumerate(lines, 1) if n not in gone)
    return found, {paths.CORE: rest} if found else {}


def _edited(
    snapshot: Snapshot,
    blocks: list[Passage],
    ids: set[str],
    needle: Traces | None,
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
            stays += [Passage(path, n, text) for n, text in done.lines if needle.stand_in(text)]
            if done.text is not None and needle.stand_in(path):
                stays.append(Passage(path, 0, "the file's own name"))
    return texts, headings, stays


def _check_links(snapshot: Snapshot, ids: set[str], core_lines: set[int]) -> None:
    """No block or line that stays links to one that goes. Raises DanglingBlockLink."""
    found = [
        Problem(path, link.line, "dangling-block-link", f"links to ^{block}", "DANGLING_BLOCK_LINK")
        for block in sorted(ids)
        for path in snapshot.mirror.linkers(block)
        for link in snapshot.mirror.topic(path).links
        if link.target == block
        and link.origin not in ids
        and not (path == paths.CORE and link.line in core_lines)
    ]
    if found:
        raise BrokenContract.of(found, intro=_INTRO, step="Edit or forget these first.")
