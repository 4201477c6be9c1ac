"""The block structure of Markdown: a text cut into segments that are the text again when joined.

Owns what CommonMark and Obsidian say about which lines belong together: list items and what is
indented below them, quotes and their lazy lines, fences, tables, comments, front matter, footnote
definitions. Promises linear time, never raises, loses no character. It must not look inside prose.

A list item is a block of its own at every depth. A quote is one block, whatever it holds. A
paragraph takes in a table or a fence that touches it, unless an id has ended the paragraph before.
"""

from __future__ import annotations

from bisect import bisect_right

from scriptorium.format import lines as md
from scriptorium.format import reach
from scriptorium.format.remembering import remembering
from scriptorium.format.segments import (
    BlockKind,
    Growing,
    Kind,
    Row,
    Segment,
    ends_with_id,
    with_ids_below,
)

_DEEPEST = 64  # deeper list marks are text, so that a line of nothing but marks stays linear


@remembering
def scan(text: str) -> tuple[Segment, ...]:
    """The segments of `text`, in order; their texts joined are `text`."""
    return tuple(with_ids_below(_Scanner(text).run()))


class _Scanner:
    """One walk over the lines: `at` is the line looked at, `open` the block that is growing."""

    def __init__(self, text: str) -> None:
        self.segments: list[Segment] = []
        if text.startswith(md.BOM):
            self.segments.append(Segment("bom", md.BOM, 1))
            text = text[1:]
        self.lines = md.split_lines(text)
        self.at = 0
        self.items: list[int] = []
        """Where the content of each open list item begins, as a column."""
        self.open: Growing | None = None
        self.comments_close = True

    def run(self) -> list[Segment]:
        self._front_matter()
        while self.at < len(self.lines):
            self._line()
        self._close()
        return self.segments

    def _front_matter(self) -> None:
        if end := reach.front_matter(self.lines):
            self._emit("front-matter", end)

    def _line(self) -> None:
        line = self.lines[self.at]
        column, offset = md.indent(line)
        content = line[offset:].rstrip("\r\n")
        depth = bisect_right(self.items, column)
        indented = column - self._column(depth) >= md.CODE_INDENT
        if not content.strip():
            self._blank()
        elif indented and not self._flowing():
            self._indented_code(depth)
        elif indented or not self._underlined(depth, content):
            mark = md.mark(content)
            # Below a list item Obsidian takes a list mark as one, however far it is indented.
            opens_item = mark == "item" and self.items
            self._marked("text" if indented and not opens_item else mark, depth, column, content)

    def _marked(self, mark: md.Mark, depth: int, column: int, content: str) -> None:
        match mark:
            case "fence":
                self._fenced(self._block_at(depth, cut_after_id=True), content, md.fence(content))
            case "quote":
                self._quote(depth, content)
            case "item" if self._may_open_item(depth, content):
                self._item(depth, column, content)
            case "definition":
                self._definition(depth)
            case "comment" if self._comment(depth, content):
                pass
            case "heading" if depth == 0:
                level, title = md.heading(content)
                self._alone("heading", self.at + 1, level=level, title=title)
            case "rule" if depth == 0:
                self._alone("rule", self.at + 1)
            case _:
                opens = mark in ("heading", "rule")
                block = self._text(depth, content, opens=opens)
                block.flowing = not opens

    # Prose

    def _blank(self) -> None:
        if self.open is None:
            self._emit("blank", self.at + 1)
        else:
            self.open.blanks += 1
            self.open.end_paragraph()
            self.at += 1

    def _text(self, depth: int, content: str, *, opens: bool = False) -> Growing:
        table = self._begins_table(content)
        if self.open is not None and self.open.flowing and not table:
            block = self.open
        else:
            block = self._block_at(depth, cut_after_id=table)
        block.quoted_fence = ""
        block.table = block.table or table
        block.add(self.at, content, opens=opens)
        self.at += 1
        return block

    def _begins_table(self, content: str) -> bool:
        below = self.at + 1
        return "|" in content and below < len(self.lines) and md.is_delimiter_row(self.lines[below])

    def _underlined(self, depth: int, content: str) -> bool:
        """Makes the open paragraph a setext heading when this line underlines it."""
        block, level = self.open, md.underline_level(content)
        if not level or block is None or not block.flowing or block.table:
            return False
        if depth or block.depth or block.kind != "paragraph":
            return False
        first = max(nth for nth, row in enumerate(block.rows) if row.opens)
        title = " ".join(row.text.strip() for row in block.rows[first:])
        end, block.end = self.at + 1, block.rows[first].line - 1
        self.at = block.end
        del block.rows[first:]
        self._alone("heading", end, level=level, title=title)
        return True

    def _block_at(self, depth: int, *, cut_after_id: bool = False) -> Growing:
        """The block that a line of this depth belongs to: the growing one, or a new paragraph."""
        block = self.open
        if block is None or block.depth != depth or block.kind == "quote":
            return self._begin("paragraph", depth)
        if block.kind == "item":
            return block
        ended = cut_after_id and block.rows and ends_with_id(block.rows[-1])
        return self._begin("paragraph", depth) if block.blanks or ended else block

    # Containers and code

    def _quote(self, depth: int, content: str) -> None:
        block = self.open
        if block is None or block.depth != depth or not block.takes_quotes:
            block = self._begin("quote", depth)
        block.add_quoted(self.at, md.unquote(content))
        self.at += 1

    def _may_open_item(self, depth: int, content: str) -> bool:
        """What may interrupt a paragraph: no empty item, and no number but 1."""
        if depth >= _DEEPEST:
            return False
        block = self.open
        if block is None or not block.flowing or block.depth != depth or block.kind == "quote":
            return True
        marker = md.item_marker(content)
        return marker in ("-", "+", "*", "1.", "1)") and bool(content[len(marker) :].strip())

    def _item(self, depth: int, column: int, content: str) -> None:
        self._close()
        del self.items[depth:]
        marker = md.item_marker(content)
        while marker and len(self.items) < _DEEPEST:
            gap, offset = md.indent(content[len(marker) :])
            content = content[len(marker) + offset :]
            column += len(marker) + (gap if content and gap <= md.CODE_INDENT else 1)
            self.items.append(column)
            marker = md.item_marker(content) if content and md.mark(content) == "item" else ""
        block = self._begin("item", len(self.items))
        if fence := md.fence(content):
            self._fenced(block, content, fence)
        else:
            self._first_row(block, content)

    def _first_row(self, block: Growing, content: str) -> None:
        """Takes what stands behind a list item's mark."""
        if content.startswith(">"):
            block.add_quoted(self.at, md.unquote(content))
        else:
            block.table = self._begins_table(content)
            block.add(self.at, content)
            block.flowing = bool(content.strip())
        self.at += 1

    def _fenced(self, block: Growing, content: str, opening: str) -> None:
        base = self._column(block.depth)
        block.end_paragraph()
        block.add(self.at, content, "code")
        for at in range(self.at + 1, reach.fence(self.lines, self.at, base, opening)):
            block.add(at, md.dedent(self.lines[at].rstrip("\r\n"), base), "code")
        self.at = block.end

    def _indented_code(self, depth: int) -> None:
        block, base = self._block_at(depth), self._column(depth)
        start, self.at = self.at, reach.indented_code(self.lines, self.at, base)
        for at in range(start, self.at):
            line = self.lines[at].rstrip("\r\n")
            if line.strip():
                block.add(at, md.dedent(line, base), "code")
            else:
                block.blanks += 1

    # What is no block

    def _definition(self, depth: int) -> None:
        end = reach.definition(self.lines, self.at, self._column(depth))
        self._leave(depth)
        self._emit("definition", end)

    def _comment(self, depth: int, content: str) -> bool:
        """Takes a comment of whole lines; text behind its end stays a line of prose."""
        if not self.comments_close:
            return False
        start = len(self.lines[self.at].rstrip("\r\n")) - len(content) + 2
        closing = reach.comment(self.lines, self.at, start)
        if closing is None:
            self.comments_close = False  # nor will a later one: an open comment hides nothing
            return False
        at, rest = closing
        if rest and at == self.at:
            return False
        self._leave(depth)
        self._emit("comment", at if rest else at + 1)
        if rest:
            self._text(depth, rest)
        return True

    def _alone(self, kind: Kind, end: int, *, level: int = 0, title: str = "") -> None:
        self._leave(0)
        self._emit(kind, end, level=level, title=title)

    # State

    def _column(self, depth: int) -> int:
        return self.items[depth - 1] if depth else 0

    def _flowing(self) -> bool:
        return self.open is not None and self.open.flowing

    def _begin(self, kind: BlockKind, depth: int) -> Growing:
        self._leave(depth)
        self.open = Growing(kind, depth, self.at, self.at)
        return self.open

    def _leave(self, depth: int) -> None:
        """Ends the growing block and the list items deeper than `depth`."""
        self._close()
        del self.items[depth:]

    def _close(self) -> None:
        block, self.open = self.open, None
        if block is None or not block.rows:
            return
        at, self.at = self.at, block.start
        if block.says:
            self._emit(block.kind, block.end, rows=tuple(block.rows))
        else:
            self._emit("blank", block.end)
        if block.blanks:
            self._emit("blank", block.end + block.blanks)
        self.at = at

    def _emit(
        self, kind: Kind, end: int, *, rows: tuple[Row, ...] = (), level: int = 0, title: str = ""
    ) -> None:
        text = "".join(self.lines[self.at : end])
        self.segments.append(Segment(kind, text, self.at + 1, rows, level, title))
        self.at = end
