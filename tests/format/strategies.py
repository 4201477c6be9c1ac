"""Texts and topics for property tests, shared by the tests of every room.

`texts` are anything at all, leaning to what Markdown reads something into; `topics` keep the whole
contract, with their world beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from scriptorium.format.model import RelPath, SourceId

LINE_ENDS = ("\n", "\r\n", "\r")
_PIECES = (
    *(
        "# ",
        "## ",
        "> ",
        "- ",
        "* ",
        "1. ",
        "2) ",
        "    ",
        "  ",
        "\t",
        "---",
        "===",
        "***",
        "|",
        "|-|",
    ),
    *(
        "```",
        "~~~",
        "`",
        "``",
        "<!--",
        "-->",
        "[^e-1]",
        "[^e-1]: ",
        "[",
        "](",
        ")",
        "[[",
        "]]",
        "!",
    ),
    *("Time: `2026-08-03`; ", "Sources: ", "a/b/1", ", ", " ^id", "^id", "^", "\\", "#^id", "x.md"),
    *(
        "word",
        "住在浦东。",
        "「」",
        "مرحبا",
        "🎉",
        "\ufeff",
        "\x00",
        "\u2028",
        "\x85",
        "\ud800",
        "\x0c",
    ),
)
_WORDS = (
    "Ada",
    "moved to",
    "浦东",
    "يسكن",
    "e\u0301",
    "🏠",
    "snake_case",
    "2026",
    "*soon*",
    "`a ^b`",
)

markdown_texts = st.lists(st.sampled_from([*_PIECES, *LINE_ENDS, "\n", "\n\n"]), max_size=40).map(
    "".join
)
"""Texts out of Markdown's own marks, with every line end and awkward character."""

texts = markdown_texts | st.text(st.characters(codec=None), max_size=60)
"""Any text: also with NUL, lone surrogates, a BOM, a lone CR, no final line end."""


@dataclass(frozen=True)
class Facts:
    """A topic that keeps the contract, and the sources it rests on."""

    text: str
    blocks: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """A world of what it is told: blocks and their files, sources, files, anchors."""

    blocks: dict[str, str]
    sources: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    anchors: frozenset[tuple[str, str, str]] = frozenset()

    def block_path(self, block: str, /) -> RelPath | None:
        path = self.blocks.get(block)
        return None if path is None else RelPath(path)

    def source_exists(self, source: str, /) -> bool:
        return source in self.sources

    def file_exists(self, path: RelPath, /) -> bool:
        return path in self.files

    def anchor_source(self, path: RelPath, anchor: str, /) -> SourceId | None:
        found = (s for p, a, s in self.anchors if (p, a) == (path, anchor))
        return next((SourceId(source) for source in found), None)


@st.composite
def topics(draw: st.DrawFn) -> Facts:
    """A topic that keeps every rule: headings, paragraphs, items, quotes, tables and fences."""
    count = draw(st.integers(1, 4))
    shapes = draw(st.lists(st.sampled_from(list(_SHAPES)), min_size=count, max_size=count))
    prose = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map(" ".join)
    parts = [draw(st.sampled_from(["", "# Home\n\n", "Home\n====\n\n", "<!-- a\n\nb -->\n\n"]))]
    ids = [f"b{number}" for number in range(count)]
    for number, (name, shape) in enumerate(zip(ids, shapes, strict=True)):
        parts.append(shape.format(text=draw(prose), cite=f"[^e-{number}]", id=name) + "\n\n")
    sources = tuple(f"a/b/{number}" for number in range(count))
    for number, source in enumerate(sources):
        parts.append(f"[^e-{number}]: Time: `2026-08-{number + 1:02}`; Sources: {source}\n")
    text = "".join(parts).replace("\n", draw(st.sampled_from(LINE_ENDS)))
    return Facts(draw(st.sampled_from(["", "\ufeff"])) + text, tuple(ids), sources)


_SHAPES = (
    "{text}.{cite} ^{id}",
    "{text} {text}\n{text}{cite}。 ^{id}",
    "- {text}.{cite} ^{id}",
    "- {text}\n  {text}\n\n  {text}{cite} ^{id}",
    "> [!note] {text}\n> {text}{cite}\n\n^{id}",
    "> {text}{cite} ^{id}",
    "| a | b |\n|---|---|\n| {text} | 2 |\n\n{cite} ^{id}",
    "{text}:\n```\n[^no] ^no\n\n```\n{cite} ^{id}",
)
