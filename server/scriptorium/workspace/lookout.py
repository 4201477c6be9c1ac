"""Finds which files are not as they were last read, and reads those.

What is looked at each time, and why: every directory, whose mtime tells of files made, replaced and
removed, and which is listed only when that has moved; and every topic and the core, because people
edit them in place and only a file's own stat tells of that. Sources are written by the runtime
alone, and by rename: one that is edited in place is noticed when it is read, by `validate`, and in
the next process. A directory that holds something to be told of is listed each time.

What cannot be read is never taken for deleted: it is no finding, but a fault, and is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scriptorium.errors import ScriptoriumError
from scriptorium.format import paths
from scriptorium.format.model import Problem, RelPath, Rule
from scriptorium.workspace import scan
from scriptorium.workspace.digests import digest, digest_of
from scriptorium.workspace.facts import Facts, extract
from scriptorium.workspace.scan import Scan
from scriptorium.workspace.signatures import (
    UNLISTED,
    UNSETTLED,
    Signature,
    Signatures,
    settled,
    signature,
)

_CONFLICT_COPY = (
    "this is what a person had written while an update was put in place over it. Take over what the"
    " file without the ending should say, then delete this copy."
)


@dataclass(frozen=True, slots=True)
class Found:
    """A file's content as it was just read or installed."""

    digest: str
    size: int
    facts: Facts


type Findings = Mapping[RelPath, Found | None]
"""What differs from the known; None: the file is gone."""


def found(path: RelPath, content: bytes) -> Found:
    """`content` as the finding that it is at `path`."""
    return Found(digest(content), len(content), extract(path, content))


class Lookout:
    """The signatures of one workspace's files in one process, and what was wrong with the disk."""

    def __init__(self, root: Path, clock: Callable[[], int]) -> None:
        self.faults: tuple[Problem, ...] = ()
        self.confirmed: dict[RelPath, Signature] = {}
        """Signatures of files that were read again and found unchanged."""
        self._root = root
        self._clock = clock
        self._authored = Signatures()
        self._sources = Signatures()
        self._topics: dict[str, Signature] = {}
        """The directories of topics as they were listed last."""
        self._directories: dict[str, Signature] = {}
        """Those of sources."""
        self._doubtful: set[RelPath] = set()
        self._met: list[Problem] = []

    def look(
        self, known: Callable[[RelPath], str | None], overlay: Mapping[str, bytes | None]
    ) -> dict[RelPath, Found | None]:
        """What is not as `known` (path to digest) says; an `overlay` speaks in the disk's place.

        Raises OSError when the workspace itself is gone.
        """
        self._root.stat()  # a workspace that is gone is not an empty one
        self._met = []
        now = self._clock()
        authored = scan.scan(self._root, "topics", self._authored, self._topics, in_place=True)
        gone = self._look_at_core(authored)
        authored.seen += len(gone)
        authored.conflicts += filter(scan.is_conflict, scan.names(self._root, "."))
        sources = scan.scan(self._root, "sources", self._sources, self._directories)
        suspects = {**authored.changed, **sources.changed, **dict.fromkeys(self._doubtful)}
        gone += scan.gone(self._root, "topics", self._authored, authored)
        gone += scan.gone(self._root, "sources", self._sources, sources)
        findings: dict[RelPath, Found | None] = {}
        for path in suspects:
            self._read(path, now, known(path), findings)
        unknown = [path for path in suspects if path not in self._signatures(path)]
        self._topics = _listed(authored, unknown, now)
        self._directories = _listed(sources, unknown, now)
        for path in gone:
            self.forget(path)
            findings[path] = None
        self._lay(overlay, known, findings)
        self._report(authored, sources)
        return findings

    def know(self, path: RelPath, signature: Signature) -> None:
        """The file is known by `signature` to be as it was read."""
        self._signatures(path)[path] = signature
        if paths.kind(path) == "source" and signature == UNSETTLED:
            self._doubtful.add(path)
        else:
            self._doubtful.discard(path)

    def doubt(self, path: RelPath) -> None:
        """The file is read again the next time, whatever its signature says."""
        if path in self._signatures(path):
            self.know(path, UNSETTLED)

    def forget(self, path: RelPath) -> None:
        """There is no such file."""
        self._signatures(path).pop(path, None)
        self._doubtful.discard(path)
        directory = path.rpartition("/")[0]
        if directory in self._topics:
            # Another process may have said so. Whether there is one again, only a listing tells.
            self._topics[directory] = UNLISTED

    def directories(self) -> Mapping[str, Signature]:
        return self._directories

    def know_directories(self, directories: Mapping[str, Signature]) -> None:
        """The source files of these directories are all known."""
        self._directories.update(directories)

    def signature(self, path: RelPath) -> Signature:
        """The signature by which the file is known; UNSETTLED when there is none."""
        return self._signatures(path).get(path, UNSETTLED)

    def installed(self, path: RelPath) -> None:
        """The file that was just put in place is known."""
        self.know(path, scan.installed(self._root, path, self._clock()))

    def installed_sources(self, files: list[RelPath]) -> None:
        """The directories of these source files hold nothing new beside them.

        The caller has the write lock and has looked since it took it, so that only a foreign
        program could have made a file there in between.
        """
        for path in files:
            directory = path.rpartition("/")[0]
            while directory:
                if self._directories.get(directory, UNLISTED) == UNLISTED:
                    self._directories[directory] = UNLISTED
                else:
                    self._directories[directory] = self._directory(directory)
                directory = directory.rpartition("/")[0]

    def _directory(self, directory: str) -> Signature:
        try:
            return signature((self._root / directory).lstat())
        except OSError:
            return UNLISTED

    def _look_at_core(self, authored: Scan) -> list[RelPath]:
        """Adds the core to what was found; the core itself when it is gone."""
        known = self._authored.get(paths.CORE)
        try:
            core = scan.look(self._root, paths.CORE)
        except OSError as error:
            authored.odd.append((paths.CORE, str(error)))
            core = known
        if core is None:
            return [] if known is None else [paths.CORE]
        if core != known:
            authored.changed[paths.CORE] = core
        authored.seen += known is not None
        return []

    def _read(
        self, path: RelPath, now: int, known: str | None, findings: dict[RelPath, Found | None]
    ) -> None:
        try:
            paths.existing_path(path)
            content = scan.read(self._root, path, now)
        except ScriptoriumError as error:
            self._meet(path, "unusable-name", error.message)
        except OSError as error:
            self._meet(path, "unreadable", f"cannot be read: {error.strerror or error}")
            self._unread(path, known)
        else:
            self._judge(path, content, known, findings)

    def _judge(
        self,
        path: RelPath,
        content: tuple[bytes, Signature] | None,
        known: str | None,
        findings: dict[RelPath, Found | None],
    ) -> None:
        if content is None:
            self.forget(path)
            if known is not None:
                findings[path] = None
            return
        text, signature = content
        self.know(path, signature)
        if digest(text) == known:
            self.confirmed[path] = signature
        else:
            findings[path] = found(path, text)

    def _unread(self, path: RelPath, known: str | None) -> None:
        if known is not None:
            self.know(path, UNSETTLED)
        elif paths.kind(path) == "source":
            self._doubtful.add(path)

    def _lay(
        self,
        overlay: Mapping[str, bytes | None],
        known: Callable[[RelPath], str | None],
        findings: dict[RelPath, Found | None],
    ) -> None:
        for name, content in overlay.items():
            path = RelPath(name)
            if not paths.is_memory(path):
                continue
            findings.pop(path, None)
            self.know(path, UNSETTLED)
            if digest_of(content) != known(path):
                findings[path] = None if content is None else found(path, content)

    def _signatures(self, path: RelPath) -> Signatures:
        return self._sources if path.startswith("sources/") else self._authored

    def _meet(self, path: str, rule: Rule, message: str) -> None:
        self._met.append(Problem(paths.show(path), 1, rule, message))

    def _report(self, *scans: Scan) -> None:
        for looked in scans:
            for path, what in looked.odd:
                wanted = "file" if path.endswith(".md") else "directory"
                self._meet(path, "not-a-file", f"{what} is not read: put a {wanted} there.")
            for path in looked.conflicts:
                self._meet(path, "conflict-copy", _CONFLICT_COPY)
            for path, reason in looked.unreadable:
                self._meet(path, "unreadable", f"the directory cannot be read: {reason}")
        self.faults = tuple(sorted(self._met, key=lambda p: (p.path, p.line)))


def _listed(found: Scan, unknown: list[RelPath], now: int) -> dict[str, Signature]:
    """The directories that were looked into, each with the signature by which it need not be
    listed again; UNLISTED where something in it is to be told of each time.
    """
    told = [*(path for path, _ in found.odd), *found.conflicts, *unknown]
    troubled = {path.rpartition("/")[0] for path in told}
    return {
        directory: UNLISTED
        if directory in troubled
        else seen
        if directory in found.kept
        else settled(seen, now)
        for directory, seen in found.directories.items()
    }
