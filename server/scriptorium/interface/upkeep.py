"""`scriptorium init` and `scriptorium validate`: making a workspace, and checking one.

Promises that `init` changes nothing where memory is already, and that `validate` never changes
anything.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from scriptorium.errors import InvalidArgument
from scriptorium.interface import calling, opening, show, status
from scriptorium.interface.call import Call
from scriptorium.interface.opening import Wanted
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings
from scriptorium.workspace import layout
from scriptorium.workspace import validate as check
from scriptorium.workspace.workspace import Workspace


def init(arguments: Arguments, around: Surroundings) -> int:
    if not arguments.path:
        raise InvalidArgument("the path is empty: name a folder, `.` for this one.")
    root = around.cwd / Path(arguments.path).expanduser()
    if root.exists() and not root.is_dir():
        raise InvalidArgument(f"{root} is a file: name a folder.")
    existing = layout.is_workspace(root)
    if not existing:
        Workspace.open(root, create=True, ignore=False)
    memory = opening.open_memory(Wanted((str(root),)), around.settings(), around)
    answer = calling.call("memory_status", {}, lambda: Call(memory, "cli", around.clock()))
    if arguments.json:
        around.out.line(answer.text())
        return 0 if answer.ok else 1
    if existing:
        around.out.line(f"{root} is a workspace already; nothing was changed.\n")
        show.print_status(answer.data, str(answer.payload["revision"]), around.out)
        return 0
    around.out.line(f"Created a workspace in {root}: core.md, topics/, sources/, .scriptorium/.")
    place = shlex.quote(str(root))
    around.out.line(f"Serve it: name it below `workspaces:` in {around.settings().path}, or")
    around.out.line(
        f"claude mcp add --scope user scriptorium -- scriptorium mcp --workspace {place}"
    )
    return 0


def validate(arguments: Arguments, around: Surroundings) -> int:
    memory = opening.memory(arguments, around)
    found = status.left_out(memory.layers.failures)
    for name in memory.layers.names:
        found += [
            status.problem_record(memory.qualify(name, problem.path), problem)
            for problem in check.validate(memory.workspace(name))
        ]
    if arguments.json:
        around.out.json({"ok": not found, "problems": found})
        return 1 if found else 0
    for problem in found:
        show.print_problem(problem, around.out)
    checked = ", ".join(str(memory.workspace(name).root) for name in memory.layers.names)
    count = f"{len(found)} problem{'s' if len(found) != 1 else ''}" if found else "no problems"
    around.out.line(f"Checked {checked}: {count}.")
    return 1 if found else 0
