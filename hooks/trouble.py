"""What failed in the background, in a sentence each, for the next session to be told.

Reads only; a record that cannot be read is no trouble. Python 3.8, standard library only.
"""

from __future__ import annotations

import json
import os

RUNTIME_FOLDERS = (".scriptorium", ".nativemem")  # the second is the former name
WORDS = 300


def bootstrap_failure(home: str) -> str:
    """Why the launcher could not make its environment, if the last try failed."""
    envs = os.environ.get("SCRIPTORIUM_ENV_DIR") or os.path.join(home, ".scriptorium", "env")
    reason = one_line(first_line(os.path.join(envs, "last-error.txt")))
    return reason and (
        f"Scriptorium could not start its server: {reason}. Until that is mended its tools are "
        "missing. Tell the user once; `scriptorium doctor` says more."
    )


def capture_trouble(folder: str) -> str:
    """Why the last ingest of this workspace failed, and what was set aside."""
    places = [os.path.join(folder, name, "ingest") for name in RUNTIME_FOLDERS]
    place = next(filter(os.path.isdir, places), places[0])
    told = []
    error = one_line(last_error(os.path.join(place, "state.json")))
    if error:
        told.append(f"The last background write of finished turns into memory failed: {error}.")
    aside = count_lines(os.path.join(place, "set-aside.jsonl"))
    if aside:
        told.append(
            f"{aside} messages are set aside after repeated failures; when the cause is mended, "
            "`scriptorium ingest --retry` brings them back."
        )
    return " ".join([*told, "Nothing is lost. Tell the user once."]) if told else ""


def last_error(state: str) -> str:
    try:
        with open(state, encoding="utf-8") as file:
            error = json.loads(file.read(65536)).get("last_error")
    except (OSError, ValueError, AttributeError):
        return ""
    return error if isinstance(error, str) else ""


def count_lines(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return sum(1 for line in file if line.strip())
    except OSError:
        return 0


def first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4096)
    except OSError:
        return ""


def one_line(text: str) -> str:
    """Words only: what failed may quote what a program or a model printed."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return (words if len(words) <= WORDS else words[: WORDS - 1] + "…").rstrip(".")
