"""The one way to write: `update` changes a workspace by all of a request, or refuses it whole.

    lock, recover, compare the base revision
    draft      patch and edits applied in memory, sources archived, names made ids, links rewritten
    check      the contract, for everything that the change can affect; all problems at once
    install    files, sources and views as one commit of the journal; then Git

Promises: a refused update leaves every byte as it was. An update that returned is on disk, synced.
What an update costs grows with what it changes. Must not read the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

from scriptorium.errors import (
    BrokenContract,
    ConcurrentUpdate,
    GitCommitFailed,
    Json,
    ScriptoriumError,
)
from scriptorium.format import markdown, patch, paths
from scriptorium.format.model import BlockId, EvidenceId, Problem, RelPath, Revision, SourceId
from scriptorium.workspace import archive, drafting, git, journal, rendering, view_files
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.checking import (
    Edited,
    State,
    check_core,
    check_topic,
    check_update,
)
from scriptorium.workspace.digests import digest_of
from scriptorium.workspace.drafting import Draft
from scriptorium.workspace.journal import Change
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.workspace import Workspace

type _Fault = tuple[str, str]
"""A file and a rule that it breaks."""


@dataclass(frozen=True, slots=True)
class Update:
    """What is asked for."""

    base_revision: Revision | None
    """The revision that the patch was made against; None: whatever is there."""
    patch: str | None = None
    sources: tuple[SourceInput, ...] = ()
    commit_message: str | None = None
    provider: str = "claude-code"
    """The first part of the ids of sources that have none of their own."""
    git: git.Mode = "auto"
    edits: Callable[[Snapshot], Mapping[RelPath, str | None]] | None = None
    """The whole new text of authored files (None deletes one), made under the lock."""
    erased: Callable[[Snapshot], Mapping[RelPath, bytes]] | None = None
    """The whole new content of source files, in which a person had messages erased."""
    removal: bool = False
    """Memory only loses something: what was wrong with its files before is no reason to refuse."""
    runtime: Mapping[str, bytes | None] = field(default_factory=dict)
    """Files below the runtime directory that move in the same step."""
    layer: str = ""
    """The name of the workspace by which the patch may qualify its paths."""


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What was done."""

    source_ids: Mapping[str, SourceId]
    block_ids: Mapping[str, BlockId]
    evidence_ids: Mapping[str, EvidenceId]
    changed_files: tuple[RelPath, ...]
    """Every file of memory and view that is not as it was, sorted."""
    revision: Revision
    memory_committed: bool
    git_committed: bool
    git_commit: str | None
    git_reason: str | None = None
    """Why there is no commit although one was wanted (mode `auto`)."""


def update(workspace: Workspace, update: Update, *, now: datetime) -> UpdateResult:
    """The update is installed, whole and durable; `now` is the time it is recorded under.

    Raises InvalidArgument, PathOutsideWorkspace, ReadOnlyPath, PatchConflict, ConcurrentUpdate and
    BrokenContract, after which nothing has changed; and in Git mode `on` GitCommitFailed, after
    which memory is installed and `details` holds the whole result.
    """
    archive.check(update.sources)
    parsed = patch.parse(update.patch, update.layer) if update.patch is not None else None
    with workspace.writing() as snapshot:
        _check_base(snapshot, update.base_revision)
        draft = _drafted(snapshot, update, parsed)
        _check(workspace, snapshot, draft, known=_faults(snapshot, draft) if update.removal else {})
        changed = _install(workspace, snapshot, draft, update.runtime, now)
        with workspace.tracking() as tracker:
            revision = tracker.mirror.revision
        return _committed(workspace, update, draft, changed, revision)


def rebuild_views(workspace: Workspace) -> tuple[RelPath, ...]:
    """Every view shows what the files say; the paths of those that had to be written."""
    with workspace.writing() as snapshot:
        keys = rendering.every_key(snapshot.mirror)
        plan = view_files.plan(workspace.root, snapshot.mirror, view_files.Known(), keys)
        journal.commit(workspace.layout, plan.changes)
        with workspace.tracking() as tracker:
            tracker.installed({}, plan.digests, planned=snapshot.sequence, blocked=plan.blocked)
        return tuple(sorted(RelPath(change.path) for change in plan.changes))


def _check_base(snapshot: Snapshot, base: Revision | None) -> None:
    if base is None or base == snapshot.revision:
        return
    changed = snapshot.changed_since(base)
    if changed is None:
        told = "what changed since is not known. Read the files that the patch edits again"
    elif not changed:
        told = "the files are as they were then. Send the patch again with the present revision"
    else:
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        told = f"{', '.join(changed[:5])}{more} changed. Read it again and rebuild the patch"
    listed: list[Json] = list(changed or [])
    raise ConcurrentUpdate(
        f"stale base_revision: the workspace is at {snapshot.revision}, your patch was made against"
        f" {base[:64]}; {told}.",
        details={
            "revision": snapshot.revision,
            "changed_files": listed,
            "known": changed is not None,
        },
    )


def _drafted(snapshot: Snapshot, update: Update, parsed: patch.Patch | None) -> Draft:
    edits: drafting.Texts = {}
    if parsed is not None:
        for path, content in patch.apply(parsed, snapshot.bytes_now).items():
            edits[path] = drafting.text_of(path, content)
    for path, text in (update.edits(snapshot) if update.edits else {}).items():
        edits[paths.writable(path)] = text
    records = archive.records(update.provider, update.sources)
    archives = archive.archived(records, snapshot.bytes_now)
    archives |= update.erased(snapshot) if update.erased else {}
    return drafting.draft(snapshot, edits, records, archives)


def _check(
    workspace: Workspace, snapshot: Snapshot, draft: Draft, known: Container[_Fault]
) -> None:
    """The draft keeps the contract, but for faults that are known. Raises BrokenContract with every
    problem.
    """
    with workspace.tracking() as tracker:
        after = tracker.after(draft.findings)
    problems: list[Problem] = list(draft.names.problems)
    edited = Edited(
        topics={
            p: draft.topics[p]
            for p in draft.edited
            if p != paths.CORE and draft.texts[p] is not None
        },
        core=draft.texts.get(paths.CORE) if paths.CORE in draft.edited else None,
        removed=frozenset(p for p in draft.edited if draft.texts[p] is None),
    )
    problems += check_update(
        State(snapshot.mirror, snapshot.exists),
        State(after, snapshot.exists),
        edited,
        _core(snapshot, draft),
    )
    problems = [problem for problem in problems if (problem.path, problem.rule) not in known]
    if problems:
        raise BrokenContract.of([draft.names.as_written(problem) for problem in problems])


def _faults(snapshot: Snapshot, draft: Draft) -> set[_Fault]:
    """What is wrong with the edited files already."""
    state = State(snapshot.mirror, snapshot.exists)
    texts = {path: drafting.text_of(path, draft.before[path]) or "" for path in draft.edited}
    return {
        (problem.path, problem.rule)
        for path, text in texts.items()
        for problem in (
            check_core(text, state)
            if path == paths.CORE
            else check_topic(path, markdown.parse_topic(text), state)
        )
    }


def _core(snapshot: Snapshot, draft: Draft) -> tuple[str, str]:
    """The core as it is and as it will be."""
    try:
        text = drafting.text_of(paths.CORE, snapshot.bytes_now(paths.CORE)) or ""
    except ScriptoriumError:
        text = ""  # a core that a person has to mend is no fault of an update elsewhere
    return text, draft.texts.get(paths.CORE, text) or ""


def _install(
    workspace: Workspace,
    snapshot: Snapshot,
    draft: Draft,
    runtime: Mapping[str, bytes | None],
    now: datetime,
) -> list[RelPath]:
    """The draft is in place with its views; the files of memory and views that changed."""
    findings = draft.findings
    with workspace.tracking() as tracker:
        after = tracker.after(findings)
        keys = {*tracker.stale(), *rendering.touched(snapshot.mirror, after, [*findings])}
        views = view_files.plan(workspace.root, after, tracker.views, keys)
    memory = [_change(p, draft.before[p], content) for p, content in draft.contents.items()]
    changes = [*memory, *views.changes, *_runtime_changes(snapshot, runtime)]
    journal.commit(workspace.layout, changes, meta={"time": now.isoformat()})
    with workspace.tracking() as tracker:
        tracker.installed(findings, views.digests, planned=snapshot.sequence, blocked=views.blocked)
    changed = [c.path for c in (*memory, *views.changes) if c.before != digest_of(c.content)]
    return sorted(RelPath(path) for path in changed)


def _runtime_changes(snapshot: Snapshot, files: Mapping[str, bytes | None]) -> list[Change]:
    paths = {snapshot.layout.runtime_path(name): content for name, content in files.items()}
    return [
        _change(path, snapshot.bytes_now(RelPath(path)), content) for path, content in paths.items()
    ]


def _change(path: str, before: bytes | None, content: bytes | None) -> Change:
    return Change(path, digest_of(before), content)


def _committed(
    workspace: Workspace, update: Update, draft: Draft, changed: list[RelPath], revision: Revision
) -> UpdateResult:
    """The result, after the commit to Git that is asked for. Raises GitCommitFailed."""
    try:
        outcome = git.commit(
            workspace.root,
            update.git,
            changed,
            update.commit_message,
            every=lambda: [info.path for info in workspace.snapshot().files()],
        )
        failure = None
    except GitCommitFailed as error:
        outcome, failure = git.GitOutcome(reason=error.message), error
    result = UpdateResult(
        source_ids=draft.source_ids,
        block_ids=draft.names.block_ids,
        evidence_ids=draft.names.evidence_ids,
        changed_files=tuple(changed),
        revision=revision,
        memory_committed=True,
        git_committed=outcome.commit is not None,
        git_commit=outcome.commit,
        git_reason=outcome.reason,
    )
    if failure is not None:
        raise GitCommitFailed(failure.message, details=_json(result)) from failure
    return result


def _json(result: UpdateResult) -> dict[str, Json]:
    return {**asdict(result), "changed_files": list(result.changed_files)}
