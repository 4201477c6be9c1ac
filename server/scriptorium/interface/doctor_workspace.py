"""`doctor`'s look at each layer: permissions, problems, lock, journal, Git, capture, search.

Changes nothing, takes the lock only to see whether it is free, and gives an endpoint its own
short time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from scriptorium.errors import ConcurrentUpdate, EmbeddingUnavailable, InternalError
from scriptorium.interface import status
from scriptorium.interface.call import Call
from scriptorium.interface.config import Settings
from scriptorium.interface.envelope import mapping
from scriptorium.interface.finding import Finding, broken, note, ok, warning
from scriptorium.interface.memory import Memory
from scriptorium.interface.opening import MISSING
from scriptorium.interface.surroundings import Surroundings
from scriptorium.search import embedding as endpoints
from scriptorium.search.embedding import Endpoint
from scriptorium.workspace import journal, lock
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

_CHECKED = 20_000
"""Blocks up to which the whole contract is checked: some five seconds."""
_PROBE_SECONDS = 2.0


def findings(
    memory: Memory, settings: Settings, around: Surroundings, *, asked: bool
) -> Iterator[Finding]:
    """What there is to say of each layer; `asked`: flags name them, so they must be there."""
    for name, reason in memory.layers.failures.items():
        if reason.startswith(MISSING) and not asked:  # the server makes it with its first call
            yield ok(f"layer {name}", f"nothing is remembered yet: {reason}")
        else:
            yield broken(f"layer {name}", f"left out: {reason}", "see the message")
    for name, workspace in memory.layers.opened.items():
        area = f"layer {name}" if memory.layered else "memory"
        yield from _workspace(area, workspace)
        yield from _git(area, workspace.layout.root, settings)
        yield from _ingest(area, name, memory, settings, around)
    yield from _embedding(memory)


def interrupted(root: Path) -> Iterator[Finding]:
    """That a writer died within an update; asked before the workspace is opened, which mends it."""
    if journal.interrupted(Layout.of(root)):
        mend = "nothing is to be done: the next start finishes it, as this look did"
        yield note("memory", f"an interrupted update was to be finished in {root}", mend)


def _workspace(area: str, workspace: Workspace) -> Iterator[Finding]:
    layout = workspace.layout
    counts = workspace.snapshot().counts()
    held = f"{counts.topic_files} topics, {counts.blocks} blocks, {counts.sources} sources"
    yield ok(area, f"{layout.root}: {held}")
    yield from _permissions(area, layout)
    yield from _writing(area, layout)
    yield from _problems(area, workspace)
    for kept in sorted(layout.root.rglob("*.conflict-*")):
        yield warning(
            area,
            f"{kept.relative_to(layout.root)}: an edit by hand that an interrupted update met",
            f"compare it with {kept.name.partition('.conflict-')[0]}, then remove it",
        )


def _permissions(area: str, layout: Layout) -> Iterator[Finding]:
    for folder in (
        layout.root,
        layout.runtime_dir,
        layout.root / "topics",
        layout.root / "sources",
    ):
        if not folder.exists():
            continue
        mend = f"chmod u+rwx '{folder}'"
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield broken(area, f"{folder} cannot be written", mend)
        elif folder.stat().st_mode & 0o700 != 0o700:  # root may, its other users may not
            yield warning(area, f"{folder} is protected against writing", mend)
    mode = layout.root.stat().st_mode
    if mode & 0o007:
        mend = f"chmod 700 '{layout.root}'"
        yield note(area, f"others on this machine can read {layout.root}", mend)


def _writing(area: str, layout: Layout) -> Iterator[Finding]:
    try:
        with lock.locked(layout, timeout=0.2):
            yield ok(area, "the write lock is free")
    except ConcurrentUpdate as error:
        mend = "wait for it, or end that process"
        yield warning(area, f"another process is writing: {error.message}", mend)
    except InternalError as error:
        yield broken(area, error.message, f"make {layout.runtime_dir} writable")
    catalog = layout.catalog
    if catalog.exists() and not _is_database(catalog):
        mend = f"nothing: it is rebuilt by itself; or rm '{catalog}'"
        yield note(area, "the catalog is damaged", mend)


def _problems(area: str, workspace: Workspace) -> Iterator[Finding]:
    snapshot = workspace.snapshot()
    every = f"scriptorium validate --workspace '{workspace.layout.root}'"
    if snapshot.counts().blocks <= _CHECKED:
        problems = tuple(validate(workspace))
    else:
        problems = snapshot.problems
        yield note(area, "too many blocks to check each of them here", every)
    for problem in problems[:10]:
        where = f"{problem.path}:{problem.line}"
        yield warning(
            area, f"{where}: {problem.message}", f"edit {workspace.layout.root / problem.path}"
        )
    if len(problems) > 10:
        yield warning(area, f"and {len(problems) - 10} more problems", every)


def _git(area: str, root: Path, settings: Settings) -> Iterator[Finding]:
    if settings.git_commit == "off":
        yield note(area, "updates are not committed to Git: git_commit is off")
        return
    git = root / ".git"
    if not git.exists():
        if settings.git_commit == "on":
            mend = f"git -C '{root}' init"
            yield broken(area, "git_commit is on, but this is no Git repository of its own", mend)
        else:
            yield note(area, "not under version control", f"git -C '{root}' init")
        return
    yield ok(area, "each update is committed to the workspace's own Git repository")
    if (git / "index.lock").exists():
        mend = f"end what uses it, then rm '{git / 'index.lock'}'"
        yield warning(area, "Git's index is locked: commits fail", mend)
    if any((git / name).exists() for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply")):
        mend = f"git -C '{root}' status"
        yield warning(area, "the repository is in the middle of a merge or a rebase", mend)


def _ingest(
    area: str, layer: str, memory: Memory, settings: Settings, around: Surroundings
) -> Iterator[Finding]:
    if not settings.ingest.enabled:
        yield note(area, "capture is off: ingest.enabled is false")
        return
    state = status.ingest_status(Call(memory, "cli", around.clock()), layer)
    spent = state["spent_usd_today"]
    last = state["last_run"] or "never"
    pending = f"{state['pending_tokens']} tokens pending, last run {last}, ${spent} spent today"
    yield ok(area, f"capture: {pending}")
    last_turn = _last_turn(memory.workspace(layer).layout)
    if last_turn is None:
        mend = "finish a turn in a new session; in Codex, trust the hooks with /hooks"
        yield note(area, "the Stop hook has not handed over a turn yet", mend)
    else:
        yield ok(area, f"the Stop hook last handed over a turn at {last_turn}")
    if state["last_error"]:
        log = memory.workspace(layer).layout.ingest_log
        yield warning(area, f"capture's last run failed: {state['last_error']}", f"see {log}")
    if state.get("set_aside"):
        messages = f"{state['set_aside']} messages are set aside after repeated failure"
        yield warning(area, messages, "scriptorium ingest --retry")
    if isinstance(spent, (int, float)) and spent >= settings.ingest.daily_usd:
        mend = "raise ingest.daily_usd in ~/.scriptorium/config.yaml, or wait until tomorrow"
        yield warning(area, "capture has used up today's budget", mend)


def _last_turn(layout: Layout) -> str | None:
    """When capture last read a transcript: each has a cursor that moves with it."""
    cursors = (layout.runtime_dir / "ingest" / "cursors").glob("*.json")
    newest = max((cursor.stat().st_mtime for cursor in cursors), default=None)
    if newest is None:
        return None
    return datetime.fromtimestamp(newest, UTC).astimezone().isoformat(timespec="seconds")


def _embedding(memory: Memory) -> Iterator[Finding]:
    state = mapping(status.embedding(memory))
    if memory.endpoint is None:
        yield note("search", "BM25 only: no embedding endpoint is configured")
    elif state["available"]:
        numbers = _dimension(memory.endpoint)
        yield ok("search", f"embeddings{numbers} from {state['model']} at {state['url']}")
    else:
        reason = str(state["reason"])
        pull = re.search(r"`(ollama pull [^`]+)`", reason)
        mend = "start it, or remove embedding from ~/.scriptorium/config.yaml"
        yield broken("search", f"embeddings: {reason}", pull[1] if pull else mend)


def _dimension(endpoint: Endpoint) -> str:
    """How many numbers a vector has, as words; empty where it does not answer any more."""
    try:
        (vector,) = endpoints.embed(endpoint, ["dimension"], seconds=_PROBE_SECONDS)
    except EmbeddingUnavailable:
        return ""
    return f" of {len(vector)} numbers"


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(16)
    return head in (b"", b"SQLite format 3\0")
