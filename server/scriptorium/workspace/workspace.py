"""A workspace of memory: opened once, then read through snapshots and changed by `transaction`.

    workspace = Workspace.open(root)
    snapshot = workspace.snapshot()          what there is at this moment; takes no lock
    workspace.reading(work)                  `work(snapshot)`, done over when files change under it

Promises: a snapshot is never of half an update. It compares the journal's generation before and
after it looks, and looks again when that moved; where a writer died it finishes the update in its
place. A root that is gone is neither read as empty nor made anew: a disk may be unmounted. Many
threads may use one workspace; processes share nothing but the files.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from scriptorium.errors import ConcurrentUpdate, InternalError
from scriptorium.format.model import Problem, RelPath, Topic
from scriptorium.workspace import journal
from scriptorium.workspace.layout import Layout, create
from scriptorium.workspace.snapshot import Snapshot, SnapshotMoved
from scriptorium.workspace.storage import advice
from scriptorium.workspace.tracker import Tracker

_PATIENCE = 10.0
"""Seconds that a reader waits for a writer to finish installing; that takes milliseconds."""
_PAUSE = 0.001
_READINGS = 5
_GONE = "its folder is gone. Put it back, or start a new session for a new one."
_PARSES = 128
"""Topics whose parse is kept, so that reading around one subject does not parse it again."""


class WorkspaceUnreadable(InternalError, OSError):
    """The workspace as a whole cannot be read: it is gone, or its disk fails.

    An OSError too, for those who go on with the other layers.
    """

    def __init__(self, error: OSError) -> None:
        match error:
            case FileNotFoundError():
                reason = _GONE
            case journal.JournalUnreadable():
                reason = str(error.strerror)
            case _:
                reason = advice(error)
        super().__init__(f"The workspace cannot be read: {reason}")
        self.errno = error.errno
        self.strerror = reason


class Workspace:
    """One directory of memory, as this process knows it."""

    def __init__(self, layout: Layout, clock: Callable[[], int] = time.time_ns) -> None:
        self.layout = layout
        self.tracker = Tracker(layout.root, layout.cache, clock)
        self._mutex = threading.RLock()
        self._within = threading.local()
        """What this thread is reading."""
        self._parsed: OrderedDict[str, Topic] = OrderedDict()
        self._parsing = threading.Lock()

    @property
    def root(self) -> Path:
        return self.layout.root

    @staticmethod
    def open(root: Path, *, create: bool = True, ignore: bool = True) -> Workspace:
        """The workspace at `root`, with what a kill or a power cut took of an update put back; with
        `create` it is made where it is missing.

        `ignore` gives a new workspace a `.gitignore` of `*`. Raises OSError when it can be neither
        read nor made, FileNotFoundError when it is missing and not to be made.
        """
        layout = Layout.of(root)
        if create and not _complete(layout):
            layout = _made(layout, ignore=ignore)
        if not layout.root.is_dir():
            raise FileNotFoundError(2, "there is no workspace", str(root))
        _mend(layout)
        return Workspace(layout)

    def close(self) -> None:
        """Nothing of the workspace is held open; it must not be used afterwards."""
        with self._mutex:
            self.tracker.close()

    def snapshot(self) -> Snapshot:
        """The workspace as it is now, every file as it is on disk. Waits for no lock."""
        return self._snapshot(strict=False)

    def reading[T](self, work: Callable[[Snapshot], T]) -> T:
        """What `work` makes of a snapshot, all of whose content is of one moment.

        When a file changes while `work` reads, it is called again with a new snapshot; after five
        times, with one that gives what is there. A reading within a reading has the snapshot of the
        outer one, which is the one to start over.
        """
        outer: Snapshot | None = getattr(self._within, "snapshot", None)
        if outer is not None:
            return work(outer)
        for _ in range(_READINGS):
            try:
                return self._read(work, self._snapshot(strict=True))
            except SnapshotMoved as moved:
                if moved.path is not None:
                    with self._mutex:
                        self.tracker.doubt(RelPath(moved.path))
        return self._read(work, self.snapshot())

    @contextmanager
    def writing(self) -> Iterator[Snapshot]:
        """The body is the only writer, and builds on the snapshot.

        Raises WorkspaceUnreadable, and as `journal.locked`.
        """
        self._stand()
        with journal.locked(self.layout):
            journal.recover(self.layout)
            yield self._locked_snapshot()

    @contextmanager
    def tracking(self) -> Iterator[Tracker]:
        """The tracker, for this thread alone."""
        with self._mutex:
            yield self.tracker

    def _read[T](self, work: Callable[[Snapshot], T], snapshot: Snapshot) -> T:
        self._within.snapshot = snapshot
        try:
            return work(snapshot)
        finally:
            self._within.snapshot = None

    def _stand(self) -> None:
        """The root is there: taking the lock would make one without what `create` puts into it."""
        try:
            self.root.stat()
        except OSError as error:
            raise WorkspaceUnreadable(error) from error

    def _locked_snapshot(self) -> Snapshot:
        with self._mutex:
            try:
                self.tracker.sync()
            except OSError as error:
                raise WorkspaceUnreadable(error) from error
            return self._taken(strict=False)

    def _snapshot(self, *, strict: bool) -> Snapshot:
        deadline = time.monotonic() + _PATIENCE
        try:
            return self._calm_snapshot(deadline, strict=strict)
        except OSError as error:
            raise WorkspaceUnreadable(error) from error

    def _calm_snapshot(self, deadline: float, *, strict: bool) -> Snapshot:
        while True:
            overlay = self._settled(deadline)
            with self._mutex:
                before = journal.generation(self.layout)
                self.tracker.sync(overlay or {})
                calm = journal.generation(self.layout) == before
                seen = journal.pending(self.layout) is (overlay is not None)
                if (calm and seen) or time.monotonic() > deadline:
                    return self._taken(strict=strict, overlay=overlay)

    def _settled(self, deadline: float) -> Mapping[str, bytes | None] | None:
        """No update is being installed; of one that cannot be, the content to read instead.

        Raises JournalUnreadable.
        """
        while journal.pending(self.layout) and time.monotonic() < deadline:
            try:
                # A writer that is at work holds the lock; one that died does not.
                with journal.locked(self.layout, timeout=0):
                    journal.recover(self.layout)
            except ConcurrentUpdate:
                time.sleep(_PAUSE)
            except InternalError:
                return journal.pending_contents(self.layout)
        return None

    def _taken(
        self, *, strict: bool, overlay: Mapping[str, bytes | None] | None = None
    ) -> Snapshot:
        tracker = self.tracker
        return Snapshot(
            layout=self.layout,
            mirror=tracker.mirror,
            revision=tracker.mirror.revision,
            epoch=tracker.epoch,
            history=tracker.history,
            faults=(*tracker.faults, *(_unfinished() if overlay else ())),
            overlay=overlay or {},
            strict=strict,
            parses=self._parse,
        )

    def _parse(self, digest: str, parse: Callable[[], Topic]) -> Topic:
        with self._parsing:
            known = self._parsed.get(digest)
            if known is not None:
                self._parsed.move_to_end(digest)
                return known
        topic = parse()
        with self._parsing:
            self._parsed[digest] = topic
            while len(self._parsed) > _PARSES:
                self._parsed.popitem(last=False)
        return topic


def _mend(layout: Layout) -> None:
    """What an update wrote is in place again, if a power cut took it and the disk allows."""
    # Whoever holds the lock does it himself; and a disk that is read-only is read as it is.
    with suppress(ConcurrentUpdate, InternalError):
        if journal.interrupted(layout):
            with journal.locked(layout, timeout=0):
                journal.recover(layout)


def _complete(layout: Layout) -> bool:
    return all((layout.root / name).exists() for name in (layout.runtime, "topics", "core.md"))


def _made(layout: Layout, *, ignore: bool) -> Layout:
    try:
        return create(layout.root, ignore=ignore)
    except OSError:
        # What is there can be read all the same, for instance on a read-only disk.
        if (layout.root / "topics").is_dir():
            return layout
        raise


def _unfinished() -> tuple[Problem, ...]:
    return (
        Problem(
            "core.md",
            1,
            "unfinished-update",
            "an update that was cut short cannot be put in place on this disk; what it says is read"
            " from its journal. Make the workspace writable.",
        ),
    )
