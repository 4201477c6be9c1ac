"""How far what a line opens reaches: front matter, a comment, a definition, code.

Owns the look-ahead over lines, each with its end, from the one at index `at`. `base` is the column
at which the content of the container begins. Promises one pass over the lines that it takes in, and
never raises. It must not say what a line opens in its place: that is for `scan`.
"""

from __future__ import annotations

from collections.abc import Sequence

from scriptorium.format import lines as md


def front_matter(lines: Sequence[str]) -> int:
    """Index after its last line; 0 when the text begins with none."""
    if lines and lines[0].rstrip() == "---":
        for at in range(1, len(lines)):
            if lines[at].rstrip() in ("---", "..."):
                return at + 1
    return 0


def fence(lines: Sequence[str], at: int, base: int, opening: str) -> int:
    """Index after the fence that closes the one at `at`, or after the last line inside."""
    for end in range(at + 1, len(lines)):
        line = lines[end].rstrip("\r\n")
        column, offset = md.indent(line)
        if column < base and line.strip():
            return end
        if column - base < md.CODE_INDENT and md.closes(line[offset:], opening):
            return end + 1
    return len(lines)


def indented_code(lines: Sequence[str], at: int, base: int) -> int:
    """Index after its last line and the blank ones below."""
    for end in range(at, len(lines)):
        if lines[end].strip() and md.indent(lines[end])[0] - base < md.CODE_INDENT:
            return end
    return len(lines)


def definition(lines: Sequence[str], at: int, base: int) -> int:
    """Index after a footnote's definition with its lazy and its indented lines."""
    end, lazy = at + 1, True
    for below in range(end, len(lines)):
        line = lines[below]
        column, offset = md.indent(line)
        if not line.strip():
            lazy = False
        elif column - base >= md.CODE_INDENT or (lazy and md.mark(line[offset:]) == "text"):
            end, lazy = below + 1, True
        else:
            break
    return end


def comment(lines: Sequence[str], at: int, start: int) -> tuple[int, str] | None:
    """Index of the line that closes it, and the text behind its end; None when none does.

    It is searched from the character `start` of the line at `at`.
    """
    for end in range(at, len(lines)):
        found = lines[end].find("-->", start)
        if found >= 0:
            return end, lines[end][found + 3 :].strip()
        start = 0
    return None
