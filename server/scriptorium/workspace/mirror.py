"""A workspace's authored state as one immutable value: which files there are and what they say.

Promises: `changed` gives the next state at the price of the files that change, and the same files
give an equal state by whatever road it was reached. What a file says is decoded when it is first
asked for, and the indexes over all files are built when one of them is; so reading a single file of
a large workspace does not wait for the rest. Must not read files or the clock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

from scriptorium.format import sources
from scriptorium.format.ids import is_source_id
from scriptorium.format.model import RelPath, Revision, SourceId
from scriptorium.format.views import RECENT
from scriptorium.workspace import indexes
from scriptorium.workspace.facts import (
    BlockFacts,
    Facts,
    LinkFacts,
    SourceFacts,
    Stored,
    TopicFacts,
    decode,
)
from scriptorium.workspace.indexes import Indexes, Places
from scriptorium.workspace.persistent import Persistent

_BUCKETS = 256
_SMALL = 200
"""Blocks of a topic that are sooner gone through than sorted by their times."""


class FileState:
    """One file as it was last read."""

    __slots__ = ("_by_time", "_facts", "_latest", "digest", "sequence", "size")

    def __init__(self, digest: str, size: int, facts: Facts | Stored, sequence: int) -> None:
        self.digest = digest
        self.size = size
        self.sequence = sequence
        """The number of the change that brought this content; higher is later."""
        self._facts = facts
        self._latest: tuple[str, ...] | None = None
        self._by_time: dict[str, list[BlockFacts]] | None = None

    @property
    def facts(self) -> Facts:
        facts = self._facts
        if isinstance(facts, Stored):
            self._facts = facts = decode(facts)
        return facts

    @property
    def latest(self) -> tuple[str, ...]:
        """The last time of each block; empty where it has none."""
        if self._latest is None:
            facts = self.facts
            blocks = facts.blocks if isinstance(facts, TopicFacts) else ()
            self._latest = tuple(block.latest for block in blocks)
        return self._latest

    def blocks_at(self, time: str) -> Sequence[BlockFacts]:
        """Every block that says something held at `time`, in order; of a small topic, all of
        them.
        """
        facts = self.facts
        blocks = facts.blocks if isinstance(facts, TopicFacts) else ()
        if len(blocks) <= _SMALL:
            return blocks
        if self._by_time is None:
            self._by_time = {}
            for block in blocks:
                for at in block.times:
                    self._by_time.setdefault(at, []).append(block)
        return self._by_time.get(time, ())

    @property
    def sound(self) -> bool:
        """Whether there is nothing wrong with the file's bytes."""
        facts = self._facts
        return facts.sound


@dataclass(frozen=True, slots=True)
class Gone:
    """A file that is no longer there."""

    sequence: int
    """The number of the change that removed it."""


type Changes = Mapping[RelPath, FileState | Gone]


@dataclass(frozen=True, slots=True)
class _Digests:
    """Content digests by path, split by a hash of the path so that a revision costs what
    changes.
    """

    buckets: tuple[Mapping[RelPath, str], ...]
    digests: tuple[bytes, ...]

    def changed(self, changes: Changes) -> _Digests:
        buckets, digests = list(self.buckets), list(self.digests)
        touched: dict[int, dict[RelPath, str]] = {}
        for path, change in changes.items():
            number = crc32(path.encode("utf-8")) % _BUCKETS
            bucket = touched.setdefault(number, dict(buckets[number]))
            bucket.pop(path, None)
            if isinstance(change, FileState):
                bucket[path] = change.digest
        for number, bucket in touched.items():
            text = "".join(f"{path}\0{bucket[path]}\n" for path in sorted(bucket))
            buckets[number] = bucket
            digests[number] = sha256(text.encode("utf-8")).digest() if bucket else b""
        return _Digests(tuple(buckets), tuple(digests))


class Mirror:
    """The state of a workspace; every other one is made from EMPTY by `changed`. Never changes."""

    __slots__ = ("_digests", "_indexes", "files", "removed", "revision", "sequence")

    def __init__(
        self,
        files: Persistent[RelPath, FileState],
        removed: Persistent[RelPath, Gone],
        digests: _Digests,
        sequence: int,
        built: Indexes | None = None,
    ) -> None:
        self.files = files
        """core.md, topics and source files."""
        self.removed = removed
        self.sequence = sequence
        """The highest number of a change in it."""
        self.revision = Revision(sha256(b"".join(digests.digests)).hexdigest()[:32])
        """The identity of the state: 32 hex digits over every (path, content digest)."""
        self._digests = digests
        self._indexes = built

    def changed(self, changes: Changes) -> Mirror:
        """The state after `changes`."""
        if not changes:
            return self
        files = {p: c if isinstance(c, FileState) else None for p, c in changes.items()}
        after = Mirror(
            self.files.changed(files),
            self.removed.changed(_removals(self, changes)),
            self._digests.changed(changes),
            max(self.sequence, *(change.sequence for change in changes.values())),
        )
        if self._indexes is not None:
            after._indexes = self._indexes.changed(self.facts, after.facts, changes)
        return after

    @property
    def indexes(self) -> Indexes:
        """The indexes over all files. Built once; two threads may both do it, to the same
        effect.
        """
        if self._indexes is None:
            self._indexes = indexes.built(self.facts, self.files)
        return self._indexes

    def facts(self, path: RelPath) -> Facts | None:
        entry = self.files.get(path)
        return None if entry is None else entry.facts

    def topic(self, path: RelPath) -> TopicFacts:
        """The facts of a topic or the core; empty ones when there is no such file."""
        facts = self.facts(path)
        return facts if isinstance(facts, TopicFacts) else TopicFacts()

    def block_places(self, block: str) -> Places:
        """The topics that hold the block, in order."""
        return self.indexes.blocks.get(block, ())

    def linkers(self, block: str) -> Places:
        """The files that link to the block, in order."""
        return self.indexes.linkers.get(block, ())

    def source_path(self, source: str) -> RelPath | None:
        """The file that holds the source."""
        usual = sources.thread_path(SourceId(source)) if is_source_id(source) else None
        facts = None if usual is None else self.facts(usual)
        if isinstance(facts, SourceFacts) and SourceId(source) in facts.records:
            return usual
        return self.indexes.sources.get(source, (None,))[0]

    def records(self, path: RelPath) -> Collection[SourceId]:
        """The ids of the sources in a source file, in its order."""
        facts = self.facts(path)
        return facts.records if isinstance(facts, SourceFacts) else ()

    def last_observed(self, block: BlockFacts) -> str | None:
        """The latest observation among the block's sources, as it is written there."""
        return indexes.last_observed(self.indexes, self.facts, block)

    def holds(self, link: LinkFacts) -> bool:
        """Whether the link's block exists where the link says."""
        return link.path in self.block_places(link.target)

    def recent(self) -> list[tuple[RelPath, BlockFacts]]:
        """The newest blocks of the workspace, oldest first, at most RECENT."""
        # A block among the newest lies in a file whose own newest is among the newest of all files;
        # and where there are enough files, it is as new as the last of these.
        leading = self.indexes.ranking[-RECENT:]
        oldest = leading[0][0] if len(leading) == RECENT else ""
        order = sorted(
            indexes.newness(self.indexes, self.facts, path, n, self.topic(path).blocks[n])
            for *_, path, _ in leading
            for n, latest in enumerate(self.files[path].latest)
            if latest >= oldest
        )
        return [(path, self.topic(path).blocks[n]) for *_, path, n in order[-RECENT:]]


EMPTY = Mirror(Persistent({}), Persistent({}), _Digests(({},) * _BUCKETS, (b"",) * _BUCKETS), 0)


def _removals(mirror: Mirror, changes: Changes) -> dict[RelPath, Gone | None]:
    return {
        path: change if isinstance(change, Gone) else None
        for path, change in changes.items()
        if isinstance(change, Gone) or path in mirror.removed
    }
