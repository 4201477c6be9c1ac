"""What a reading made of the last few texts is kept: an update, and the search after it, read one
text for its names, its links, its blocks and its facts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps

_TEXTS = 8
_LONGEST = 1 << 18
"""Characters of a text that is kept."""


def remembering[R](read: Callable[[str], R]) -> Callable[[str], R]:
    """`read`, at once where it was asked the same of late; what it makes must never change."""
    remembered = lru_cache(maxsize=_TEXTS)(read)

    @wraps(read)
    def reading(text: str) -> R:
        return remembered(text) if len(text) <= _LONGEST else read(text)

    return reading
