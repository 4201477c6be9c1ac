"""Relative links that follow what they point at: blocks that move, and files that move.

Owns the rewriting of link destinations. Promises that a link which is right already, and everything
that is no link, keeps every byte. Does no I/O: what exists is asked through a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from scriptorium.format import inline, markdown, paths
from scriptorium.format.model import BlockId, RelPath
from scriptorium.format.regions import Replacement, regions, replaced


def moves(
    before_blocks: Mapping[BlockId, RelPath], after_blocks: Mapping[BlockId, RelPath]
) -> dict[BlockId, tuple[RelPath, RelPath]]:
    """Every block that lives in another file afterwards: its old and its new file."""
    return {
        block: (before_blocks[block], path)
        for block, path in after_blocks.items()
        if block in before_blocks and before_blocks[block] != path
    }


def rewrite_links(
    text: str,
    origin_before: RelPath,
    origin_after: RelPath,
    moved: Mapping[BlockId, RelPath],
    *,
    exists: Callable[[RelPath], bool] | None = None,
    came: Mapping[BlockId, RelPath] | None = None,
) -> str:
    """`text`, a file that stood at `origin_before` and stands at `origin_after`, with good links.

    A link to a block in `moved` leads to its new file. When the file itself has moved, a link that
    leads somewhere from the old place, and nowhere from the new one, leads there again; `exists`
    says where a file will be. Without it a link is taken to be written for the old place, except
    one which from the new place leads to a source. `came` holds the blocks of the text that stood
    in another file than the rest, and where: to their links that file is the old place.
    """
    follow = _Follow(origin_before, origin_after, moved, exists, came or {})
    return replaced(text, follow.replacements(text))


def destination(text: str, span: inline.Span) -> tuple[int, int]:
    """Where the destination of the link `span` stands in `text`, angle brackets included."""
    start = span.middle + 2
    while text[start].isspace():
        start += 1
    if text[start] == "<":
        return start, text.index(">", start) + 1
    end = start
    while end < span.end - 1 and not text[end].isspace():
        end += 1
    return start, end


class _Follow:
    """What links of one file have to follow."""

    def __init__(
        self,
        before: RelPath,
        after: RelPath,
        moved: Mapping[BlockId, RelPath],
        exists: Callable[[RelPath], bool] | None,
        came: Mapping[BlockId, RelPath],
    ) -> None:
        self.before = before
        self.after = after
        self.moved = moved
        self.exists = exists
        self.came = came

    def replacements(self, text: str) -> Iterator[Replacement]:
        origins = self._origins(text)
        for region in regions(text):
            before = origins.get(region.line, self.before)
            for span in inline.spans(region.text, region.masked):
                path, fragment = inline.split_target(span.target)
                target = self._target(path, fragment, before)
                if target is not None:
                    start, end = destination(region.text, span)
                    mark = span.target.partition("#")[1:]
                    written = paths.relative(self.after, target) + "".join(mark)
                    yield region.start + start, region.start + end, written

    def _origins(self, text: str) -> dict[int, RelPath]:
        """The old file of each line that came with a block from elsewhere."""
        blocks = markdown.parse_topic(text).blocks if self.came else ()
        return {
            line: self.came[block.id]
            for block in blocks
            if block.id is not None and block.id in self.came
            for line in range(block.start_line, block.end_line + 1)
        }

    def _target(self, path: str, fragment: str, before: RelPath) -> RelPath | None:
        """The file that a link from the file `before` has to lead to; None when it may stay."""
        now = paths.resolve(self.after, path)
        block = BlockId(fragment[1:]) if fragment.startswith("^") else None
        if block is not None and block in self.moved:
            target = self.moved[block]
            return None if now == target else target
        if not path or before == self.after:
            return None
        then = paths.resolve(before, path)
        if then is None or then == now or (now is not None and self._leads(now)):
            return None
        return then if self.exists is None or self.exists(then) else None

    def _leads(self, target: RelPath) -> bool:
        if self.exists is None:
            return paths.kind(target) == "source"
        return self.exists(target)
