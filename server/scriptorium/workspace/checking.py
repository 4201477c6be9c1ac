"""Which parts of the contract a change can break, and whether it did; and the check of everything.

Promises: an update answers for the files it edits, whole, and for links elsewhere that it breaks;
never for a breach that a person left in another file. Every problem is found at once. Changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from scriptorium.format import contract, ids, paths
from scriptorium.format.model import ContractCode, Problem, RelPath, Rule, SourceId, Topic
from scriptorium.workspace.facts import LinkFacts
from scriptorium.workspace.mirror import Mirror


@dataclass(frozen=True, slots=True)
class State:
    """A state of the workspace, as the contract asks about it."""

    mirror: Mirror
    other_file: Callable[[RelPath], bool]
    """Whether there is a file that is neither authored nor a source, such as a view or a picture.
    """
    _anchors: dict[RelPath, dict[str, SourceId]] = field(default_factory=dict)

    def source_exists(self, id: str) -> bool:  # noqa: A002 - the name that `contract.World` gives
        return self.mirror.source_path(id) is not None

    def file_exists(self, path: RelPath) -> bool:
        if paths.is_memory(path):
            return path in self.mirror.files
        return self.other_file(path)

    def anchor_source(self, path: RelPath, anchor: str) -> SourceId | None:
        if path not in self._anchors:
            records = self.mirror.records(path)
            self._anchors[path] = {ids.anchor(source): source for source in records}
        return self._anchors[path].get(anchor)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A state as seen from the file that is checked: `contract.World`."""

    state: State
    path: RelPath

    def block_path(self, id: str) -> RelPath | None:  # noqa: A002
        places = self.state.mirror.block_places(id)
        if len(places) < 2:
            return places[0] if places else None
        # Two files hold the block, which a person did. It is a fault of both of them, and not of a
        # third one that links to either.
        others = [place for place in places if place != self.path]
        if self.path not in places:
            linked = {link.path for link in self.state.mirror.topic(self.path).links}
            others = [place for place in places if place in linked] or others
        return others[0]

    def source_exists(self, id: str) -> bool:  # noqa: A002
        return self.state.source_exists(id)

    def file_exists(self, path: RelPath) -> bool:
        return self.state.file_exists(path)

    def anchor_source(self, path: RelPath, anchor: str) -> SourceId | None:
        return self.state.anchor_source(path, anchor)


@dataclass(frozen=True, slots=True)
class Edited:
    """What an update makes of the authored files that it edits itself."""

    topics: Mapping[RelPath, Topic]
    core: str | None
    """The core's new text; None when it is not edited."""
    removed: frozenset[RelPath]
    """The files that it deletes."""


def check_update(
    before: State, after: State, edited: Edited, core: tuple[str, str]
) -> list[Problem]:
    """Every breach that an update would make or leave in what it edits; `core` is the core as it
    is and as it will be.
    """
    problems = [
        problem
        for path, topic in sorted(edited.topics.items())
        for problem in check_topic(path, topic, after)
    ]
    touched = {*edited.topics, *edited.removed}
    if edited.core is not None:
        problems += check_core(edited.core, after)
        touched.add(paths.CORE)
    elif edited.removed:
        known = {(p.line, p.message) for p in check_core(core[0], before)}
        problems += [p for p in check_core(core[1], after) if (p.line, p.message) not in known]
        touched.add(paths.CORE)
    return problems + list(_broken_links(before.mirror, after.mirror, touched))


def check_topic(path: RelPath, topic: Topic, state: State) -> list[Problem]:
    """Every breach of the contract in one topic."""
    return contract.check_topic(path, topic, _Seen(state, path))


def check_core(text: str, state: State) -> list[Problem]:
    """Every breach of the contract in the core."""
    return contract.check_core(text, _Seen(state, paths.CORE))


def _broken_links(before: Mirror, after: Mirror, touched: set[RelPath]) -> Iterator[Problem]:
    """The links in other files to blocks that stood in a touched file and are no longer there."""
    lost = {
        block.id
        for path in sorted(touched)
        for block in before.topic(path).blocks
        if path not in after.block_places(block.id)
    }
    for block in sorted(lost):
        for path in after.linkers(block):
            if path in touched:
                continue
            for link in after.topic(path).links:
                if link.target == block and not after.holds(link):
                    yield _broken(path, link, after)


def _broken(path: RelPath, link: LinkFacts, after: Mirror) -> Problem:
    rule: Rule = "core-dangling-link" if path == paths.CORE else "dangling-block-link"
    code: ContractCode = "DANGLING_BLOCK_LINK"
    now = after.block_places(link.target)
    fate = f"moves to {now[0]}" if now else "is removed"
    return Problem(
        path,
        link.line,
        rule,
        f"links to ^{link.target} in {link.path}, which {fate} by this update. Keep the block, or"
        " edit the link in the same patch.",
        code,
    )
