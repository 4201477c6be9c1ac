"""Which language a text is written in, and the stem of a word in it.

The script decides where it can; within a script the function words vote, and a text that does not
vote clearly gets the script's default (English, Russian, Arabic, Hindi). Equal text gives an equal
answer, always. A language is a name that snowballstemmer knows; None means: leave words as they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

from scriptorium.search import words
from scriptorium.search.stopwords import STOPWORDS

_VOTERS = 400
"""Words of a text that vote: more do not change the answer, and a long text stays cheap."""
_CLEAR = 2
"""Function words that another language needs before the default gives way,"""
_DENSE = 8
"""and one in so many words: running text of any language has more."""


class Profile(NamedTuple):
    """The language of each script in one text."""

    latin: str = "english"
    cyrillic: str | None = "russian"
    arabic: str | None = "arabic"
    devanagari: str | None = "hindi"

    def of(self, word: str) -> str | None:
        """The language of one folded word, by its first letter."""
        first = word[:1]
        if first < "\u0250":
            return self.latin
        for name, low, high in _SCRIPTS:
            if low <= first <= high:
                return getattr(self, name, name)
        return None


_SCRIPTS = (
    ("greek", "\u0370", "\u03ff"),
    ("cyrillic", "\u0400", "\u052f"),
    ("armenian", "\u0530", "\u058f"),
    ("arabic", "\u0600", "\u077f"),
    ("devanagari", "\u0900", "\u097f"),
    ("tamil", "\u0b80", "\u0bff"),
)
_LATIN = tuple(
    name
    for name in STOPWORDS
    if name
    not in {
        *("russian", "serbian", "greek", "arabic", "persian", "hindi", "nepali"),
        *("armenian", "tamil"),
    }
)
_OWN_LETTERS = (  # letters that rule the default out, and what the text is then
    ("cyrillic", frozenset("ђјљњћџ"), "serbian"),
    ("cyrillic", frozenset("іїєґў"), None),
    ("arabic", frozenset("پچژگ"), "persian"),
    ("arabic", frozenset("ٹڈڑںے"), None),
)


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - snowballstemmer's name


def profile(raw: list[str], text: str) -> Profile:
    """The languages of `text`, whose raw words are `raw`."""
    heads = [words.fold(word) for word in raw[:_VOTERS]]
    latin = _winner(heads, _LATIN, "english")
    if text.isascii():
        return Profile(latin)
    found: dict[str, str | None] = {}
    letters = set(text)
    for script, own, name in _OWN_LETTERS:
        if script not in found and letters & own:
            found[script] = name
    return Profile(
        latin,
        found.get("cyrillic", _winner(heads, ("russian", "serbian"), "russian")),
        found.get("arabic", _winner(heads, ("arabic", "persian"), "arabic")),
        _winner(heads, ("hindi", "nepali"), "hindi"),
    )


def is_stop(word: str, language: str | None) -> bool:
    """Whether a folded word is a function word of the language."""
    return word in STOPWORDS.get(language or "", ())


def stem(word: str, language: str | None) -> str:
    """The Snowball stem of a folded word; words that hold a digit or two letters stay whole."""
    if language is None or len(word) < 3 or not word.isalpha():
        return word
    return words.fold_marks(_stemmer(language).stemWord(word)) or word


def _winner(heads: Sequence[str], languages: tuple[str, ...], default: str) -> str:
    votes: dict[str, int] = {}
    voters = _voters(languages)
    for word in heads:
        for name in voters.get(word, ()):
            votes[name] = votes.get(name, 0) + 1
    if not votes:
        return default
    best = max(votes, key=lambda name: (votes[name], name == default, name))
    clear = max(_CLEAR, len(heads) // _DENSE)
    return best if votes[best] >= clear and votes[best] > votes.get(default, 0) else default


@cache
def _voters(languages: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    voters: dict[str, tuple[str, ...]] = {}
    for name in languages:
        for word in STOPWORDS[name]:
            voters[word] = (*voters.get(word, ()), name)
    return voters


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer  # noqa: PLC0415 - 25 ms that a server without a search never pays

    stemmer: _Stemmer = snowballstemmer.stemmer(language)
    return stemmer
