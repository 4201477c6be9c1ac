"""A workspace as it was at one moment, to be read at leisure: what is where, and what it says.

Promises: everything that is known of files (which there are, their blocks, links, sources, the
revision) is of one moment, and never of half an update. Content is read from disk when it is asked
for. A snapshot made by `Workspace.reading` refuses content of a later moment with SnapshotMoved,
and `reading` starts over; one made by `Workspace.snapshot` gives what is there. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from scriptorium.errors import (
    ConcurrentUpdate,
    InvalidArgument,
    InvalidTopicFormat,
    PathOutsideWorkspace,
    ScriptoriumError,
)
from scriptorium.format import ids, markdown, paths, sources
from scriptorium.format.model import (
    Problem,
    RelPath,
    Revision,
    SourceId,
    SourceRecord,
    SourceRef,
    Topic,
)
from scriptorium.format.tokens import estimate_tokens
from scriptorium.workspace import listing, scan
from scriptorium.workspace.digests import digest_of
from scriptorium.workspace.facts import SourceFacts, TopicFacts
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.listing import FileInfo
from scriptorium.workspace.mirror import Mirror


class SnapshotMoved(ConcurrentUpdate):
    """The file on disk is no longer the one of this snapshot; a new snapshot is needed."""


@dataclass(frozen=True, slots=True)
class Counts:
    topic_files: int
    blocks: int
    source_files: int
    sources: int
    timeline_files: int
    relations: int
    core_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed in authored files and sources since a number; `sequence` is the next number."""

    sequence: int
    changed: tuple[RelPath, ...]
    removed: tuple[RelPath, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Made by `Workspace.snapshot` or `Workspace.reading` only."""

    layout: Layout
    mirror: Mirror
    revision: Revision
    epoch: str
    """The catalog's life: sequence numbers of another epoch mean nothing here."""
    history: Mapping[Revision, int]
    """The sequence that belongs to each revision of late."""
    faults: tuple[Problem, ...]
    """What the walk over the disk met: unreadable files and directories, symlinks, odd names."""
    overlay: Mapping[str, bytes | None] = field(default_factory=dict)
    """Content of an update that is committed and that nobody can install (a read-only disk)."""
    strict: bool = False
    parses: Callable[[str, Callable[[], Topic]], Topic] = lambda _, parse: parse()
    """Gives the parse of a content by its digest, made before or made now."""

    @property
    def sequence(self) -> int:
        return self.mirror.sequence

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Files that cannot be read as they should: unreadable, not UTF-8, damaged, twins
        on disk.
        """
        return (*self.faults, *listing.file_problems(self.mirror))

    # --- what there is

    def counts(self) -> Counts:
        topics = [e.facts for p, e in self.mirror.files.items() if paths.kind(p) == "topic"]
        source_facts = [e.facts for p, e in self.mirror.files.items() if paths.kind(p) == "source"]
        return Counts(
            topic_files=len(topics),
            blocks=sum(len(f.blocks) for f in topics if isinstance(f, TopicFacts)),
            source_files=len(source_facts),
            sources=sum(len(f.records) for f in source_facts if isinstance(f, SourceFacts)),
            timeline_files=sum(1 for _ in listing.walk(str(self.layout.root), "timeline")),
            relations=len(
                {
                    (link.origin, link.target)
                    for f in topics
                    if isinstance(f, TopicFacts)
                    for link in f.links
                    if link.origin and self.mirror.holds(link)
                }
            ),
            core_tokens=self._core_tokens(),
        )

    def files(self, *, derived: bool = True) -> list[FileInfo]:
        """Every file of memory, sorted by path; `derived` includes the views."""
        found = [
            FileInfo(path, paths.kind(path), entry.size, self.mirror.topic(path).headings)
            for path, entry in self.mirror.files.items()
        ]
        if derived:
            found += listing.views(self.layout.root)
        return sorted(found, key=lambda info: info.path)

    def authored(self) -> list[RelPath]:
        """core.md and the topics, sorted."""
        return sorted(p for p in self.mirror.files if paths.kind(p) != "source")

    def exists(self, path: RelPath) -> bool:
        """Whether there is such a file of memory or view."""
        return path in self.mirror.files if paths.is_memory(path) else self._on_disk(path)

    # --- what it says

    def read_bytes(self, path: RelPath) -> bytes:
        """The file's bytes.

        Raises InvalidArgument when there is no such file or it cannot be read, PathOutsideWorkspace
        when a symlink is on the way, SnapshotMoved in a strict snapshot when the file has changed.
        """
        content = self.bytes_now(path)
        known = self.mirror.files.get(path)
        found = digest_of(content)
        if self.strict and found != (known.digest if known else None) and paths.is_memory(path):
            raise SnapshotMoved(f"{path} changed while it was read. Read it again.", path=path)
        if content is None:
            raise InvalidArgument(
                f"There is no file {paths.show(path)}. List the files to find the right path.",
                path=path,
            )
        return content

    def bytes_now(self, path: RelPath) -> bytes | None:
        """The file's bytes, of this moment or a later one; None when there is no such file.

        Raises InvalidArgument when it cannot be read, PathOutsideWorkspace as `Layout.path`.
        """
        if path in self.overlay:
            return self.overlay[path]
        try:
            self.layout.path(path)
            found = scan.read(self.layout.root, path, 0)
        except OSError as error:
            raise InvalidArgument(
                f"{paths.show(path)} cannot be read: {error.strerror or error}.", path=path
            ) from error
        return None if found is None else found[0]

    def read(self, path: RelPath) -> str:
        """The file's text, with its line ends and BOM. Raises as `read_bytes`, and for other than
        UTF-8.
        """
        content = self.read_bytes(path)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidTopicFormat(
                f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8 in an editor.",
                path=path,
            ) from error

    def text(self, path: RelPath) -> str | None:
        """The file's text; None for one that cannot be read. Raises SnapshotMoved."""
        try:
            return self.read(path)
        except SnapshotMoved:
            raise
        except ScriptoriumError:
            return None

    def topic(self, path: RelPath) -> Topic | None:
        """The parse of a topic or the core; None when there is no such file or it cannot
        be read.
        """
        entry = self.mirror.files.get(path)
        if entry is None or paths.kind(path) not in ("core", "topic"):
            return None
        try:
            return self.parses(entry.digest, lambda: markdown.parse_topic(self.read(path)))
        except (InvalidArgument, InvalidTopicFormat):
            return None

    def locate_block(self, block: str) -> RelPath | None:
        """The topic that holds the block; the first by name where a person made two."""
        return next(iter(self.mirror.block_places(block)), None)

    def backlinks(self, block: str) -> list[tuple[RelPath, int]]:
        """(path, line) of every link to the block, in order."""
        return [
            (path, link.line)
            for path in self.mirror.linkers(block)
            for link in self.mirror.topic(path).links
            if link.target == block and self.mirror.holds(link)
        ]

    # --- what it rests on

    def source_path(self, source: str) -> RelPath | None:
        """The file that holds the source."""
        return self.mirror.source_path(source)

    def source(self, source: str) -> SourceRecord | None:
        """The verbatim message, or None when there is none or its file cannot be read."""
        path = self.source_path(source)
        records = self.sources_of(path) if path else []
        return next((r for r in records if r.id == source), None)

    def sources_of(self, path: RelPath) -> list[SourceRecord]:
        """The records of a source file, in order; none when it is missing or cannot be read."""
        if path not in self.mirror.files or paths.kind(path) != "source":
            return []
        try:
            return sources.parse(self.read(path))[0]
        except (InvalidArgument, InvalidTopicFormat):
            return []

    def anchor_source(self, path: RelPath, anchor: str) -> SourceId | None:
        """The source whose record has the heading `anchor` in the file."""
        return next((s for s in self.mirror.records(path) if ids.anchor(s) == anchor), None)

    def source_named(self, path: RelPath, ref: SourceRef) -> str:
        """The id of the source that the file's reference names, also where its text is no full id;
        the text where there is none.
        """
        if ref.target is None or self.source_path(ref.id) is not None:
            return ref.id
        target, _, anchor = ref.target.partition("#")
        place = paths.resolve(path, target)
        return (self.anchor_source(place, anchor) if place else None) or ref.id

    # --- what changed

    def changes_since(self, sequence: int) -> Delta:
        """What changed since that sequence of this epoch; since 0: everything there is."""
        if sequence >= self.mirror.sequence:
            return Delta(self.mirror.sequence, (), ())
        files, removed = self.mirror.files.items(), self.mirror.removed.items()
        return Delta(
            self.mirror.sequence,
            tuple(sorted(p for p, e in files if e.sequence > sequence)),
            tuple(sorted(p for p, gone in removed if gone.sequence > sequence)),
        )

    def changed_since(self, revision: Revision) -> list[str] | None:
        """The files that changed since the revision, authored ones first; None when it is not
        known.
        """
        sequence = self.history.get(revision)
        if sequence is None:
            return None
        delta = self.changes_since(sequence)
        changed = {*delta.changed, *delta.removed}
        return [*sorted(changed, key=lambda path: (paths.kind(path) == "source", path))]

    def _on_disk(self, path: RelPath) -> bool:
        try:
            self.layout.path(path)
            return scan.look(self.layout.root, path) is not None
        except (OSError, PathOutsideWorkspace):
            return False

    def _core_tokens(self) -> int:
        try:
            return estimate_tokens(self.read(paths.CORE))
        except (InvalidArgument, InvalidTopicFormat):
            return 0
