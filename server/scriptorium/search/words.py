"""Cuts text into words and folds them; knows nothing of languages.

A word is a run of letters, digits and their marks in any script; words joined by one of `_-./:@`
and the like (`snake_case`, `a/b.py`, `well-known`, `2026-08-03`) are one raw word, whose parts come
out as well. Runs of scripts that write no blanks between words (Chinese, Japanese, Korean, Thai and
their neighbours) come out as single characters and bigrams; a symbol or an emoji is a word.

Every function is total: any string, lone surrogates included, gives a result in linear time.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from scriptorium.search.stopwords import STOP_CHARACTERS

LONGEST = 64
"""Characters of a word that count: longer ones (base64, keys) are told apart by these."""

_MARKS = (  # what `\w` leaves out though it stands inside words: vowel signs, accents, joiners
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0980-\u0dff\u0f18-\u0f84\u135d-\u135f"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe0f\ufe20-\ufe2f"
)
_UNSPACED = (  # Thai, Lao, Burmese, Khmer, kana, Han, Hangul with its jamo, half-width forms
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff"
    "\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_SYMBOL = "[\u2190-\u2bff\U0001f000-\U0001faff]"
_LETTERS = rf"(?:[^\W_]|[{_MARKS}])+"
_JOINERS = r"-_./:@#&+=,"
_ASCII_RAW = re.compile(rf"[^\W_]+(?:(?:::|[{_JOINERS}])[^\W_]+)*(?:\+\+|#)?", re.ASCII)
_RAW = re.compile(
    rf"{_LETTERS}(?:(?:::|[{_JOINERS}\u2010\u2011\u00b7]){_LETTERS})*(?:\+\+|#)?|{_SYMBOL}"
)
_JOINER = re.compile(rf"[{_JOINERS}\u2010\u2011\u00b7]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+[a-z]*")
_UNSPACED_RUN = re.compile(f"([{_UNSPACED}]+)")
_CJK_DATE = re.compile(r"(\d{4})年(\d{1,2})月(?:(\d{1,2})日)?")
_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?(?:[Tt][\d:.+-]*[Zz]?)?")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def raw_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Every raw word of `text` with its place: (start, end, word), in order."""
    return ((m.start(), m.end(), m.group()) for m in _pattern(text).finditer(text))


def raw_words(text: str) -> list[str]:
    """Every raw word of `text`, in order."""
    return _pattern(text).findall(text)


def split(raw: str) -> tuple[list[str], list[str]]:
    """The folded pieces of a raw word: (words to stem, terms to take as they are)."""
    if raw.isascii():
        return _split_spaced(raw)
    raw = unicodedata.normalize("NFKC", raw)
    words: list[str] = []
    exact = [date for m in _CJK_DATE.finditer(raw) for date in _precisions(*m.groups())]
    for nth, run in enumerate(_UNSPACED_RUN.split(raw)):
        if nth % 2:
            exact += [character for character in run if character not in STOP_CHARACTERS]
            exact += map("".join, itertools.pairwise(run))
            continue
        for piece in fold_marks(run).split():
            more, taken = _split_spaced(piece)
            words += more
            exact += taken
    return words, exact


def is_unspaced(term: str) -> bool:
    """Whether a term is made of characters of a script that writes no blanks between words."""
    return not term.isascii() and _UNSPACED_RUN.match(term) is not None


def fold(word: str) -> str:
    """`word` in lower case, without Latin and Greek accents and without vowel points."""
    return (
        word.lower()
        if word.isascii()
        else fold_marks(unicodedata.normalize("NFKC", word)).casefold()
    )


def fold_marks(text: str) -> str:
    """`text` without Latin and Greek accents and the marks that writers may leave out."""
    return text if text.isascii() else text.translate(_bare())


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII_RAW if text.isascii() else _RAW


def _split_spaced(raw: str) -> tuple[list[str], list[str]]:
    whole = raw.casefold()
    parts = [part for part in _JOINER.split(raw) if part]
    if parts == [raw]:
        return [whole[:LONGEST], *_camel(raw)], []
    if _THOUSANDS.fullmatch(raw):
        return [], [whole.replace(",", "")[:LONGEST]]
    if date := _DATE.fullmatch(raw):
        year, _, month, day = date.groups()
        if exact := _precisions(year, month, day):
            return [year], exact
    exact = [whole] if len(whole) <= LONGEST else []
    if "/" in raw:
        exact += [p.casefold() for p in raw.split("/") if len(p) <= LONGEST and _JOINER.search(p)]
    words: list[str] = []
    for part in parts:
        words += [part.casefold()[:LONGEST], *_camel(part)]
    return words, exact


def _camel(part: str) -> list[str]:
    """The parts of `camelCase` and `HTTPServer`; none where the case does not change inside."""
    if part.islower() or part.isupper() or not part.isascii():
        return []
    pieces = _CAMEL.findall(part)
    return [piece.lower()[:LONGEST] for piece in pieces] if len(pieces) > 1 else []


def _precisions(year: str, month: str, day: str | None) -> list[str]:
    """A date's month and day, as `2026-08` and `2026-08-03`; nothing for what is no date."""
    if not 1 <= int(month) <= 12 or (day and not 1 <= int(day) <= 31):
        return []
    of_month = f"{int(year):04}-{int(month):02}"
    return [of_month, f"{of_month}-{int(day):02}"] if day else [of_month]


@cache
def _bare() -> dict[int, str | None]:
    letters = (
        *range(0xC0, 0x250),
        *range(0x370, 0x400),
        *range(0x1E00, 0x2000),
    )
    table: dict[int, str | None] = {}
    for code in letters:
        parts = unicodedata.normalize("NFD", chr(code))
        table[code] = "".join(c for c in parts if not unicodedata.combining(c))
    table |= {ord(a): b for a, b in ("øo", "Øo", "łl", "Łl", "đd", "Đd", "ðd", "ıi", "ħh")}
    table |= {ord(a): b for a, b in ("ёе", "Ёе")}
    table |= {
        ord(a): b for a, b in (("æ", "ae"), ("Æ", "ae"), ("œ", "oe"), ("þ", "th"), ("ß", "ss"))
    }
    dropped = ((0x300, 0x36F), (0x591, 0x5C7), (0x610, 0x61A), (0x64B, 0x65F), (0x200C, 0x200D))
    for first, last in dropped:
        table |= dict.fromkeys(range(first, last + 1))
    return table | dict.fromkeys((0xAD, 0x640, 0x670, 0xFE0E, 0xFE0F))
