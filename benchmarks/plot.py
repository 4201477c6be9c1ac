"""Bar charts as SVG text, without a plotting library: what benchmarks draw their results with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_LABELS, _BARS, _RIGHT = 210, 520, 70
_BAR, _GAP, _TOP = 18, 8, 56
_COLOURS = ("#3b6ea5", "#a8b8c8")
_MIDDLE = "text-anchor='middle'"
_MARK = "#b03a2e"
_HEAD = "xmlns='http://www.w3.org/2000/svg' font-family='sans-serif' font-size='13'"


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    ours: bool
    """Drawn in the first colour; what it is compared with, in the second."""


def bars(title: str, unit: str, rows: Sequence[Bar], target: float | None = None) -> str:
    """An SVG of horizontal bars from 0, each with its value; `target` is drawn as a dashed line."""
    highest = max([row.value for row in rows] + [target or 0, 1e-9])
    scale = _BARS / highest
    bottom = _TOP + len(rows) * (_BAR + _GAP)
    width, height = _LABELS + _BARS + _RIGHT, bottom + 30
    parts = [
        f"<svg {_HEAD} width='{width}' height='{height}' viewBox='0 0 {width} {height}'>",
        f"<rect width='{width}' height='{height}' fill='#ffffff'/>",
        f"<text x='12' y='28' font-size='16' font-weight='bold'>{escape(title)}</text>",
    ]
    for number, row in enumerate(rows):
        y, length = _TOP + number * (_BAR + _GAP), scale * row.value
        colour, value = _COLOURS[0 if row.ours else 1], f"{row.value:.1f} {escape(unit)}"
        parts += [
            f"<text x='{_LABELS - 10}' y='{y + 14}' text-anchor='end'>{escape(row.label)}</text>",
            f"<rect x='{_LABELS}' y='{y}' width='{length:.1f}' height='{_BAR}' fill='{colour}'/>",
            f"<text x='{_LABELS + length + 6:.1f}' y='{y + 14}'>{value}</text>",
        ]
    if target is not None:
        x, text = _LABELS + scale * target, f"target {target:g} {escape(unit)}"
        ends, dashes = f"y1='{_TOP - 8}' y2='{bottom}'", "stroke-dasharray='4 3'"
        parts += [
            f"<line x1='{x:.1f}' x2='{x:.1f}' {ends} {dashes} stroke='{_MARK}'/>",
            f"<text x='{x:.1f}' y='{bottom + 16}' {_MIDDLE} fill='{_MARK}'>{text}</text>",
        ]
    return "\n".join([*parts, "</svg>", ""])
