"""What one line of Markdown is when it is looked at alone.

Owns the splitting of a text into lines and the recognition of the marks that open something:
heading, quote, list item, code fence, thematic break, comment, footnote definition, table. Promises
linear time and never raises. Knows nothing of the lines around: what a mark means in its place is
for `scan` to say.

A line ends with LF, CRLF or a lone CR, as in CommonMark; U+2028, form feed and the like are
characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

type Mark = Literal["text", "heading", "quote", "fence", "rule", "item", "comment", "definition"]

BOM = "\ufeff"
TAB = 4
CODE_INDENT = 4
"""Columns from which a line opens nothing: it is indented code, or goes on with a paragraph."""

DEFINITION = re.compile(r"\[\^([^\s\[\]^]++)\]:")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r"`{3,}+(?=[^`]*+$)|~{3,}+")
_ITEM = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]|$)")
_QUOTE = re.compile(r"(?: {0,3}>[ \t]?+)++")
_CELL = re.compile(r":?-+:?")


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends; joined they are `text` again."""
    return _LINE.findall(text)


def indent(line: str) -> tuple[int, int]:
    """The column and the offset of the first character that is no blank or tab."""
    if line[:1] not in (" ", "\t"):
        return 0, 0
    column = 0
    for offset, char in enumerate(line):
        if char == " ":
            column += 1
        elif char == "\t":
            column += TAB - column % TAB
        else:
            return column, offset
    return column, len(line)


def dedent(line: str, columns: int) -> str:
    """`line` without up to `columns` columns of its indentation."""
    column, offset = indent(line)
    return " " * max(0, column - columns) + line[offset:] if offset else line


def mark(content: str) -> Mark:
    """What a line opens, given its content: not blank, without indentation and line end."""
    for found, recognised in _MARKS.get(content[0], ()):
        if recognised(content):
            return found
    return "text"


def heading(content: str) -> tuple[int, str]:
    """The level (1-6) and the text of an ATX heading, without its closing hashes."""
    level = len(content) - len(content.lstrip("#"))
    text = content[level:].strip()
    opened = text.rstrip("#")
    return level, text if opened and opened[-1] not in " \t" else opened.rstrip()


def underline_level(content: str) -> int:
    """1 or 2 when the content underlines a setext heading, else 0."""
    bar = content.rstrip()
    if bar == "=" * len(bar):
        return 1
    return 2 if bar == "-" * len(bar) else 0


def fence(content: str) -> str:
    """The characters that open a code fence; empty when the content opens none."""
    found = _FENCE.match(content)
    return found.group() if found else ""


def closes(content: str, opening: str) -> bool:
    """Whether the content ends the fence that `opening` began."""
    bar = content.strip()
    return len(bar) >= len(opening) and bar == opening[0] * len(bar)


def item_marker(content: str) -> str:
    """The marker of a list item, `-` or `12.`; empty when the content opens none."""
    found = _ITEM.match(content)
    return found.group() if found else ""


def is_delimiter_row(line: str) -> bool:
    """Whether the line divides a table's header from its rows: `|---|:--:|`."""
    row = line.strip()
    if "|" not in row or "-" not in row or row.strip("|-: \t"):
        return False
    return all(_CELL.fullmatch(cell.strip()) for cell in row.strip("|").split("|"))


def unquote(content: str) -> str:
    """The content of a line of a quote, without its `>` marks."""
    found = _QUOTE.match(content)
    return content[found.end() :] if found else content


def _is_rule(content: str) -> bool:
    bar = content.replace(" ", "").replace("\t", "").rstrip()
    return len(bar) >= 3 and bar == bar[0] * len(bar)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda content: pattern.match(content) is not None


type _Recogniser = tuple[Mark, Callable[[str], bool]]
_RULE: _Recogniser = ("rule", _is_rule)
_LIST_ITEM: _Recogniser = ("item", _matches(_ITEM))
_CODE_FENCE: _Recogniser = ("fence", _matches(_FENCE))
_MARKS: dict[str, tuple[_Recogniser, ...]] = {
    "#": (("heading", _matches(_HEADING)),),
    ">": (("quote", lambda _: True),),
    "`": (_CODE_FENCE,),
    "~": (_CODE_FENCE,),
    "<": (("comment", lambda content: content.startswith("<!--")),),
    "[": (("definition", _matches(DEFINITION)),),
    "_": (_RULE,),
    "-": (_RULE, _LIST_ITEM),  # a break comes first: `- - -` is no list
    "*": (_RULE, _LIST_ITEM),
    "+": (_LIST_ITEM,),
    **dict.fromkeys("0123456789", (_LIST_ITEM,)),
}
