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
RECONNECT = "in Claude Code `/mcp`, scriptorium, Reconnect; in Codex a new session"
SERVER = "plugin:scriptorium:scriptorium"
PASSED_OVER = "mcp-needs-auth-cache.json"
PUT_OFF = 15 * 60  # seconds
WORDS = 500
KIND = re.compile(r"[a-z-]{3,20}(?=:)")
SET_ASIDE_LIMIT = 16 << 20


def server_trouble(home: str, now: float) -> str:
    """Why this session may be without the server's tools, and what brings them."""
    envs = os.environ.get("SCRIPTORIUM_ENV_DIR") or os.path.join(home, ".scriptorium", "env")
    return bootstrap_failure(envs) or put_off(home, now) or first_start(envs)


def bootstrap_failure(envs: str) -> str:
    """Why the launcher could not make its environment, if the last try failed."""
    said = reading.text(os.path.join(envs, "last-error.txt"), 4096)
    reason = one_line(said.partition("\n")[0])
    return reason and (
        f"Scriptorium could not start its server: {reason}. Until that is mended its tools are "
        "missing. Tell the user once; `scriptorium doctor` says more. What brings the tools then: "
        f"{RECONNECT}."
    )


def put_off(home: str, now: float) -> str:
    """That Claude Code passes the server over, as it does after a start that took too long."""
    if "PLUGIN_ROOT" in os.environ:  # Codex
        return ""
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    try:
        passed = json.loads(reading.beginning(os.path.join(folder, PASSED_OVER)))
        since = now - passed[SERVER]["timestamp"] / 1000
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    if not 0 <= since < PUT_OFF:
        return ""
    return (
        "Claude Code gave up on Scriptorium's server when it started last, and passes it over for "
        "15 minutes from then. If its tools are missing, tell the user once what brings them: "
        f"{RECONNECT}."
    )


def first_start(envs: str) -> str:
    """That the environment is being made, where there was never one."""
    try:
        made = os.listdir(os.path.join(envs, "start"))
    except OSError:
        made = []
    if made:
        return ""
    return (
        "Scriptorium's Python environment is being made, once. If its tools are still missing in a "
        f"minute, tell the user once what brings them: {RECONNECT}."
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
