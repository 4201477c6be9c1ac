"""The only module that writes memory: all of an update or none of it, whatever is killed when.

Promises, with the calling sequence of a writer:

    with locked(layout):        one writer at a time
        recover(layout)         finishes what a killed writer left
        ...                     reads, decides
        commit(layout, changes) afterwards the update is durable and in place

A commit writes the journal (the new content of every file, and digests) to a temporary, syncs it,
and renames it to `journal`: **the commit point**. Before it, nothing has changed. Then the
directory is synced, the files are put in place, and the journal is marked as installed. Whoever
comes next after a killed writer finds the journal and does the rest again; every step is
idempotent.

- An error before the commit point: InternalError with `memory_committed` false; no byte changed.
- An error after it: InternalError with `memory_committed` true; the journal stays, and the next
  `recover` finishes. Such an update must not be sent again.

Readers take no lock. They compare `generation` before and after; where an update is `pending`
they wait for its writer, or take the lock and `recover` when it is dead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from scriptorium.errors import ConcurrentUpdate, InternalError
from scriptorium.workspace import disk, install, installed
from scriptorium.workspace.boot import boot_id
from scriptorium.workspace.digests import digest_of
from scriptorium.workspace.generation import (
    JournalUnreadable,
    generation,
    interrupted,
    newer_version,
    pending,
    pending_contents,
)
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.lock import locked
from scriptorium.workspace.record import (
    JournalEntry,
    Record,
    TornJournalError,
    UnknownJournalError,
    decode,
    encode,
)
from scriptorium.workspace.replacement import replace
from scriptorium.workspace.runtime_files import append_runtime, write_runtime
from scriptorium.workspace.storage import (
    TEMP_PREFIX,
    advice,
    committed,
    nothing_changed,
    temp_beside,
)

__all__ = [
    "TEMP_PREFIX",
    "Change",
    "JournalUnreadable",
    "Recovery",
    "append_runtime",
    "commit",
    "generation",
    "interrupted",
    "locked",
    "pending",
    "pending_contents",
    "recover",
    "settle",
    "write_runtime",
]


@dataclass(frozen=True, slots=True)
class Change:
    """One file of an update: its path from the root (`Layout.runtime_path` for runtime files)."""

    path: str
    before: str | None
    """SHA-256 in hex of the content that the update builds on; None where there was no file."""
    content: bytes | None
    """The new content; None deletes the file."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What `recover` did."""

    replayed: bool = False
    """A killed writer's update was put in place, or what a power cut took of one."""
    conflicts: tuple[str, ...] = ()
    """Workspace paths of the copies kept of files that a person had edited meanwhile."""


def commit(
    layout: Layout, changes: Sequence[Change], *, meta: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The changes are durable and in place, all of them; the paths of copies kept of hand edits.

    The caller holds the lock and has recovered. A file of memory that is not as `before` says is
    refused with ConcurrentUpdate; generated files are replaced whatever they are. An edit made
    in the very moment of the installation is kept beside as `<name>.conflict-<time>`.

    Raises PathOutsideWorkspace, ConcurrentUpdate, and InternalError as the module says.
    """
    entries = _entries(layout, changes)
    if not entries:
        return ()
    try:
        if disk.current.stat(layout.journal) is not None:
            raise InternalError("An unfinished update is in the way: recover the workspace first.")
        found = {entry.path: _verify(layout, entry) for entry in entries}
        _stage(layout, encode(Record(boot_id(), entries, meta or {})))
    except OSError as error:
        raise nothing_changed(error) from error
    try:
        conflicts = _install(layout, entries, found)
    except OSError as error:
        raise committed(error) from error
    with suppress(OSError):  # the journals stay, and the next commit tries again
        installed.settle_if_due(layout)
    return conflicts


def recover(layout: Layout) -> Recovery:
    """No update is half done and no temporary is left; cheap when there is nothing to do.

    The caller holds the lock. May itself be killed, and is then done again. Raises InternalError
    when the disk does not let it finish, or when a newer version of the program wrote the
    journal.
    """
    boot = boot_id()
    try:
        repaired = installed.repair(layout, boot)
        record = _pending_record(layout)
        conflicts: tuple[str, ...] = ()
        if record is not None:
            rebooted = not boot or record.boot != boot
            conflicts = _install(layout, record.entries, {}, rebooted=rebooted)
        install.remove_litter([layout.staging])
    except OSError as error:
        raise InternalError(
            f"An update that was cut short cannot be finished yet: {advice(error)}",
            details={"errno": error.errno},
        ) from error
    return Recovery(repaired or record is not None, conflicts)


def settle(layout: Layout) -> None:
    """All installed updates are on the medium and their journals dropped, with the old text in
    them.

    The caller holds the lock. Raises InternalError.
    """
    try:
        installed.settle(layout)
    except OSError as error:
        raise committed(error) from error


def _entries(layout: Layout, changes: Sequence[Change]) -> tuple[JournalEntry, ...]:
    """The changes that change something: deletions first, so that a name may change its case."""
    own = {layout.runtime_path(name) for name in ("journal", "write.lock", "installed", "staging")}
    entries: dict[str, JournalEntry] = {}
    for change in changes:
        if change.path in entries or "/".join(change.path.split("/")[:2]) in own:
            raise InternalError(f"{change.path} cannot be part of this update.", path=change.path)
        after = digest_of(change.content)
        entries[change.path] = JournalEntry(change.path, change.before, after, change.content)
    real = [entry for entry in entries.values() if entry.before != entry.after]
    return tuple(sorted(real, key=lambda entry: entry.content is not None))


def _verify(layout: Layout, entry: JournalEntry) -> install.Signature:
    """The file is as the update found it; its signature, so that a later edit is noticed."""
    place = layout.path(entry.path)
    found = install.signature(place)
    if not install.is_irreplaceable(entry.path):
        return found
    content = disk.current.read(place)
    if digest_of(content) != entry.before:
        raise ConcurrentUpdate(
            f"{entry.path} was changed on disk while the update was being made; nothing changed."
            " Read it again and rebuild the patch.",
            path=entry.path,
            details={"changed_files": [entry.path]},
        )
    return found


def _stage(layout: Layout, data: bytes) -> None:
    """The journal is in place: the commit point. Raises OSError; then nothing is left of it."""
    for directory in (layout.staging, layout.installed):
        if disk.current.stat(directory) is None:
            with suppress(FileExistsError):
                disk.current.mkdir(directory)
    replace(layout.journal, data, temp_beside(layout.staging / "journal"), sync=True)


def _install(
    layout: Layout,
    entries: Sequence[JournalEntry],
    found: Mapping[str, install.Signature],
    *,
    rebooted: bool = False,
) -> tuple[str, ...]:
    """The committed update is in place and marked so. Raises OSError; then it is still pending.

    No file is touched before the journal's own name is on the medium.
    """
    disk.current.sync_dir(layout.runtime_dir)
    conflicts = [
        install.install(layout, entry, found.get(entry.path), rebooted=rebooted)
        for entry in entries
    ]
    install.remove_empty_directories(
        layout, [entry.path for entry in entries if entry.content is None]
    )
    if not found:
        install.remove_litter({(layout.root / entry.path).parent for entry in entries})
    installed.mark(layout, boot_id())
    return tuple(kept for kept in conflicts if kept is not None)


def _pending_record(layout: Layout) -> Record | None:
    """The update to finish; a torn journal, which was never committed, is removed."""
    data = disk.current.read(layout.journal)
    if data is None:
        return None
    try:
        return decode(data)
    except TornJournalError:
        disk.current.unlink(layout.journal)
        return None
    except UnknownJournalError as error:
        raise InternalError(newer_version(error)) from error
