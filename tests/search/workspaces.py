"""Small workspaces for the tests of search, written as a person or the runtime would write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from scriptorium.format import ids, paths, sources
from scriptorium.format.model import RelPath, SourceId, SourceRecord
from scriptorium.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Fact:
    """A block to be written: its claims in order, each with its time."""

    id: str
    claims: Sequence[tuple[str, str]]
    sources: Sequence[SourceId] = ()
    heading: str = ""


def block(block_id: str, text: str, time: str = "undated", *cited: SourceId) -> Fact:
    """A block of one claim."""
    return Fact(block_id, [(text, time)], cited)


def write_topic(workspace: Workspace, path: str, title: str, facts: Sequence[Fact]) -> None:
    """The topic file holds these blocks."""
    lines, definitions = [f"# {title}", ""], []
    for fact in facts:
        if fact.heading:
            lines += [f"## {fact.heading}", ""]
        claims = []
        for number, (text, time) in enumerate(fact.claims):
            label = "e-" + sha256(f"{path}/{fact.id}/{number}".encode()).hexdigest()[:10]
            claims.append(f"{text}[^{label}]")
            definitions.append(f"[^{label}]: Time: `{time}`; Sources: {_cited(path, fact.sources)}")
        lines += [f"{' '.join(claims)} ^{fact.id}", ""]
    target = workspace.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join([*lines, *definitions, ""]), encoding="utf-8")


def write_thread(
    workspace: Workspace,
    thread: str,
    messages: Sequence[str],
    times: Sequence[str | None] | None = None,
) -> list[SourceId]:
    """The thread's file ends with these messages; returns their ids."""
    target = workspace.root / sources.thread_path(ids.source_id("test", thread, "0"))
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    start = len(sources.parse(before)[0])
    records = [
        SourceRecord(
            id=ids.source_id("test", thread, str(start + number)),
            role="user",
            observed_at=times[number] if times else None,
            content=content,
        )
        for number, content in enumerate(messages)
    ]
    target.parent.mkdir(parents=True, exist_ok=True)
    # The runtime writes sources by rename; the workspace looks at their directories for that.
    fresh = target.with_suffix(".new")
    fresh.write_bytes(sources.append(before, records).encode("utf-8"))
    fresh.replace(target)
    return [record.id for record in records]


def _cited(path: str, cited: Sequence[SourceId]) -> str:
    if not cited:
        return "[test/none/0](../sources/test/none.md#source-0000000000000000)"
    links = []
    for source in cited:
        target = paths.relative(RelPath(path), sources.thread_path(source))
        links.append(f"[{source}]({target}#{ids.anchor(source)})")
    return ", ".join(links)


def opened(root: Path) -> Workspace:
    """A new workspace, or the one that is there."""
    return Workspace.open(root / "memory")
