"""What a reader looks at to know that no update came between: the journal, and how many there were.

Takes no lock and changes nothing.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from scriptorium.errors import InternalError
from scriptorium.workspace import disk, installed
from scriptorium.workspace.boot import boot_id
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.record import TornJournalError, UnknownJournalError, decode
from scriptorium.workspace.storage import advice

type Generation = tuple[int, int]


class JournalUnreadable(OSError):
    """An update was cut short, and what it says cannot be read; `strerror` is the whole reason."""


def pending(layout: Layout) -> bool:
    """Whether an update is being installed, or was when its writer died. Raises InternalError."""
    with _readable():
        return _is_pending(layout)


def interrupted(layout: Layout) -> bool:
    """Whether `recover` has something to do: an update to finish, or one that a power cut may have
    undone (a journal of an earlier run of the machine is left). For the opening of a workspace.
    """
    boot = boot_id()
    with _readable():
        return _is_pending(layout) or any(
            one.boot and one.boot != boot for one in installed.entries(layout)
        )


def generation(layout: Layout) -> Generation:
    """A token that differs whenever an update was, or began to be, installed in between.

    The number of updates installed so far, and the inode of the pending journal (0: none). Raises
    InternalError.
    """
    with _readable():
        info = disk.current.stat(layout.journal)
        return installed.last_number(layout), 0 if info is None else info.st_ino


def pending_contents(layout: Layout) -> dict[str, bytes | None]:
    """What the pending update makes of its files (None: deleted); empty for one never committed.

    For readers where nothing can be installed, as on a read-only file system. Raises
    JournalUnreadable.
    """
    try:
        record = decode(disk.current.read(layout.journal) or b"")
    except TornJournalError:
        return {}
    except UnknownJournalError as error:
        raise JournalUnreadable(errno.EINVAL, newer_version(error)) from error
    except OSError as error:
        where = layout.runtime_path(layout.journal.name)
        reason = f"an update was cut short, and {where} cannot be read: {advice(error)}"
        raise JournalUnreadable(error.errno, reason) from error
    return {entry.path: entry.content for entry in record.entries}


def newer_version(error: UnknownJournalError) -> str:
    """Why the pending update cannot be finished, as a sentence."""
    return (
        f"An unfinished update was written by a newer version (journal format {error})."
        " Update the plugin and start again."
    )


@contextmanager
def _readable() -> Iterator[None]:
    """What the body looks at in the runtime directory can be looked at. Else InternalError."""
    try:
        yield
    except OSError as error:
        raise InternalError(
            f"The workspace's runtime directory cannot be read: {advice(error)}",
            details={"memory_committed": False, "errno": error.errno},
        ) from error


def _is_pending(layout: Layout) -> bool:
    return disk.current.stat(layout.journal) is not None
