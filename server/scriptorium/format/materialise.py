"""The names that a patch gives to new things, replaced by stable ids.

`^new-block-<name>` and links to it, `[^new-evidence-<name>]` and `new-source-<label>` become ids
that are derived from content and origin; every other byte stays. Ids that the update makes up
itself are refused. Code, comments and escaped text are text. Does no I/O: what is taken is asked.

A name of a block belongs to the whole update, a name of evidence to its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from scriptorium.format import evidence, ids, inline
from scriptorium.format.citing import Sources
from scriptorium.format.model import BlockId, EvidenceId, Problem, RelPath, Rule, SourceId
from scriptorium.format.page import BLOCK, EVIDENCE, Page
from scriptorium.format.regions import Region, regions, replaced


@dataclass(frozen=True, slots=True)
class Materialised:
    """The texts with stable ids, and what became of each name."""

    texts: dict[RelPath, str | None]
    """The files of the update; None for a deleted one."""
    block_ids: dict[str, BlockId]
    """By name as written, `new-block-…`."""
    evidence_ids: dict[str, EvidenceId]
    """By name, `new-evidence-…`; `<path>#<name>` where an earlier file uses the name too."""
    problems: tuple[Problem, ...]

    def as_written(self, problem: Problem) -> Problem:
        """`problem` in the words of the patch: with its names where the message has new ids."""
        message = problem.message
        for name, new in (*self.block_ids.items(), *self.evidence_ids.items()):
            message = message.replace(new, name.rpartition("#")[2])
        return replace(problem, message=message)


def materialise(
    edits: Mapping[RelPath, str | None],
    before: Mapping[RelPath, str | None],
    *,
    labels: Mapping[str, SourceId],
    block_taken: Callable[[str], bool],
    evidence_taken: Callable[[str], bool],
    source_path: Callable[[str], RelPath | None],
) -> Materialised:
    """The `edits` with ids for names, and every problem that this meets; raises nothing.

    `before` holds the same files as they were. `block_taken` says whether the workspace had a block
    before, `evidence_taken` which labels a new one must not have, `source_path` where a source is
    archived, those of this update included.
    """
    pages = [Page(path, text, before) for path, text in sorted(edits.items()) if text is not None]
    past = _Past(before)
    problems: list[Problem] = []
    blocks = _name_blocks(pages, past, block_taken, problems)
    evidence_ids: dict[str, EvidenceId] = {}
    texts: dict[RelPath, str | None] = dict.fromkeys(edits)
    sources = Sources(labels, source_path)
    taken = _Taken(evidence_taken)
    for page in pages:
        named = _name_evidence(page, past, sources, taken, problems)
        for name, new in named.items():
            evidence_ids[f"{page.path}#{name}" if name in evidence_ids else name] = new
        texts[page.path] = replaced(
            page.text,
            [
                *page.blocks(blocks.at),
                *page.links(blocks.ids),
                *page.evidence(named),
                *page.references(sources),
            ],
        )
    problems.sort(key=lambda problem: (problem.path, problem.line))
    return Materialised(texts, blocks.ids, evidence_ids, tuple(problems))


class _Taken:
    """The ids that cannot be given: those that were there, and those given since."""

    def __init__(self, before: Callable[[str], bool]) -> None:
        self._before = before
        self._given: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._given or self._before(name))

    def add(self, name: str) -> None:
        self._given.add(name)


class _Past:
    """What the files of the update held before; looked at only when an id has to be proven."""

    def __init__(self, before: Mapping[RelPath, str | None]) -> None:
        self._texts = [text for text in before.values() if text]

    @cached_property
    def blocks(self) -> frozenset[str]:
        return frozenset(m.text for r in self._regions() for m in inline.id_marks(r.masked))

    @cached_property
    def evidence(self) -> frozenset[str]:
        return frozenset(c.evidence for r in self._regions() for c in inline.citations(r.masked))

    def _regions(self) -> Iterator[Region]:
        return (region for text in self._texts for region in regions(text))


@dataclass(frozen=True, slots=True)
class _Names:
    """The ids of the update's new blocks, by name and by place."""

    ids: dict[str, BlockId]
    at: dict[tuple[RelPath, int], BlockId]
    """By file and by where the caret stands. A second use of a name has its own id here."""


def _name_blocks(
    pages: list[Page],
    past: _Past,
    block_taken: Callable[[str], bool],
    problems: list[Problem],
) -> _Names:
    names = _Names({}, {})
    taken = _Taken(block_taken)
    for page in pages:
        texts = page.block_texts()
        for region, mark in page.marks:
            line = region.line_at(mark.start)
            fault = _block_fault(page, mark, names.ids, past, block_taken)
            if fault is not None:
                problems.append(Problem(page.path, line, *fault))
            if mark.text.startswith(BLOCK) and page.is_topic:
                new = ids.block_id(texts.get(line, region.text), page.path, taken)
                names.ids.setdefault(mark.text, new)
                names.at[page.path, region.start + mark.start] = new
                taken.add(new)
        for line, name in page.misplaced():
            message = f"{name} has to end the last line of its block, after a blank."
            problems.append(Problem(page.path, line, "block-id-format", message))
    return names


def _block_fault(
    page: Page,
    mark: inline.IdMark,
    named: Mapping[str, BlockId],
    past: _Past,
    block_taken: Callable[[str], bool],
) -> tuple[Rule, str] | None:
    """The rule and the message for an id that cannot be given."""
    name = mark.text
    if name.startswith(BLOCK):
        if not page.is_topic:
            return "id-outside-topic", f"{page.path} holds no blocks. Remove ^{name}."
        if name in named:
            message = f"^{name} names a block of this update already. Give this one another name."
            return "duplicate-block-id", message
        return None
    known = not page.is_topic or not mark.well_formed or block_taken(name) or name in past.blocks
    message = (
        f"The id ^{name} is not in the workspace: the runtime gives the ids. Name a new block "
        "^new-block-<name>, and keep the id of one that is there."
    )
    return None if known else ("invented-block-id", message)


def _name_evidence(
    page: Page, past: _Past, sources: Sources, taken: _Taken, problems: list[Problem]
) -> dict[str, EvidenceId]:
    named: dict[str, EvidenceId] = {}
    for region, label in page.definitions():
        if label.startswith(EVIDENCE):
            if label not in named:
                said = evidence.read(region.text)
                cited = [sources.cited(ref.id) or ref.id for ref in said.sources]
                content = "\n".join([said.time or "", *cited, label])
                named[label] = ids.evidence_id(content, page.path, taken)
                taken.add(named[label])
        elif page.is_topic and label not in past.evidence:
            message = (
                f"The evidence [^{label}] is in none of the files that this update touches: the "
                "runtime gives the labels. Name new evidence [^new-evidence-<name>]."
            )
            problems.append(Problem(page.path, region.line, "invented-evidence-id", message))
    # The contract sees to a topic's citations; core may have any footnotes but these.
    for line, label in page.undefined(named) if not page.is_topic else ():
        message = (
            f"[^{label}] is cited but not defined in this file. Define it where the file ends."
        )
        problems.append(Problem(page.path, line, "undefined-evidence", message))
    return named
