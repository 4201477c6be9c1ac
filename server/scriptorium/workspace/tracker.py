"""Turns what is on disk into what is known: the mirror in this process, the catalog for all of
them.

Promises: after `sync` the mirror is what the files say, whoever changed them (a person, another
process, this one), and the catalog knows it too. A catalog that fails is replaced, and everything
is read again. Not safe for threads: the workspace serialises the calls.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scriptorium.format import paths
from scriptorium.format.model import Problem, RelPath, Revision
from scriptorium.workspace import rendering, scan
from scriptorium.workspace.catalog import Catalog, FileRow, ViewRow
from scriptorium.workspace.facts import Stored, encode
from scriptorium.workspace.layout import CATALOG
from scriptorium.workspace.lookout import Findings, Found, Lookout
from scriptorium.workspace.mirror import EMPTY, FileState, Gone, Mirror
from scriptorium.workspace.signatures import UNLISTED
from scriptorium.workspace.view_files import Known

_NO_OVERLAY: Mapping[str, bytes | None] = {}
_CONFIRMED = 100
"""So many files known by a newer signature are worth a write to the catalog of their own."""


@dataclass(frozen=True, slots=True)
class _Renewal:
    """The views were brought up to date with the files as of `sequence`, but for the
    blocked ones.
    """

    sequence: int
    blocked: Collection[str]


class Tracker:
    """The knowledge of one workspace in one process."""

    def __init__(self, root: Path, cache: Path, clock: Callable[[], int] = time.time_ns) -> None:
        self._root = root
        self._clock = clock
        self._place = cache / CATALOG
        self._overlay = _NO_OVERLAY
        self._begin(Catalog.open(self._place))

    @property
    def epoch(self) -> str:
        return self._catalog.epoch

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What the last look at the disk met."""
        return self._lookout.faults

    def sync(self, overlay: Mapping[str, bytes | None] = _NO_OVERLAY) -> None:
        """The mirror is what the files say; where `overlay` has a path, what that says instead."""
        self._overlay = overlay
        self._surviving(lambda: self._sync(overlay))

    def close(self) -> None:
        """The catalog is closed."""
        self._catalog.close()

    def doubt(self, path: RelPath) -> None:
        """The file is read again by the next `sync`, whatever its signature says."""
        self._lookout.doubt(path)

    def doubt_sources(self) -> None:
        """The next `sync` looks at every source file."""
        self._lookout.know_directories(dict.fromkeys(self._lookout.directories(), UNLISTED))

    def after(self, findings: Findings) -> Mirror:
        """The mirror as it will be once the findings are true."""
        return self.mirror.changed(_numbered(self.mirror, findings, self.mirror.sequence + 1))

    def installed(
        self,
        findings: Findings,
        views: Mapping[RelPath, str | None],
        *,
        planned: int,
        blocked: Collection[str] = (),
    ) -> None:
        """An update is in place: files of memory as in `findings`, and views with these digests.

        The caller has had the write lock since before its last `sync`. `planned` is the sequence on
        which it built: every view that was stale then is among `views`, or is `blocked`.
        """
        for path, found in findings.items():
            if found is None:
                self._lookout.forget(path)
            else:
                self._lookout.installed(path)
        self._lookout.installed_sources([p for p in findings if paths.kind(p) == "source"])
        self._surviving(lambda: self._record(findings, views, _Renewal(planned, blocked)))

    def stale(self) -> dict[str, int]:
        """The views that may not show what the files say (`catalog.EVERYTHING`: any of them)."""
        stale: dict[str, int] = {}
        self._surviving(lambda: stale.update(self._catalog.stale()))
        return stale

    # --- the catalog

    def _begin(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lookout = Lookout(self._root, self._clock)
        self._views_seen = -1
        self.mirror: Mirror = EMPTY
        self.history: dict[Revision, int] = {}
        """The sequence at which each revision was seen last."""
        self.views = Known()
        self._surviving(self._load)

    def _surviving(self, work: Callable[[], None]) -> None:
        """`work` is done, if need be with another catalog and everything read anew."""
        try:
            work()
        except (sqlite3.Error, ValueError) as error:
            try:
                self._start_over(Catalog.instead(self._place, error))
            except (sqlite3.Error, ValueError):
                # A file anew is no help on a full disk.
                self._start_over(Catalog.private())

    def _start_over(self, catalog: Catalog) -> None:
        self._catalog.close()
        self._begin(catalog)
        self._sync(self._overlay)

    def _load(self) -> None:
        self._absorb()
        self._directories = self._catalog.directories()
        """As the catalog has them."""
        self._lookout.know_directories(self._directories)

    def _sync(self, overlay: Mapping[str, bytes | None]) -> None:
        if self._catalog.replaced:
            self._catalog.close()
            self._begin(Catalog.open(self._place))
        elif self._catalog.moved():
            self._absorb()
        directories = dict(self._lookout.directories())
        findings = self._lookout.look(self._digest, overlay)
        news = findings or directories != self._lookout.directories()
        if news or len(self._lookout.confirmed) > _CONFIRMED:
            self._record(findings, {}, None)

    def _digest(self, path: RelPath) -> str | None:
        entry = self.mirror.files.get(path)
        return entry.digest if entry else None

    def _absorb(self) -> None:
        """What other processes found is known."""
        changes: dict[RelPath, FileState | Gone] = {}
        since = self.mirror.sequence
        for row in self._catalog.files(since):
            if row.digest is None:
                self._lookout.forget(row.path)
                changes[row.path] = Gone(row.sequence)
            else:
                self._lookout.know(row.path, row.signature)
                facts = Stored(row.facts, paths.kind(row.path) == "source", row.sound)
                changes[row.path] = FileState(row.digest, row.size, facts, row.sequence)
        self.history.update(self._catalog.revisions(since))
        for view in self._catalog.views(self._views_seen):
            self.views.know(view.path, view.digest, view.signature)
            self._views_seen = max(self._views_seen, view.sequence)
        self.mirror = self.mirror.changed(changes)

    def _record(
        self,
        findings: Findings,
        views: Mapping[RelPath, str | None],
        renewal: _Renewal | None,
    ) -> None:
        """Mirror and catalog know the findings; with a renewal, the views show the files as of
        then.
        """
        with self._catalog.transaction():
            self._absorb()
            number = self._catalog.sequence() + 1
            changes = _numbered(self.mirror, findings, number)
            before, self.mirror = self.mirror, self.mirror.changed(changes)
            if renewal is not None:
                stale = self._catalog.stale().keys() - set(renewal.blocked)
                self._catalog.drop_stale(stale, renewal.sequence)
                self._catalog.put_stale(renewal.blocked, number)
                self._put_views(views, number)
            elif changes:
                self._catalog.put_stale(rendering.touched(before, self.mirror, [*changes]), number)
            self._put(changes)
            if changes or views:
                self._catalog.put_revision(self.mirror.revision, number)
                self.history[self.mirror.revision] = number

    def _put(self, changes: Mapping[RelPath, FileState | Gone]) -> None:
        self._catalog.put_files(self._rows(changes))
        self._catalog.put_signatures(self._lookout.confirmed)
        directories = self._lookout.directories()
        if directories != self._directories:
            self._catalog.put_directories(directories)
            self._directories = dict(directories)
        self._lookout.confirmed.clear()

    def _rows(self, changes: Mapping[RelPath, FileState | Gone]) -> Iterable[FileRow]:
        for path, change in changes.items():
            signature = self._lookout.signature(path)
            if isinstance(change, Gone):
                yield FileRow(path, change.sequence, None, 0, signature, sound=True, facts=b"")
            else:
                yield FileRow(
                    path,
                    change.sequence,
                    change.digest,
                    change.size,
                    signature,
                    change.sound,
                    encode(change.facts),
                )

    def _put_views(self, views: Mapping[RelPath, str | None], number: int) -> None:
        rows = []
        for path, digest in views.items():
            signature = scan.installed(self._root, path, self._clock())
            self.views.know(path, digest, signature)
            rows.append(ViewRow(path, number, digest, signature))
        self._views_seen = number
        self._catalog.put_views(rows)


def _numbered(mirror: Mirror, findings: Findings, number: int) -> dict[RelPath, FileState | Gone]:
    """The findings that are news to the mirror, as changes of that number."""
    changes: dict[RelPath, FileState | Gone] = {}
    for path, found in findings.items():
        known = mirror.files.get(path)
        if found is None and known is not None:
            changes[path] = Gone(number)
        elif isinstance(found, Found) and (known is None or known.digest != found.digest):
            changes[path] = FileState(found.digest, found.size, found.facts, number)
    return changes
