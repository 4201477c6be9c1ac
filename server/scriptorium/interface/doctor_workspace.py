"""`doctor`'s look at each layer: permissions, problems, lock, journal, Git, capture, search.

Changes nothing, takes the lock only to see whether it is free, and gives an endpoint and Git their
own short time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shlex import quote

from scriptorium.errors import ConcurrentUpdate, EmbeddingUnavailable, InternalError
from scriptorium.format import paths
from scriptorium.format.model import RelPath, Rule
from scriptorium.interface import doctor_git, status
from scriptorium.interface.call import Call
from scriptorium.interface.config import Settings
from scriptorium.interface.finding import Finding, broken, guarded, note, ok, warning
from scriptorium.interface.memory import Memory
from scriptorium.interface.opening import MISSING
from scriptorium.interface.surroundings import Surroundings
from scriptorium.search import embedding as endpoints
from scriptorium.search.embedding import Endpoint
from scriptorium.workspace import forgotten, journal, lock
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.merging import marker_line
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

_CHECKED = 20_000
"""Blocks up to which the whole contract is checked: some five seconds."""
_MENDS: Mapping[Rule, str] = {
    "unreadable": "chmod u+rX {0}",
    "unfinished-update": "make the folder of {0} writable: chmod u+rwx",
    "case-only-twin": "mv {0} to another name",
    "unwritable-name": "mv {0} to another name",
    "unusable-name": "mv {0} to another name",
    "damaged-source": "take {0} back from Git or a backup",
    "misplaced-source": "take {0} back from Git or a backup",
    "not-a-file": "ls -ld {0}, then move it away",
    "not-utf-8": "edit {0}, and save it as UTF-8",
}
"""What mends a file that breaks the rule; else, an edit."""


def findings(
    memory: Memory, settings: Settings, around: Surroundings, *, asked: bool
) -> Iterator[Finding]:
    """What there is to say of each layer; `asked`: flags name them, so they must be there."""
    for name, reason in memory.layers.failures.items():
        if reason.startswith(MISSING) and not asked:  # the server makes it with its first call
            yield ok(f"layer {name}", f"nothing is remembered yet: {reason}")
        else:
            yield broken(f"layer {name}", f"left out: {reason}")
    for name, workspace in memory.layers.opened.items():
        area = f"layer {name}" if memory.layered else "memory"
        layout = workspace.layout
        checks: list[Callable[[], Iterable[Finding]]] = [
            partial(_counts, area, workspace),
            partial(_permissions, area, layout),
            partial(_writing, area, layout),
            partial(_problems, area, workspace),
            partial(_copies, area, layout.root),
            partial(doctor_git.findings, area, workspace, settings.git_commit),
            partial(_ingest, area, name, memory, settings, around),
        ]
        for check in checks:
            yield from guarded(area, check)
    yield from guarded("search", partial(_embedding, memory))


def interrupted(root: Path) -> Iterator[Finding]:
    """That a writer died within an update; asked before the workspace is opened, which mends it."""
    if journal.interrupted(Layout.of(root)):
        mend = "nothing is to be done: the next start finishes it, as this look did"
        yield note("memory", f"an interrupted update was to be finished in {root}", mend)


def _counts(area: str, workspace: Workspace) -> Iterator[Finding]:
    counts = workspace.snapshot().counts()
    held = f"{counts.topic_files} topics, {counts.blocks} blocks, {counts.sources} sources"
    yield ok(area, f"{workspace.root}: {held}")


def _copies(area: str, root: Path) -> Iterator[Finding]:
    for kept in sorted(root.rglob("*.conflict-*")):
        told = f"{kept.relative_to(root)}: an edit by hand that an interrupted update met"
        name = kept.name.partition(".conflict-")[0]
        yield warning(area, told, f"compare it with {name}, then rm {quote(str(kept))}")


def _permissions(area: str, layout: Layout) -> Iterator[Finding]:
    for folder in (
        layout.root,
        layout.runtime_dir,
        layout.root / "topics",
        layout.root / "sources",
    ):
        if not folder.exists():
            continue
        mend = f"chmod u+rwx {quote(str(folder))}"
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield broken(area, f"{folder} cannot be written", mend)
        elif folder.stat().st_mode & 0o700 != 0o700:  # root may, its other users may not
            yield warning(area, f"{folder} is protected against writing", mend)
    mode = layout.root.stat().st_mode
    if mode & 0o007:
        mend = f"chmod 700 {quote(str(layout.root))}"
        yield note(area, f"others on this machine can read {layout.root}", mend)


def _writing(area: str, layout: Layout) -> Iterator[Finding]:
    try:
        with lock.locked(layout, timeout=0.2):
            yield ok(area, "the write lock is free")
    except ConcurrentUpdate as error:
        mend = "wait for it, or end that process"
        yield warning(area, f"another process is writing: {error.message}", mend)
    except InternalError as error:
        yield broken(area, error.message, f"chmod u+rwx {quote(str(layout.runtime_dir))}")
    catalog = layout.catalog
    if catalog.exists() and not _is_database(catalog):
        mend = f"nothing: it is rebuilt by itself; or rm {quote(str(catalog))}"
        yield note(area, "the catalog is damaged", mend)
    if forgotten.unfinished(layout) is not None:
        mend = "run the same `scriptorium forget` again, or `scriptorium sync`"
        yield warning(area, "a `forget` was cut short: copies may hold what it was to erase", mend)


def _problems(area: str, workspace: Workspace) -> Iterator[Finding]:
    snapshot = workspace.snapshot()
    every = f"scriptorium validate --workspace {quote(str(workspace.root))}"
    if snapshot.counts().blocks <= _CHECKED:
        problems = tuple(validate(workspace))
    else:
        problems = snapshot.problems
        yield note(area, "too many blocks to check each of them here", every)
    stale = [problem.path for problem in problems if problem.rule == "stale-view"]
    if stale:
        more = f" and {len(stale) - 1} more" if len(stale) > 1 else ""
        mend = "nothing: the next update writes it anew"
        yield note(area, f"{stale[0]}{more}: not as the files say", mend)
    merged = sorted({p.path for p in problems if _is_in_conflict(snapshot, RelPath(p.path))})
    for path in merged:
        mend = f"edit {quote(str(workspace.root / path))}: keep what is right, remove the markers"
        yield warning(area, f"{path}: an unfinished merge of Git's", mend)
    skipped = {"stale-view", "conflict-copy"}
    rest = [p for p in problems if p.rule not in skipped and p.path not in merged]
    for problem in rest[:10]:
        told = f"{problem.path}:{problem.line}: {problem.message}"
        yield warning(area, told, _mend(workspace.root / problem.path, problem.rule))
    if len(rest) > 10:
        yield warning(area, f"and {len(rest) - 10} more problems", every)


def _is_in_conflict(snapshot: Snapshot, path: RelPath) -> bool:
    text = snapshot.text(path) if paths.is_authored(path) else None
    return text is not None and marker_line(text) is not None


def _mend(place: Path, rule: Rule) -> str:
    """The command or edit for a file that breaks the rule."""
    return _MENDS.get(rule, "edit {0}").format(quote(str(place)))


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
        mend = f"tail {quote(str(log))}"
        yield warning(area, f"capture's last run failed: {state['last_error']}", mend)
    if state.get("set_aside"):
        number = state["set_aside"]
        told = "1 message is" if number == 1 else f"{number} messages are"
        mend = "scriptorium ingest --retry"
        yield warning(area, f"{told} set aside after repeated failure", mend)
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
    state = endpoints.status(memory.endpoint, seconds=endpoints.QUERY_SECONDS)
    if memory.endpoint is None:
        yield note("search", "BM25 only: no embedding endpoint is configured")
    elif state.available:
        numbers = _dimension(memory.endpoint)
        yield ok("search", f"embeddings{numbers} from {state.model} at {state.url}")
    else:
        reason = str(state.reason)
        pull = re.search(r"`(ollama pull [^`]+)`", reason)
        mend = "start it, or remove embedding from ~/.scriptorium/config.yaml"
        yield broken("search", f"embeddings: {reason}", pull[1] if pull else mend)


def _dimension(endpoint: Endpoint) -> str:
    """How many numbers a vector has, as words; empty where it does not answer any more."""
    try:
        (vector,) = endpoints.embed(endpoint, ["dimension"], seconds=endpoints.QUERY_SECONDS)
    except EmbeddingUnavailable:
        return ""
    return f" of {len(vector)} numbers"


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(16)
    return head in (b"", b"SQLite format 3\0")
