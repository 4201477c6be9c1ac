"""What a failure of the disk means to a person, and the names that the runtime gives its
temporaries.

Says things; does no I/O.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from scriptorium.errors import InternalError

TEMP_PREFIX = ".scriptorium-tmp-"
"""Every temporary file of ours starts so: hidden, recognisable, and removed by recovery."""

_ADVICE = {
    errno.ENOSPC: "the disk is full. Free some space and try again",
    errno.EDQUOT: "the disk quota is used up. Free some space and try again",
    errno.EROFS: "the file system is read-only. Mount it writable, or use another workspace",
    errno.EACCES: "permission denied. Make the workspace writable for this user",
    errno.EPERM: "operation not permitted. Make the workspace writable for this user",
    errno.EISDIR: "something else is where a file belongs. Move it away and try again",
    errno.EIO: "the disk reported an error. Check it, and back the workspace up",
    errno.EMFILE: "too many files are open in this process. Restart the session",
}


def temp_beside(target: Path) -> Path:
    """A new, unique name for a temporary in the directory of `target`."""
    return target.parent / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(6).hex()}"


def advice(error: BaseException) -> str:
    """What went wrong and what to do, as a sentence without paths (they may lie outside)."""
    number = getattr(error, "errno", None)
    known = _ADVICE.get(number) if isinstance(number, int) else None
    return f"{known or getattr(error, 'strerror', None) or 'locking is not supported there'}."


def nothing_changed(error: OSError) -> InternalError:
    """The error of a write that failed before its commit point."""
    return InternalError(
        f"Nothing changed: {advice(error)}",
        details={"memory_committed": False, "errno": error.errno},
    )


def committed(error: OSError) -> InternalError:
    """The error of a write that failed after its commit point."""
    return InternalError(
        "The update is committed and must not be sent again, but it could not be put in place yet: "
        f"{advice(error)} The next start or update finishes it.",
        details={"memory_committed": True, "errno": error.errno},
    )
