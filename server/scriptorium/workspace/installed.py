"""The journals of updates that are in place, kept until the medium is known to hold their files.

A file is not synced when it is put in place; its journal, which is on the medium, stands in for
it. `settle` syncs the files of many updates together and drops their journals: an update costs
two syncs, not two for every file. After a power cut `repair` puts back what the medium lost.

`installed/<number>-<boot id>` is such a journal; its time of change is the moment of the
installation. An empty `installed/<number>` only remembers the last number, which readers take for
the generation.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from scriptorium.errors import PathOutsideWorkspace
from scriptorium.workspace import disk, install, record
from scriptorium.workspace.digests import digest_of
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.record import (
    JournalEntry,
    Record,
    TornJournalError,
    UnknownJournalError,
    decode,
)

MOST = 16
"""Updates after which their files are synced."""
MOST_BYTES = 4 << 20
OLDEST_NS = 60 * 10**9
"""Age after which they are synced: the kernel has written them by then, so that it costs little."""
_UNKNOWN_BOOT = "unknown"


@dataclass(frozen=True, slots=True)
class Installed:
    number: int
    boot: str
    """Empty for the marker that only remembers the number."""
    path: Path


def entries(layout: Layout) -> list[Installed]:
    """The journals and the marker, oldest first; files of other names are left alone."""
    found = []
    for name in disk.current.listing(layout.installed):
        number, _, boot = name.partition("-")
        if number.isdigit():
            found.append(Installed(int(number), boot, layout.installed / name))
    return sorted(found, key=lambda one: (one.number, one.boot))


def last_number(layout: Layout) -> int:
    """The number of the last installed update; 0 before the first."""
    return max((one.number for one in entries(layout)), default=0)


def mark(layout: Layout, boot: str) -> None:
    """The pending journal is an installed one from now on. Raises OSError."""
    name = f"{last_number(layout) + 1:08}-{boot or _UNKNOWN_BOOT}"
    disk.current.touch(layout.journal)
    disk.current.rename(layout.journal, layout.installed / name)


def settle_if_due(layout: Layout) -> None:
    """The installed journals are few, small and young, or dropped. Raises OSError."""
    infos = [disk.current.stat(one.path) for one in entries(layout) if one.boot]
    known = [info for info in infos if info is not None]
    if not known:
        return
    age = known[-1].st_mtime_ns - known[0].st_mtime_ns
    size = sum(info.st_size for info in known)
    if len(known) >= MOST or size > MOST_BYTES or age > OLDEST_NS:
        settle(layout)


def settle(layout: Layout) -> None:
    """Every installed update is on the medium, and its journal dropped.

    The caller holds the lock. Raises OSError, in which case no journal is dropped.
    """
    present = entries(layout)
    journals = [one for one in present if one.boot]
    if not journals:
        return
    paths = {path for one in journals for path in record.paths(disk.current.read(one.path) or b"")}
    _sync(layout, paths)
    last = present[-1].number
    marker = layout.installed / f"{last:08}"
    with suppress(FileExistsError):
        os.close(disk.current.create(marker))
    for one in present:
        if one.path != marker:
            disk.current.unlink(one.path)


def repair(layout: Layout, boot: str) -> bool:
    """What a power cut took of installed updates is back; whether anything was.

    Only the journals of an earlier run of the machine are looked at (or, where runs cannot be told
    apart, all of them). What a person changed after the installation is left as it is: it is newer
    than the journal, or is neither an earlier state of the file nor a torn one. Raises OSError.
    """
    journals = [one for one in entries(layout) if one.boot and one.boot != (boot or None)]
    last: dict[str, tuple[JournalEntry, int]] = {}
    states: dict[str, set[str | None]] = {}
    for one in journals:
        info = disk.current.stat(one.path)
        for entry in _read(one).entries if info else ():
            last[entry.path] = (entry, info.st_mtime_ns if info else 0)
            states.setdefault(entry.path, set()).update((entry.before, entry.after))
    lost = [
        entry
        for path, (entry, moment) in last.items()
        if _lost(layout, entry, moment, states[path])
    ]
    for entry in lost:
        install.install(layout, entry, rebooted=True)
    install.remove_empty_directories(
        layout, [entry.path for entry in lost if entry.content is None]
    )
    install.remove_litter({(layout.root / path).parent for path in last})
    if journals:
        settle(layout)
    return bool(lost)


def _sync(layout: Layout, paths: set[str]) -> None:
    """The files and the names that lead to them are on the medium. Raises OSError."""
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    try:
        for path in sorted(paths):
            with suppress(PathOutsideWorkspace):  # a person put a link there since
                disk.current.sync_file(layout.path(path))
        for parent in sorted(parents):
            with suppress(PathOutsideWorkspace, NotADirectoryError):
                disk.current.sync_dir(layout.root if parent == "." else layout.path(parent))
    except PermissionError:  # a person closed one of them
        disk.current.sync_all()


def _read(journal: Installed) -> Record:
    """The journal's record; an empty one for a journal that cannot be understood any more."""
    try:
        return decode(disk.current.read(journal.path) or b"")
    except (TornJournalError, UnknownJournalError):
        return Record("", ())


def _lost(layout: Layout, entry: JournalEntry, moment: int, states: set[str | None]) -> bool:
    """Whether the file is as it was before the update, or torn, and nobody changed it since."""
    try:
        place = layout.path(entry.path)
        content = disk.current.read(place)
    except (PathOutsideWorkspace, OSError):
        return False  # someone put something else there, or closed it: theirs to keep
    current = digest_of(content)
    if current == entry.after or _changed_after(layout, place, moment):
        return False
    torn = entry.content is not None and install.is_torn(place, entry.content)
    return torn or current in states


def _changed_after(layout: Layout, place: Path, moment: int) -> bool:
    """Whether the file, or where it is missing its nearest directory, is newer than the moment.

    A file system that keeps the order of changes to names cannot show a directory as newer and
    still have lost the name that was put into it before.
    """
    info = disk.current.stat(place)
    while info is None and place != layout.root:
        place = place.parent
        info = disk.current.stat(place)
    return info is not None and info.st_mtime_ns > moment
