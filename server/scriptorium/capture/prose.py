"""A model's text as Markdown that says the same and can be nothing but prose. Pure.

Promises: the result is one line; it begins no heading, list, quote, table, fence, HTML, footnote
or link definition; it cites nothing, bears no block id and links nowhere but to the web.
"""

from __future__ import annotations

import re
import unicodedata

from scriptorium.capture.redact import without_secrets


class InvalidProseError(ValueError):
    """What is wrong with the text, and what to write instead."""


def prose(text: str, limit: int) -> str:
    """The text as one paragraph. Raises InvalidProseError."""
    plain = _plain(text)
    if not any(c.isalnum() for c in plain):
        raise InvalidProseError("there is no statement; leave the item out instead.")
    if len(plain) > limit:
        raise InvalidProseError(
            f"{len(plain)} characters are more than {limit}; make it several items."
        )
    if "[^" in plain:
        raise InvalidProseError("no footnotes; name the messages by their numbers in `messages`.")
    if _LINK.search(plain):
        raise InvalidProseError("no links but to the web; write the plain words.")
    return _begun(_guarded(plain)).rstrip("\\").rstrip()


def line(text: str, limit: int) -> str:
    """The text as a heading or an item, without marks at its start; may be empty.

    Raises InvalidProseError.
    """
    plain = _plain(text).lstrip("#*-+> ").strip()
    if len(plain) > limit:
        raise InvalidProseError(f"{len(plain)} characters are more than {limit}.")
    if "[^" in plain or _LINK.search(plain):
        raise InvalidProseError("no footnotes and no links; write the plain words.")
    return _guarded(plain).rstrip("#\\ ")


_LINK = re.compile(r"\]\((?!\s*<?https?://)|\[\[|\]\s*\[|\]:")
_START = re.compile(r"[#>*+=|~<\[:_-]|-{3}|`{3}|[0-9]{1,9}(?=[.)])")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|\$(?=\$)")
# The names that the runtime replaces by ids and links.
_PLACEHOLDER = re.compile(r"new-(?=(?:source|block|evidence)-)")
_CARET = re.compile(r"(?:(?<=\s)|^)\^(?=[A-Za-z0-9-])")


def _plain(text: str) -> str:
    """One line, NFC, without secrets and without characters that nobody sees."""
    seen = "".join(
        c if _is_seen(c) else " " for c in without_secrets(unicodedata.normalize("NFC", text))
    )
    return " ".join(seen.split())


def _is_seen(char: str) -> bool:
    # Format characters stay where scripts and emoji need them: the two joiners.
    return (
        unicodedata.category(char) not in ("Cc", "Cs", "Cf", "Cn", "Co") or char in "\u200c\u200d"
    )


def _guarded(text: str) -> str:
    """No id, comment or half a code span in the text; whole code spans are left as they are."""
    if len(re.findall(r"`+", _CODE.sub("", text))) > 0:
        text = text.replace("`", "'")
    pieces: list[str] = []
    position = 0
    for span in _CODE.finditer(text):
        pieces += [_outside(text[position : span.start()]), span[0]]
        position = span.end()
    return "".join([*pieces, _outside(text[position:])])


def _outside(text: str) -> str:
    text = _MARKUP.sub(r"\\\g<0>", _CARET.sub(r"\\^", text))
    return _PLACEHOLDER.sub(r"new\\-", text)


def _begun(text: str) -> str:
    """The text, its first mark escaped where it would begin something else than a paragraph."""
    match = _START.match(text)
    if match is None:
        return text
    if match[0].isdigit():
        return f"{match[0]}\\{text[match.end() :]}"
    if text.startswith("`"):
        return text.replace("`", "'")
    return f"\\{text}"
