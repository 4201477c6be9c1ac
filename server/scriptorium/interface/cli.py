"""The command line: parses, runs one command, and turns every outcome into an exit code.

Promises one line on stderr for an error, exit 2 for wrong usage, 1 for a finding or a failure, 0
otherwise; a closed pipe ends it quietly. Each command is a function of its own, imported when it
runs, so that a hook's call loads nothing that it does not need.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from scriptorium.errors import InvalidArgument, ScriptoriumError
from scriptorium.interface import parser, surroundings
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings

type Command = Callable[[Arguments, Surroundings], int]

_COMMANDS = {
    "init": ("upkeep", "init"),
    "validate": ("upkeep", "validate"),
    "mcp": ("serving", "mcp"),
    "ingest": ("ingesting", "ingest"),
    "status": ("show", "status"),
    "search": ("show", "search"),
    "show": ("show", "show"),
    "sync": ("syncing", "sync"),
    "forget": ("forgetting", "forget"),
    "doctor": ("doctor", "doctor"),
    "demo": ("demo", "demo"),
}
"""The module and the function of each; a command loads only what it needs, as hooks run some."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code."""
    around = surroundings.here()
    arguments = _parsed(sys.argv[1:] if argv is None else argv)
    try:
        code = _command(arguments.command)(arguments, around)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (ScriptoriumError, OSError) as error:
        around.err.line(f"scriptorium: {' '.join(reason(error).split())}")
        return 2 if isinstance(error, InvalidArgument) else 1
    return code


def reason(error: ScriptoriumError | OSError) -> str:
    """An error as one sentence for a person."""
    if isinstance(error, ScriptoriumError):
        return error.message
    place = f"{error.filename}: " if error.filename else ""
    return place + (error.strerror or type(error).__name__)


def _parsed(argv: Sequence[str]) -> Arguments:
    # After every turn this call is made, and building the parser would take longer than its work.
    if list(argv) == ["ingest", "--hook"]:
        return parser.of_hook()
    return parser.build().parse_args(argv, namespace=Arguments())


def _command(name: str) -> Command:
    module, function = _COMMANDS[name]
    command: Command = getattr(import_module(f"scriptorium.interface.{module}"), function)
    return command


def _forget_stdout() -> None:
    """Points stdout at nothing, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
