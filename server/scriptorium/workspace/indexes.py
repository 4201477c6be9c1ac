"""The ways to find what a file's facts say: by block, link, source and time, over all files.

Promises: `changed` gives the next indexes at the price of the files that change, and the same files
give equal indexes by whatever road they were reached. Derived from facts alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC
from functools import lru_cache

from scriptorium.format.model import RelPath, SourceId
from scriptorium.format.times import moment
from scriptorium.workspace.facts import BlockFacts, Facts, SourceFacts, TopicFacts
from scriptorium.workspace.persistent import Persistent

type Places = tuple[RelPath, ...]
"""Sorted, without repetition, never empty."""
type Newness = tuple[str, str, RelPath, int]
"""Latest time, latest observation (UTC), path, ordinal in the file: the order of recent events."""
type Lookup = Callable[[RelPath], Facts | None]
"""A file's facts; None when there is no such file."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """Over the files of one state: `built`, then `changed` from state to state."""

    blocks: Persistent[str, Places]
    """Where the block of an id lives; more than one place is a breach that a person made."""
    linkers: Persistent[str, Places]
    """The files that link to a block id."""
    sources: Persistent[str, Places]
    """The source files that hold a source id."""
    citing: Persistent[str, Places]
    """The topics whose evidence names a source id."""
    calendar: Persistent[str, Places]
    """The topics that have a block at a time (`YYYY`, `YYYY-MM`, `YYYY-MM-DD`)."""
    newest: Persistent[RelPath, Newness]
    """Each topic's newest block."""
    ranking: tuple[Newness, ...]
    """The values of `newest`, sorted."""

    def changed(self, before: Lookup, after: Lookup, paths: Collection[RelPath]) -> Indexes:
        """The indexes after the files at `paths` have gone from one state to another."""

        def moved(index: Persistent[str, Places], keys: _Keys) -> Persistent[str, Places]:
            return _moved(index, keys, before, after, paths)

        indexed = replace(
            self,
            blocks=moved(self.blocks, _block_ids),
            linkers=moved(self.linkers, _link_targets),
            sources=moved(self.sources, _source_ids),
            citing=moved(self.citing, _cited_ids),
            calendar=moved(self.calendar, _times),
        )
        touched = {*paths, *_citing_changed_sources(indexed, before, after, paths)}
        return _ranked(indexed, after, touched)


def built(facts: Lookup, paths: Iterable[RelPath]) -> Indexes:
    """The indexes over the files at `paths`: as one `changed` after the other would make them."""
    ordered = sorted(paths)
    indexed = Indexes(
        blocks=_collected(_block_ids, facts, ordered),
        linkers=_collected(_link_targets, facts, ordered),
        sources=_collected(_source_ids, facts, ordered),
        citing=_collected(_cited_ids, facts, ordered),
        calendar=_collected(_times, facts, ordered),
        newest=Persistent({}),
        ranking=(),
    )
    return _ranked(indexed, facts, ordered)


def observed_at(indexes: Indexes, facts: Lookup, source: str) -> str | None:
    """When the source was observed; None where that, or the source, is unknown."""
    for path in indexes.sources.get(source, ()):
        held = facts(path)
        if isinstance(held, SourceFacts):
            return held.records.get(SourceId(source))
    return None


def last_observed(indexes: Indexes, facts: Lookup, block: BlockFacts) -> str | None:
    """The latest observation among the block's sources, as it is written there."""
    known = [at for at in (observed_at(indexes, facts, s) for s in block.sources) if at]
    return max(known, key=_instant, default=None) if len(known) > 1 else next(iter(known), None)


def newness(
    indexes: Indexes, facts: Lookup, path: RelPath, ordinal: int, block: BlockFacts
) -> Newness:
    """What decides how new the block is."""
    observed = last_observed(indexes, facts, block)
    return (block.latest, _instant(observed) if observed else "", path, ordinal)


type _Keys = Callable[[Facts], Collection[str]]


def _collected(keys: _Keys, facts: Lookup, ordered: Iterable[RelPath]) -> Persistent[str, Places]:
    """The index over files that come in order."""
    index: dict[str, Places] = {}
    for path in ordered:
        held = facts(path)
        alone = (path,)
        for key in set(keys(held)) if held else ():
            before = index.get(key)
            index[key] = before + alone if before else alone
    return Persistent(index)


def _moved(
    index: Persistent[str, Places],
    keys: _Keys,
    before: Lookup,
    after: Lookup,
    paths: Collection[RelPath],
) -> Persistent[str, Places]:
    """`index` after each changed file has left its old keys and entered its new ones."""
    moved: dict[str, Places | None] = {}
    for path in paths:
        old, new = before(path), after(path)
        was, now = set(keys(old) if old else ()), set(keys(new) if new else ())
        alone = (path,)
        for key in was - now:
            held = moved[key] if key in moved else index.get(key)
            moved[key] = tuple(p for p in held or () if p != path) or None
        for key in now - was:
            held = moved[key] if key in moved else index.get(key)
            # One tuple for all keys of a file: most keys have one place.
            moved[key] = tuple(sorted({*held, path})) if held else alone
    return index.changed(moved)


def _block_ids(facts: Facts) -> Collection[str]:
    return [b.id for b in facts.blocks] if isinstance(facts, TopicFacts) else ()


def _link_targets(facts: Facts) -> Collection[str]:
    return [link.target for link in facts.links] if isinstance(facts, TopicFacts) else ()


def _source_ids(facts: Facts) -> Collection[str]:
    return facts.records if isinstance(facts, SourceFacts) else ()


def _cited_ids(facts: Facts) -> Collection[str]:
    if not isinstance(facts, TopicFacts):
        return ()
    return [source for block in facts.blocks for source in block.sources]


def _times(facts: Facts) -> Collection[str]:
    if not isinstance(facts, TopicFacts):
        return ()
    return [time for block in facts.blocks for time in block.times]


def _citing_changed_sources(
    indexes: Indexes, before: Lookup, after: Lookup, paths: Iterable[RelPath]
) -> Iterable[RelPath]:
    """The topics whose sources were added, lost or dated anew."""
    for path in paths:
        old, new = before(path), after(path)
        was = set(old.records.items()) if isinstance(old, SourceFacts) else set()
        now = set(new.records.items()) if isinstance(new, SourceFacts) else set()
        for source in {source for source, _ in was ^ now}:
            yield from indexes.citing.get(source, ())


def _ranked(indexes: Indexes, facts: Lookup, touched: Collection[RelPath]) -> Indexes:
    """`indexes` with the newest block of each `touched` file and the ranking of all files
    renewed.
    """
    newest = {path: _newest(indexes, facts, path) for path in touched}
    ranking = list(indexes.ranking)
    if len(touched) > len(ranking) // 8:
        renewed = indexes.newest.changed(newest)
        return replace(indexes, newest=renewed, ranking=tuple(sorted(renewed.values())))
    for path, key in newest.items():
        old = indexes.newest.get(path)
        if old is not None:
            del ranking[bisect_left(ranking, old)]
        if key is not None:
            ranking.insert(bisect_left(ranking, key), key)
    return replace(indexes, newest=indexes.newest.changed(newest), ranking=tuple(ranking))


def _newest(indexes: Indexes, facts: Lookup, path: RelPath) -> Newness | None:
    held = facts(path)
    blocks = held.blocks if isinstance(held, TopicFacts) else ()
    times = [block.latest for block in blocks]
    latest = max(times, default="")
    # Observations only decide between blocks of the same time, and are dear to look up.
    return max(
        (newness(indexes, facts, path, n, blocks[n]) for n, t in enumerate(times) if t == latest),
        default=None,
    )


@lru_cache(maxsize=8192)
def _instant(observed_at: str) -> str:
    """The time in UTC, comparable as text; empty (oldest) for what a person misspelt."""
    observed = moment(observed_at)
    return observed.astimezone(UTC).isoformat(timespec="microseconds") if observed else ""
