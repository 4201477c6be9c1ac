"""A mapping that never changes and is cheap to change: a large shared base under a small overlay.

It lets every snapshot keep the state it saw while an update of a few entries costs those few, not a
copy of everything. `changed` gives the next mapping; the old one stays as it is.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from typing import overload

_SMALLEST = 256
_SHARE = 64
"""The overlay is merged into a new base when it grows beyond this share of the base."""


class Persistent[K, V](Mapping[K, V]):
    """An immutable mapping; None is no value, it marks a removed key in the overlay."""

    __slots__ = ("_base", "_over", "_size")

    def __init__(
        self, base: dict[K, V], over: Mapping[K, V | None] | None = None, size: int | None = None
    ) -> None:
        """Takes `base` over: the caller must not change it afterwards."""
        self._base = base
        self._over: Mapping[K, V | None] = over or {}
        self._size = len(base) if size is None else size

    def changed(self, changes: Mapping[K, V | None]) -> Persistent[K, V]:
        """The mapping with `changes` made; None removes a key."""
        if not changes:
            return self
        over = {**self._over, **changes}
        if len(over) > max(_SMALLEST, len(self._base) // _SHARE):
            return Persistent(_merged(self._base, over))
        grown = sum((value is not None) - (key in self) for key, value in changes.items())
        return Persistent(self._base, over, self._size + grown)

    @overload
    def get(self, key: K, default: None = None, /) -> V | None: ...
    @overload
    def get[D](self, key: K, default: V | D, /) -> V | D: ...
    def get[D](self, key: K, default: V | D | None = None, /) -> V | D | None:
        # The general one of Mapping raises and catches for each absent key, which most are.
        over = self._over
        if key in over:
            value = over[key]
            return default if value is None else value
        return self._base.get(key, default)

    def __getitem__(self, key: K) -> V:
        if key in self._over:
            value = self._over[key]
            if value is None:
                raise KeyError(key)
            return value
        return self._base[key]

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None  # type: ignore[arg-type]  # what is no key is absent

    def __iter__(self) -> Iterator[K]:
        over = self._over
        yield from (key for key in self._base if key not in over)
        yield from (key for key, value in over.items() if value is not None)

    def __len__(self) -> int:
        return self._size

    def items(self) -> ItemsView[K, V]:
        return _Items(self)

    def pairs(self) -> Iterator[tuple[K, V]]:
        """The items, without a look-up for each."""
        over = self._over
        if not over:
            yield from self._base.items()
            return
        yield from (item for item in self._base.items() if item[0] not in over)
        for key, value in over.items():
            if value is not None:
                yield key, value


class _Items[K, V](ItemsView[K, V]):
    _mapping: Persistent[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return self._mapping.pairs()


def _merged[K, V](base: dict[K, V], over: Mapping[K, V | None]) -> dict[K, V]:
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged
