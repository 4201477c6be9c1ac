"""Bar charts as SVG text, without a plotting library: what the benchmarks draw their results with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_LABELS, _BARS, _RIGHT = 210, 520, 70
_BAR, _GAP, _TOP = 18, 8, 56
_COLOURS = ("#3b6ea5", "#a8b8c8")


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    ours: bool
    """Drawn in the first colour; what it is compared with, in the second."""


def bars(title: str, unit: str, rows: Sequence[Bar], target: float | None = None) -> str:
    """An SVG of horizontal bars from 0, each with its value; `target` is drawn as a dashed line."""
    highest = max([row.value for row in rows] + [target or 0, 1e-9])
    bottom = _TOP + len(rows) * (_BAR + _GAP)
    width, height = _LABELS + _BARS + _RIGHT, bottom + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    for number, row in enumerate(rows):
        y = _TOP + number * (_BAR + _GAP)
        length = _BARS * row.value / highest
        parts += [
            f'<text x="{_LABELS - 10}" y="{y + 14}" text-anchor="end">{escape(row.label)}</text>',
            f'<rect x="{_LABELS}" y="{y}" width="{length:.1f}" height="{_BAR}" '
            f'fill="{_COLOURS[0 if row.ours else 1]}"/>',
            f'<text x="{_LABELS + length + 6:.1f}" y="{y + 14}">{row.value:.1f} {escape(unit)}</text>',
        ]
    if target is not None:
        x = _LABELS + _BARS * target / highest
        parts += [
            f'<line x1="{x:.1f}" y1="{_TOP - 8}" x2="{x:.1f}" y2="{bottom}" stroke="#b03a2e" '
            'stroke-dasharray="4 3"/>',
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#b03a2e">'
            f"target {target:g} {escape(unit)}</text>",
        ]
    return "\n".join([*parts, "</svg>", ""])
