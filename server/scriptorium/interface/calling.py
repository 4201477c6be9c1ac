"""The one way to call a tool: checked arguments in, an envelope out, whatever happens.

Promises that an expected failure carries its code, and that an unexpected one is logged and told
without a path of this machine. Never raises.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable, Mapping

from scriptorium.errors import InternalError, InvalidArgument, ScriptoriumError
from scriptorium.interface import arguments
from scriptorium.interface.call import Call, Reading
from scriptorium.interface.envelope import Answer, failure
from scriptorium.interface.tools import TOOLS, Tool


def call(name: str, given: Mapping[str, object], context: Callable[[], Call]) -> Answer:
    """The tool's answer.

    `context` opens the memory: when that fails, the failure is answered like any other.
    """
    try:
        tool = TOOLS.get(name)
        if tool is None:
            raise InvalidArgument(f"There is no tool {name[:100]!r}: use {', '.join(TOOLS)}.")
        return _run(tool, arguments.check(tool.parameters, given), context())
    except ScriptoriumError as error:
        return failure(error)
    except Exception as error:  # noqa: BLE001  the tool boundary: a bug must not end the server
        return _unexpected(name, error, context)


def _run(tool: Tool, checked: Mapping[str, object], made: Call) -> Answer:
    if tool.writes:
        return tool.run(made, **checked)
    return made.memory.reading(
        lambda there: tool.run(Reading(made.memory, made.provider, made.now, there), **checked)
    )


def _unexpected(name: str, error: Exception, context: Callable[[], Call]) -> Answer:
    """INTERNAL_ERROR that names no path; the traceback goes to the workspace's log."""
    logged = _log(name, error, context)
    where = "The traceback is in server.log in the workspace's runtime folder." if logged else ""
    full = "no space is left on the disk" if getattr(error, "errno", 0) == errno.ENOSPC else None
    reason = full or getattr(error, "strerror", None) or type(error).__name__
    return failure(InternalError(f"{name} failed: {reason}. {where}".strip()))


def _log(name: str, error: Exception, context: Callable[[], Call]) -> bool:
    try:
        made = context()
        lines = "".join(traceback.format_exception(error))
        made.memory.log(f"{made.now.isoformat()} {name}\n{lines}")
    except Exception:  # noqa: BLE001  a log that cannot be written must not hide the answer
        return False
    return True
