"""Small updates of memory, as a model would send them, for the tests of crashes and crowds."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from pathlib import Path

from scriptorium.format.model import RelPath
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.transaction import Update, UpdateResult, update
from scriptorium.workspace.workspace import Workspace

NOW = datetime(2026, 8, 4, 12, tzinfo=UTC)


def open_workspace(root: Path) -> Workspace:
    return Workspace.open(root)


def text_of(snapshot: Snapshot, path: str) -> str:
    """The file's text; empty where there is none."""
    rel = RelPath(path)
    return snapshot.read(rel) if snapshot.exists(rel) else ""


def patch_of(snapshot: Snapshot, texts: dict[str, str | None]) -> str:
    """The unified diff that leads from the snapshot to the texts (None deletes)."""
    return "".join(_diff(path, text_of(snapshot, path), text) for path, text in texts.items())


def _diff(path: str, old: str, new: str | None) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        (new or "").splitlines(keepends=True),
        f"a/{path}" if old else "/dev/null",
        "/dev/null" if new is None else f"b/{path}",
    )
    return "".join(lines)


def send(
    workspace: Workspace, snapshot: Snapshot, texts: dict[str, str | None], said: str
) -> UpdateResult:
    """An update against the snapshot, which cites one new source as `new-source-1`."""
    request = Update(
        base_revision=snapshot.revision,
        patch=patch_of(snapshot, texts),
        sources=(SourceInput("new-source-1", "user", said, "2026-08-03T10:00:00Z"),),
        git="off",
    )
    return update(workspace, request, now=NOW)


def replace(
    workspace: Workspace, snapshot: Snapshot, texts: dict[str, str], said: str
) -> UpdateResult:
    """As `send`, with the whole texts instead of a patch, which costs less where they are long."""
    request = Update(
        base_revision=snapshot.revision,
        edits=lambda _: {RelPath(path): text for path, text in texts.items()},
        sources=(SourceInput("new-source-1", "user", said, "2026-08-03T10:00:00Z"),),
        git="off",
    )
    return update(workspace, request, now=NOW)


def fact(name: str, statement: str) -> str:
    """A block with its evidence, to be appended to a topic."""
    return (
        f"\n{statement}[^new-evidence-{name}] ^new-block-{name}\n\n"
        f"[^new-evidence-{name}]: Time: `2026-08-03`; Sources: new-source-1\n"
    )
