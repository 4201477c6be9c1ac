"""What stands inside prose: code spans, escapes, citations, links, ids.

Owns the patterns of the contract in a run of prose (the lines of one paragraph joined by LF).
Promises linear time, never raises, and that patterns in code spans, comments and escaped text are
text. It must not know blocks or files.

The functions look at the *mask* of a text: as long as the text, with code blotted out by letters
(code is prose), escapes by backslashes (punctuation) and comments by blanks (nothing).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from scriptorium.format.model import BlockId, EvidenceId

CITATION = re.compile(r"\[\^([^\s\[\]^]++)\]")
_SPECIAL = re.compile(r"\\[!-/:-@\[-`{-~]|`++|<!--")
_BLOCK_ID = re.compile(r"[A-Za-z0-9-]+")
# An id ends its line. What touches the character before is one to its writer, not to Obsidian.
_ID = re.compile(
    r"(?:^|(?<=[\s\].,;:!?。，、；：！？…)）」』”’\"'*_]))\^([^\s\[\]|^]++)(?=[^\S\n]*+$)",
    re.MULTILINE,
)
# A destination nests parentheses three deep at most: so no text is scanned more than four times.
_DESTINATION = re.compile(
    r"\(\s*+(?:<(?P<angle>[^<>\n]*+)>"
    r"|(?P<bare>(?!<)(?:[^\s()\x00-\x1f]|\((?:[^\s()]|\((?:[^\s()]|\([^\s()]*+\))*+\))*+\))*+))"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?+\s*+\)"
)
_BRACKET = re.compile(r"[\[\]]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_WORD = re.compile(r"[^\W_]")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*+(?=[\s/>])[^<>]*+>")
_MARKUP = frozenset("~=|`^<>")
_WIKILINK = re.compile(r"\[\[([^\[\]|]*+)(?:\|([^\[\]]*+))?\]\]")


@dataclass(frozen=True, slots=True)
class Citation:
    start: int
    end: int
    evidence: EvidenceId


@dataclass(frozen=True, slots=True)
class IdMark:
    """A `^…` at the end of a line: where the caret stands, and what follows it."""

    start: int
    end: int
    text: str
    well_formed: bool
    """`[A-Za-z0-9-]+` behind a blank or alone on the line: what Obsidian takes as an id."""

    @property
    def id(self) -> BlockId | None:
        return BlockId(self.text) if self.well_formed else None


@dataclass(frozen=True, slots=True)
class Span:
    """An inline link or image: `[` … `](` … `)`."""

    start: int
    middle: int
    """Of the `]`."""
    end: int
    target: str
    """The destination as it is written, escapes resolved, not percent-decoded."""
    image: bool

    @property
    def relative(self) -> bool:
        """Whether it is a link, with a destination that is a path and no URL."""
        return not self.image and bool(self.target) and not _SCHEME.match(self.target)


def mask(text: str) -> str:
    """`text` with code spans, escapes and comments blotted out, position for position."""
    if "`" not in text and "\\" not in text and "<!--" not in text:
        return text
    return "".join(_masked(text))


def citations(masked: str) -> list[Citation]:
    """Every `[^label]`, in order."""
    return [Citation(m.start(), m.end(), EvidenceId(m[1])) for m in CITATION.finditer(masked)]


def id_marks(masked: str) -> list[IdMark]:
    """Every `^…` that ends a line, in order."""
    if "^" not in masked:
        return []
    return [IdMark(m.start(), m.end(), m[1], _is_id(masked, m)) for m in _ID.finditer(masked)]


def spans(text: str, masked: str) -> list[Span]:
    """Every inline link and image, inner ones before the outer one they stand in."""
    if "](" not in masked:
        return []
    found: list[Span] = []
    opened: list[int] = []
    for bracket in _BRACKET.finditer(masked):
        at = bracket.start()
        if masked[at] == "[":
            opened.append(at)
        elif opened:
            start = opened.pop()
            if masked[at + 1 : at + 2] == "(" and masked[start + 1 : start + 2] != "^":
                found += _span(text, masked, start, at)
    return found


def split_target(target: str) -> tuple[str, str]:
    """The path and the fragment of a destination, both percent-decoded."""
    path, _, fragment = target.partition("#")
    return decode(path), decode(fragment)


def decode(target: str) -> str:
    """A destination without its percent-encoding."""
    return unquote(target) if "%" in target else target


def is_prose(masked: str) -> bool:
    """Whether a mask says anything beyond punctuation, quotation marks, emphasis and tags."""
    if "<" in masked:
        masked = _TAG.sub("", masked)
    if _WORD.search(masked):
        return True
    return any(unicodedata.category(c)[0] == "S" and c not in _MARKUP for c in masked)


def without_targets(masked: str, links: list[Span]) -> str:
    """A mask in which the destinations of links are punctuation, not prose. An image's is prose."""
    parts, at = [], 0
    for link in sorted(links, key=lambda link: link.middle):
        if not link.image:
            parts += [masked[at : link.middle + 1], ")" * (link.end - link.middle - 1)]
            at = link.end
    return "".join([*parts, masked[at:]])


def uncommented(text: str, masked: str) -> str:
    """`text` without its comments."""
    return _cut(text, masked, []) if "<!--" in text else text


def plain(text: str) -> str:
    """`text` as a reader sees it: without citations, ids, comments, and with links as their text.

    Code keeps every character. Emphasis stays: it is noise to nobody.
    """
    masked = mask(text)
    cuts = [(c.start, c.end, "") for c in citations(masked)]
    cuts += [(i.start, i.end, "") for i in id_marks(masked) if i.well_formed]
    for link in spans(text, masked):
        cuts += [(link.start - link.image, link.start + 1, ""), (link.middle, link.end, "")]
    cuts += [(m.start(), m.end(), m[2] or m[1]) for m in _WIKILINK.finditer(masked)]
    return _cut(text, masked, cuts).strip()


def plain_label(text: str) -> str:
    """A link's text with its escapes resolved."""
    return _ESCAPE.sub(r"\1", text)


def _cut(text: str, masked: str, cuts: list[tuple[int, int, str]]) -> str:
    cuts += [(start, end, "") for start, end in _comments(text, masked)]
    parts, at = [], 0
    for start, end, instead in sorted(cuts):
        if start >= at:
            parts += [text[at:start], instead]
            at = end
    return "".join([*parts, text[at:]])


def _comments(text: str, masked: str) -> Iterator[tuple[int, int]]:
    """Where the comments stand: nothing else is blank in the mask and not in the text."""
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at + 2) + 3 if masked[at] == " " else at + 4
        if masked[at] == " ":
            yield at, end
        at = text.find("<!--", end)


def _is_id(masked: str, found: re.Match[str]) -> bool:
    before = masked[found.start() - 1 : found.start()]
    return (not before or before.isspace()) and bool(_BLOCK_ID.fullmatch(found[1]))


def _span(text: str, masked: str, start: int, middle: int) -> Iterator[Span]:
    found = _DESTINATION.match(masked, middle + 1)
    if found is None:
        return
    group = "bare" if found["angle"] is None else "angle"
    target = _ESCAPE.sub(r"\1", text[found.start(group) : found.end(group)])
    yield Span(start, middle, found.end(), target, masked[start - 1 : start] == "!")


def _masked(text: str) -> Iterator[str]:
    closers: dict[int, list[int]] | None = None
    at, comments_close = 0, True
    while found := _SPECIAL.search(text, at):
        start, end = found.span()
        yield text[at:start]
        if text[start] == "\\":
            at = end
            yield "\\\\"
        elif text[start] == "`":
            closers = _backticks(text) if closers is None else closers
            at = _code_end(closers, end, end - start)
            yield _blot(text[start:at], "x") if at > end else text[start:end]
        else:
            close = text.find("-->", start + 2) if comments_close else -1
            comments_close = close >= 0
            at = close + 3 if comments_close else end
            yield _blot(text[start:at], " ") if comments_close else text[start:end]
    yield text[at:]


def _backticks(text: str) -> dict[int, list[int]]:
    """Where the runs of backticks begin, by their length."""
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`++", text):
        runs.setdefault(run.end() - run.start(), []).append(run.start())
    return runs


def _code_end(closers: dict[int, list[int]], end: int, length: int) -> int:
    """Where the code span ends whose opening run ends at `end`; `end` when nothing closes it."""
    starts = closers.get(length, [])
    nth = bisect_left(starts, end)
    return starts[nth] + length if nth < len(starts) else end


def _blot(text: str, by: str) -> str:
    return "\n".join(by * len(line) for line in text.split("\n"))
