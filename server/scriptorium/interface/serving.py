"""`scriptorium mcp`: from the command line to a running server.

Promises a fast start: the garbage collector rests while the protocol's library is imported, and
memory is opened with the first call. Mistakes in the settings go to stderr and stop nothing.
"""

# ruff: noqa: PLC0415  imported while the garbage collector rests

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from scriptorium.interface import opening
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings

if TYPE_CHECKING:
    from scriptorium.interface.memory import Memory


def mcp(arguments: Arguments, around: Surroundings) -> int:
    gc.disable()  # importing makes thousands of long-lived objects, none of them garbage
    from scriptorium.capture import prompts
    from scriptorium.interface import mcp_server

    loaded = around.settings()
    opening.report(loaded, around)
    wanted = opening.asked(arguments)
    opening.specs(wanted, loaded.settings)  # wrong usage is told before serving

    def opener(project: Path | None) -> Memory:
        return opening.open_memory(wanted, loaded, around, project=project, create=True)

    instructions = prompts.protocol("instructions")
    gc.freeze()
    gc.enable()
    mcp_server.serve(opener, instructions)
    return 0
