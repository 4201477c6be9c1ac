"""How a text that was taken out of memory is recognised where it stands elsewhere.

Case, Unicode's forms, line breaks and Markdown's marks do not count: a sentence is the same in
bold, with another citation, or broken over two lines of a quote. Does no I/O.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from scriptorium.format.inline import plain

_EMPHASIS = re.compile(r"[*_~`]+")
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_GAP = r"(?:[\s>*_~`]|\\[nrt])+"
"""What may stand for a blank in a file of any version: also in a quote, or as JSON writes it."""


@dataclass(frozen=True, slots=True)
class Traces:
    """Texts to be recognised."""

    folded: tuple[str, ...]
    """Each in the form that `fold` gives."""

    @staticmethod
    def of(texts: Iterable[str]) -> Traces:
        """Those of the texts that are not blank."""
        return Traces(tuple(dict.fromkeys(filter(None, map(fold, texts)))))

    def stand_in(self, text: str) -> bool:
        """Whether the text, Markdown or plain, holds one of them."""
        return any(self._forms_hold(form) for form in (fold(text), fold(plain(text))))

    def _forms_hold(self, form: str) -> bool:
        return any(one in form for one in self.folded)


def fold(text: str) -> str:
    """The text in the form in which texts are compared."""
    bare = _EMPHASIS.sub("", _QUOTE.sub("", text))
    return " ".join(unicodedata.normalize("NFC", bare).casefold().split())


def pattern(text: str) -> str:
    """A regular expression for `git filter-repo` that finds the text in the bytes of any file.

    It is made for Python's `re` on UTF-8 and for the flag `(?i)`, which knows ASCII only: other
    letters are listed in their forms.
    """
    return _GAP.join("".join(map(_forms, word)) for word in text.split())


def _forms(character: str) -> str:
    if character == '"':
        return r'\\?"'
    if character == "\\":
        return r"\\{1,2}"
    if character == "=":
        return "[=]"  # a rule ends where `==>` begins
    cases = (character, character.lower(), character.upper(), character.casefold())
    normal = [unicodedata.normalize(form, case) for case in cases for form in ("NFC", "NFD")]
    forms = dict.fromkeys(re.escape(form) for form in normal)
    if character.isascii():
        return re.escape(character)
    return f"(?:{'|'.join(forms)})"
