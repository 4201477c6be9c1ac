"""Charts as SVG text, without a plotting library: what benchmarks draw their results with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_LABELS, _BARS, _RIGHT = 210, 500, 100
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


_LEFT, _WIDE, _HIGH = 80, 520, 260
_LINES = ("#3b6ea5", "#c07a2c", "#6a8f3c", "#8a5a9a")

type Point = tuple[float, float]


def lines(title: str, across: str, unit: str, series: Mapping[str, Sequence[Point]]) -> str:
    """An SVG of one line for each name, both axes in powers of ten; values must be over 0."""
    points = [point for each in series.values() for point in each]
    xs, ys = (_decades([point[axis] for point in points]) for axis in (0, 1))
    width, height = _LEFT + _WIDE + 190, _TOP + _HIGH + 56
    parts = [
        f"<svg {_HEAD} width='{width}' height='{height}' viewBox='0 0 {width} {height}'>",
        f"<rect width='{width}' height='{height}' fill='#ffffff'/>",
        f"<text x='12' y='28' font-size='16' font-weight='bold'>{escape(title)}</text>",
        *_grid(xs, ys, across, unit),
    ]
    places = []
    for number, (name, each) in enumerate(series.items()):
        colour = _LINES[number % len(_LINES)]
        drawn = [(_x(x, xs), _y(y, ys)) for x, y in each]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>" for x, y in drawn]
        places.append((drawn[-1][1], name, colour))
    # Names that would overlap are moved apart, downwards.
    free = 0.0
    for y, name, colour in sorted(places):
        free = max(free + 17, y + 4)
        x = _LEFT + _WIDE + 12
        parts.append(f"<text x='{x}' y='{free:.1f}' fill='{colour}'>{escape(name)}</text>")
    return "\n".join([*parts, "</svg>", ""])


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _x(value: float, decades: tuple[int, int]) -> float:
    return _LEFT + _WIDE * (math.log10(value) - decades[0]) / (decades[1] - decades[0])


def _y(value: float, decades: tuple[int, int]) -> float:
    return _TOP + _HIGH * (decades[1] - math.log10(value)) / (decades[1] - decades[0])


def _grid(xs: tuple[int, int], ys: tuple[int, int], across: str, unit: str) -> Iterator[str]:
    bottom, right = _TOP + _HIGH, _LEFT + _WIDE
    for power in range(xs[0], xs[1] + 1):
        x = _x(10.0**power, xs)
        yield f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{_TOP}' y2='{bottom}' stroke='#e4e8ec'/>"
        yield f"<text x='{x:.1f}' y='{bottom + 18}' {_MIDDLE}>{10**power:,}</text>"
    for power in range(ys[0], ys[1] + 1):
        y = _y(10.0**power, ys)
        yield f"<line x1='{_LEFT}' x2='{right}' y1='{y:.1f}' y2='{y:.1f}' stroke='#e4e8ec'/>"
        shown = f"{10.0**power:,g} {escape(unit)}"
        yield f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end'>{shown}</text>"
    yield f"<text x='{(_LEFT + right) / 2:.0f}' y='{bottom + 42}' {_MIDDLE}>{escape(across)}</text>"
