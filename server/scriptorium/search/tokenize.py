"""The terms of a text and of a query: what BM25 counts and what a person sees marked.

A text and a query are cut in the same way, so equal words give equal terms. Where a text is in
another language than the query seems to be, the query carries the stems of each language that the
index holds, so a query of one word finds a Spanish text as well as an English one.

Never raises, whatever the string; linear in its length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from scriptorium.search import language, words
from scriptorium.search.language import Profile
from scriptorium.search.written import written_dates

_SHOUT = 3
"""Words: a longer text all in capitals is shouted, and its `US` and `IT` are no acronyms."""
_CACHEABLE = 24
"""Characters of a raw word that is likely to come again."""


def terms(text: str) -> list[str]:
    """The terms of `text` in order, repeated as often as they stand there."""
    return terms_and_language(text)[0]


def terms_and_language(text: str) -> tuple[list[str], str]:
    """The terms of `text`, and the language that its Latin words were stemmed in."""
    raw = words.raw_words(text)
    profile = language.profile(raw, text)
    acronyms = _has_acronyms(text, raw)
    found: list[str] = []
    for word in raw:
        found += _of_word(word, profile, acronyms)
    return found + written_dates(text), profile.latin


class Asked(NamedTuple):
    """One term of a query."""

    term: str
    word: int | None
    """Which word of the query it speaks for: equal for the parts of one identifier, and each bigram
    of a script without blanks its own; None for a single character of such a script."""


def query_terms(text: str, languages: Collection[str] = ()) -> list[Asked]:
    """The terms of a query over an index whose Latin texts are in `languages`."""
    raw = words.raw_words(text)
    profile = language.profile(raw, text)
    acronyms = _has_acronyms(text, raw)
    others = [profile._replace(latin=name) for name in sorted(languages) if name != profile.latin]
    number = count(len(raw))
    found: list[Asked] = []
    for nth, word in enumerate(raw):
        own = _of_word(word, profile, acronyms)
        variants = {term for other in others if own for term in _of_word(word, other, acronyms)}
        for term in (*own, *sorted(variants.difference(own))):
            if not words.is_unspaced(term):
                found.append(Asked(term, nth))
            else:
                found.append(Asked(term, next(number) if len(term) > 1 else None))
    return found + [Asked(date, None) for date in written_dates(text)]


def spans(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Every word of `text` that has terms, with its place: (start, end, terms)."""
    raw = words.raw_words(text)
    profile = language.profile(raw, text)
    acronyms = _has_acronyms(text, raw)
    for start, end, word in words.raw_spans(text):
        if of_word := _of_word(word, profile, acronyms):
            yield start, end, of_word


def _has_acronyms(text: str, raw: list[str]) -> bool:
    return len(raw) <= _SHOUT or not text.isupper()


def _of_word(raw: str, profile: Profile, acronyms: bool) -> tuple[str, ...]:
    if len(raw) > _CACHEABLE:
        return _cut(raw, profile, acronyms)
    return _cached(raw, profile, acronyms)


def _cut(raw: str, profile: Profile, acronyms: bool) -> tuple[str, ...]:
    to_stem, exact = words.split(raw)
    keep_all = acronyms and 2 <= len(raw) <= 5 and raw.isupper()
    for word in to_stem:
        name = profile.of(word)
        if keep_all or not language.is_stop(word, name):
            exact.append(language.stem(word, name))
    return tuple(exact)


_cached = lru_cache(maxsize=20_000)(_cut)
