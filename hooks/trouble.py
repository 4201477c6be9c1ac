"""What failed in the background, in a sentence each, for the next session to be told.

Reads only; a record that cannot be read is no trouble. What is told stands outside the frame that
marks memory as data, so of a workspace's record, which may come with a project from anywhere, only
the kind of the failure is repeated. Python 3.8, standard library only.
"""

from __future__ import annotations

import json
import os
import re

import reading

RUNTIME_FOLDERS = (".scriptorium", ".nativemem")  # the second is the former name
WORDS = 300
KIND = re.compile(r"[a-z-]{3,20}(?=:)")
SET_ASIDE_LIMIT = 16 << 20


def bootstrap_failure(home: str) -> str:
    """Why the launcher could not make its environment, if the last try failed."""
    envs = os.environ.get("SCRIPTORIUM_ENV_DIR") or os.path.join(home, ".scriptorium", "env")
    said = reading.text(os.path.join(envs, "last-error.txt"), 4096)
    reason = one_line(said.partition("\n")[0])
    return reason and (
        f"Scriptorium could not start its server: {reason}. Until that is mended its tools are "
        "missing. Tell the user once; `scriptorium doctor` says more."
    )


def capture_trouble(folder: str) -> str:
    """That the last ingest of this workspace failed, and what was set aside."""
    places = [os.path.join(folder, name) for name in RUNTIME_FOLDERS]
    runtime = next(filter(os.path.isdir, places), places[0])
    if os.path.islink(runtime):
        return ""
    told = []
    error = last_error(os.path.join(runtime, "ingest", "state.json"))
    if error:
        kind = KIND.match(error)
        told.append(
            "The last background write of finished turns into memory failed"
            f"{f' ({kind[0]})' if kind else ''}; `scriptorium doctor` says why."
        )
    aside = reading.beginning(os.path.join(runtime, "ingest", "set-aside.jsonl"), SET_ASIDE_LIMIT)
    if aside:
        told.append(
            f"{aside.count(10)} messages are set aside after repeated failures; when the cause is "
            "mended, `scriptorium ingest --retry` brings them back."
        )
    return " ".join([*told, "Nothing is lost. Tell the user once."]) if told else ""


def last_error(state: str) -> str:
    try:
        error = json.loads(reading.beginning(state)).get("last_error")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return error if isinstance(error, str) else ""


def one_line(text: str) -> str:
    """Words only: what failed may quote what a program printed."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return (words if len(words) <= WORDS else words[: WORDS - 1] + "…").rstrip(".")
