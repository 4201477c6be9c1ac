"""Where a text holds a query's words: to mark them, and to show the part of a long text with most.

Changes no text beyond cutting it.
"""

from __future__ import annotations

from collections.abc import Collection

from scriptorium.search import tokenize, words

_ELLIPSIS = "…"
_MOST = 200_000
"""Characters of a text that are looked through for its best part."""


def marks(query: str, text: str) -> list[tuple[int, int]]:
    """(start, end) of each stretch of `text` that matches a word of `query`.

    In order, none overlapping another.
    """
    return places({asked.term for asked in tokenize.query_terms(query)}, text)


def places(terms: Collection[str], text: str) -> list[tuple[int, int]]:
    """(start, end) of each stretch of `text` that has one of the terms."""
    has_bigram = any(len(term) > 1 and words.is_unspaced(term) for term in terms)
    found: list[tuple[int, int]] = []
    for start, end, of_word in tokenize.spans(text):
        if not any(term in terms for term in of_word):
            continue
        if any(words.is_unspaced(term) for term in of_word):
            found += _within(text, start, end, terms, 2 if has_bigram else 1)
        else:
            found.append((start, end))
    return _joined(found)


def excerpt(text: str, terms: Collection[str], most: int) -> str:
    """`text`, or of one that has more than `most` bytes of UTF-8 the part with most matches."""
    if len(text.encode("utf-8", "surrogatepass")) <= most:
        return text
    head = text[:_MOST]
    width = max(1, most * len(head) // max(1, len(head.encode("utf-8", "surrogatepass"))))
    at = [start for start, _ in places(terms, head)]
    best, last = 0, 0
    start = 0
    for first in range(len(at)):
        last = max(last, first)
        while last < len(at) and at[last] < at[first] + width * 3 // 4:
            last += 1
        if last - first > best:
            best, start = last - first, at[first]
    start = max(0, min(start - width // 8, len(text) - width))
    if start:
        start = text.find(" ", start, start + 40) + 1 or start
    part = text[start : start + width]
    return (_ELLIPSIS if start else "") + part + (_ELLIPSIS if start + width < len(text) else "")


def _within(
    text: str, start: int, end: int, terms: Collection[str], width: int
) -> list[tuple[int, int]]:
    at = range(start, end - width + 1)
    return [(n, n + width) for n in at if text[n : n + width] in terms]


def _joined(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
