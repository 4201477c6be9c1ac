"""The rules of the contract that look beyond the file: ids, sources and links.

Owns what a reference must find in the `World`. Promises one problem a reference, with the next
step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scriptorium.format import claims, paths
from scriptorium.format.model import (
    Evidence,
    Link,
    Problem,
    RelPath,
    Rule,
    SourceId,
    SourceRef,
    Topic,
)
from scriptorium.format.rules import shown
from scriptorium.format.world import World


class References:
    """What one file refers to, held against the world."""

    def __init__(self, path: RelPath, topic: Topic, world: World) -> None:
        self.path = path
        self.topic = topic
        self.world = world
        self.own = {block.id for block in topic.blocks}

    def ids(self) -> Iterator[Problem]:
        """Rule 5: an id names one block of the workspace."""
        seen: set[str] = set()
        for block in self.topic.blocks:
            if block.id is None:
                continue
            elsewhere = self.world.block_path(block.id)
            where = "two blocks of this file" if block.id in seen else ""
            if elsewhere not in (None, self.path):
                where = f"a block of {elsewhere} too"
            seen.add(block.id)
            if where:
                message = f"The id ^{block.id} names {where}. Give this block ^new-block-<name>."
                yield Problem(self.path, block.end_line, "duplicate-block-id", message)

    def sources(self) -> Iterator[Problem]:
        """Rule 3: the sources that evidence names exist."""
        for definition in self.topic.evidence:
            for source in definition.sources:
                fault = self._source_fault(source)
                if fault:
                    yield self._missing_source(definition, fault)

    def links(self) -> Iterator[Problem]:
        """Rule 4: a link to a topic names a block that is there."""
        for heading in self.topic.headings:
            for link in claims.links(heading.text, heading.line):
                yield from self._link(link)
        for block in self.topic.blocks:
            for link in block.links:
                yield from self._link(link)

    def core_links(self, links: Iterable[Link]) -> Iterator[Problem]:
        """Rule 7: the links of core.md resolve."""
        for link in links:
            target = paths.resolve(self.path, link.path)
            if target is None:
                yield self._lost(link, "leaves the workspace. Link to a file in it, or to a URL.")
            elif link.fragment.startswith("^"):
                fault = self._dangling(target, link.fragment[1:])
                if fault:
                    yield self._dangling_link(link, "core-dangling-link", fault)
            elif link.path and not self.world.file_exists(target):
                yield self._lost(link, f"leads to {target}, which does not exist. Mend the path.")

    def _source_fault(self, source: SourceRef) -> str:
        named, linked = self.world.source_exists(source.id), self._linked(source)
        if named and linked not in (None, source.id):
            return f"names {source.id} and links to {linked}. Make both the same source."
        if named or linked is not None:
            return ""
        return (
            f"names the source {shown(source.id)}, which does not exist. Pass it in `sources` "
            "under a label new-source-<name> and name that label, or name a source that exists."
        )

    def _linked(self, source: SourceRef) -> SourceId | None:
        path, _, anchor = (source.target or "").partition("#")
        resolved = paths.resolve(self.path, path) if anchor else None
        return self.world.anchor_source(resolved, anchor) if resolved else None

    def _missing_source(self, definition: Evidence, fault: str) -> Problem:
        message = f"[^{definition.id}] {fault}"
        return Problem(self.path, definition.line, "unknown-source", message, "MISSING_SOURCE")

    def _link(self, link: Link) -> Iterator[Problem]:
        target = paths.resolve(self.path, link.path)
        if target is None or paths.kind(target) != "topic":
            return
        if not link.fragment.startswith("^"):
            message = (
                f"The link to {shown(link.target)} names no block. Point it at one, "
                f"`{link.path}#^<block id>`: read {target} for its ids."
            )
            yield Problem(self.path, link.line, "link-without-block", message)
        elif fault := self._dangling(target, link.fragment[1:]):
            yield self._dangling_link(link, "dangling-block-link", fault)

    def _dangling(self, target: RelPath, block: str) -> str:
        """Why no block of this id stands in `target`; empty when one does."""
        place = self.world.block_path(block)
        if place == target or (target == self.path and block in self.own):
            return ""
        if place is None:
            return (
                f"The block ^{shown(block)} that a link seeks in {target} does not exist. "
                "Link to one that does, or remove the link."
            )
        right = "" if place == self.path else paths.relative(self.path, place)
        return f"The block ^{block} stands in {place}, not in {target}. Link to `{right}#^{block}`."

    def _dangling_link(self, link: Link, rule: Rule, fault: str) -> Problem:
        return Problem(self.path, link.line, rule, fault, "DANGLING_BLOCK_LINK")

    def _lost(self, link: Link, why: str) -> Problem:
        message = f"The link to {shown(link.target)} {why}"
        return Problem(self.path, link.line, "core-dangling-link", message)
