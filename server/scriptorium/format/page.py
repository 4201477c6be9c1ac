"""One file of an update as the patch leaves it: where its names stand, and what goes there instead.

Owns the places of block ids, citations, links and source references in the text. Promises that
names in code, comments and escaped text are none. Which id a name gets is for `materialise` to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from scriptorium.format import citing, inline, paths
from scriptorium.format.citing import Sources
from scriptorium.format.lines import DEFINITION
from scriptorium.format.links import destination
from scriptorium.format.model import BlockId, EvidenceId, RelPath
from scriptorium.format.regions import Region, Replacement, definitions, regions
from scriptorium.format.scan import scan
from scriptorium.format.segments import BLOCK_KINDS

BLOCK = "new-block-"
EVIDENCE = "new-evidence-"

_WIKILINK = re.compile(r"\[\[[^\[\]|\n]*#\^([^\[\]|\s]+)")
_NAME = re.compile(r"(?<!#)\^new-block-[^\s\[\]|^]*")


class Page:
    """One file of the update, as the patch leaves it."""

    def __init__(self, path: RelPath, text: str, before: Mapping[RelPath, str | None]) -> None:
        self.path = path
        self.text = text
        self.regions = tuple(regions(text))
        self.is_topic = paths.kind(path) == "topic"
        self.marks = tuple(_marks(self.regions))
        """Every block id at the end of a line."""
        self._old = definitions(before.get(path) or "")

    def misplaced(self) -> Iterator[tuple[int, str]]:
        """The line and text of each name of a block that does not end a line, as an id has to."""
        ends = {(region.start, mark.start) for region, mark in self.marks}
        for region in self.regions if BLOCK in self.text else ():
            for found in _NAME.finditer(region.masked):
                if (region.start, found.start()) not in ends:
                    yield region.line_at(found.start()), found[0]

    def definitions(self) -> Iterator[tuple[Region, str]]:
        """The footnote definitions that the update writes, and their labels."""
        for region in self.regions:
            found = DEFINITION.search(region.text) if region.kind == "definition" else None
            if found and region.text not in self._old:
                yield region, found[1]

    def block_texts(self) -> dict[int, str]:
        """The text of the block that ends on each line, for its id to be derived from."""
        if BLOCK not in self.text:
            return {}
        blocks = (segment for segment in scan(self.text) if segment.kind in BLOCK_KINDS)
        return {block.rows[-1].line: block.text.rstrip("\r\n") for block in blocks}

    def blocks(self, named: Mapping[tuple[RelPath, int], BlockId]) -> Iterator[Replacement]:
        """The names of new blocks where they stand."""
        for region, mark in self.marks:
            start, end = region.start + mark.start, region.start + mark.end
            if (self.path, start) in named:
                # Obsidian wants a blank before an id; a name that lacks it was meant to have it.
                glued = mark.start > 0 and not region.masked[mark.start - 1].isspace()
                yield start, end, f"{' ' if glued else ''}^{named[self.path, start]}"

    def links(self, named: Mapping[str, BlockId]) -> Iterator[Replacement]:
        """The names of new blocks in links to them."""
        for region in self.regions if named else ():
            for span in inline.spans(region.text, region.masked):
                name = inline.split_target(span.target)[1].removeprefix("^")
                if name in named:
                    start, end = destination(region.text, span)
                    written = region.text[start:end]
                    close = ">" if written.startswith("<") else ""
                    path = written.partition("#")[0]
                    instead = f"{path}#^{named[name]}{close}"
                    yield region.start + start, region.start + end, instead
            for found in _WIKILINK.finditer(region.masked):
                if found[1] in named:
                    yield (
                        region.start + found.start(1),
                        region.start + found.end(1),
                        named[found[1]],
                    )

    def evidence(self, named: Mapping[str, EvidenceId]) -> Iterator[Replacement]:
        """The names of new evidence where it is cited and defined."""
        for region in self.regions if named else ():
            for citation in inline.citations(region.masked):
                if citation.evidence in named:
                    start, end = region.start + citation.start, region.start + citation.end
                    yield start, end, f"[^{named[citation.evidence]}]"

    def undefined(self, named: Mapping[str, EvidenceId]) -> Iterator[tuple[int, str]]:
        """The line and name of each citation of new evidence that no definition names."""
        for region in self.regions:
            for citation in inline.citations(region.masked):
                if citation.evidence.startswith(EVIDENCE) and citation.evidence not in named:
                    yield region.line_at(citation.start), citation.evidence

    def references(self, sources: Sources) -> Iterator[Replacement]:
        """The sources that new and changed definitions name, and those that prose does."""
        for region, _ in self.definitions():
            yield from citing.rendered(region, self.path, sources)
        for region in self.regions if sources.labels else ():
            if region.kind != "definition":
                yield from citing.mentioned(region, self.path, sources)


def _marks(regions_: Iterable[Region]) -> Iterator[tuple[Region, inline.IdMark]]:
    for region in regions_:
        if region.kind == "block":
            yield from ((region, mark) for mark in inline.id_marks(region.masked))
