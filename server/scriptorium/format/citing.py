"""The sources that a text names, rendered as links to their records.

Owns the form `[<source id>](<relative path>#source-<16 hex>)`, also of the labels that prose names.
A reference that is right already keeps every byte; one that names an unknown source stays as it is,
for the contract to judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scriptorium.format import inline, paths
from scriptorium.format.ids import anchor
from scriptorium.format.links import destination
from scriptorium.format.model import RelPath, SourceId
from scriptorium.format.regions import Region, Replacement

_SOURCES = re.compile(r";\s*Sources\s*:")
_LABEL = re.compile(r"(?<![\w/-])(?:\[(new-source-[\w-]*\w)\]|(new-source-[\w-]*\w))")
_BARE = re.compile(r"\[([^\s\[\]^]+)\]|([^\s,;\[\]()`<>]+)")


@dataclass(frozen=True, slots=True)
class Sources:
    """What is known of sources: those that the update brings, and those that are archived."""

    labels: Mapping[str, SourceId]
    path: Callable[[str], RelPath | None]
    """The file that holds a source; None for an unknown one."""

    def cited(self, name: str) -> SourceId | None:
        """The source that a label or a full id names; None when there is none."""
        if name in self.labels:
            return self.labels[name]
        return SourceId(name) if self.path(name) is not None else None

    def link(self, source: SourceId, origin: RelPath) -> str:
        """The reference to `source` as it is written in the file `origin`."""
        place = self.place(source, origin)
        return f"[{source}]({place})" if place else source

    def place(self, source: SourceId, origin: RelPath) -> str | None:
        """The destination of a link in the file `origin` to the record of `source`."""
        path = self.path(source)
        return f"{paths.relative(origin, path)}#{anchor(source)}" if path else None


def references(region: Region) -> Iterator[tuple[int, int, str, str | None]]:
    """Each source that a definition names: start and end in the region, name, destination."""
    found = _SOURCES.search(region.masked)
    if found is None:
        return
    at = found.end()
    spans = sorted(inline.spans(region.text, region.masked), key=lambda span: span.start)
    for span in (s for s in spans if s.start >= at):
        yield from _bare(region, at, span.start)
        name = inline.plain_label(region.text[span.start + 1 : span.middle])
        yield span.start, span.end, name, span.target
        at = span.end
    yield from _bare(region, at, len(region.text))


def rendered(region: Region, origin: RelPath, sources: Sources) -> Iterator[Replacement]:
    """The references of a definition in the file `origin` that have to be written anew."""
    for start, end, name, target in references(region):
        source = sources.cited(name) or sources.labels.get(target or "")
        if source is None:
            continue
        if target is None or name != source or not _leads(origin, target, source, sources):
            yield region.start + start, region.start + end, sources.link(source, origin)


def mentioned(region: Region, origin: RelPath, sources: Sources) -> Iterator[Replacement]:
    """The labels of the update's sources that prose in the file `origin` names or links to."""
    if "new-source-" not in region.text and "\\" not in region.text:
        return  # neither written out nor with escapes
    spans = inline.spans(region.text, region.masked)
    for span in spans:
        source = sources.labels.get(span.target)
        if source is None:
            continue
        start, end = destination(region.text, span)
        instead = sources.place(source, origin) or source
        if region.text[span.start + 1 : span.middle] == span.target:
            start, end, instead = span.start, span.end, sources.link(source, origin)
        yield region.start + start, region.start + end, instead
    for found in _LABEL.finditer(region.masked):
        source = sources.labels.get(found[1] or found[2])
        linked = any(span.start <= found.start() < span.end for span in spans)
        if source is not None and not linked:
            yield (
                region.start + found.start(),
                region.start + found.end(),
                sources.link(source, origin),
            )


def _leads(origin: RelPath, target: str, source: SourceId, sources: Sources) -> bool:
    path, fragment = inline.split_target(target)
    return fragment == anchor(source) and paths.resolve(origin, path) == sources.path(source)


def _bare(region: Region, start: int, end: int) -> Iterator[tuple[int, int, str, None]]:
    for found in _BARE.finditer(region.masked, start, end):
        yield found.start(), found.end(), found[1] or found[2], None
