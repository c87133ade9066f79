"""Bar charts as SVG, on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from bench.figure import number

Group = tuple[str, Mapping[str, float]]
"""Label of a group of bars, and the value of each bar by its name."""
_COLOURS = {"sharkpy-rdd": "#79b8ff", "sharkpy": "#1f6feb", "park": "#e36209", "DuckDB": "#b08800", "Click": "#6f42c1"}
_OTHER = "#8b949e"


def columns(title: str, unit: str, groups: Sequence[Group]) -> str:
    """Columns side by side, a group for each label."""
    names = list(dict.fromkeys(name for _, values in groups for name in values))
    low, high = _decades([value for _, values in groups for value in values.values()])
    left, top, height, bar = 50, 45, 220, max(3, 760 // (len(groups) * (len(names) + 1)))
    width = left + len(groups) * (len(names) + 1) * bar + 20

    def y(value: float) -> float:
        return top + height * (1 - (math.log10(value) - low) / (high - low))

    parts = [_text(left, 16, f"{title}, {unit}", "bold")]
    for place, name in enumerate(names):
        parts += [_bar(left + 110 * place, 24, 9, 9, name), _text(left + 110 * place + 13, 32, name)]
    for power in range(low, high + 1):
        parts += [_line(left, y(10**power), width - 10, y(10**power)), _text(4, y(10**power) + 4, number(10**power))]
    for place, (label, values) in enumerate(groups):
        x = left + 4 + place * (len(names) + 1) * bar
        parts.append(_text(x, top + height + 14, label))
        for index, name in enumerate(names):
            if name in values:
                parts.append(_bar(x + index * bar, y(values[name]), bar - 1, top + height - y(values[name]), name))
    return _svg(width, top + height + 24, parts)


def ratio_bars(title: str, groups: Sequence[Group]) -> str:
    """Bars that begin at 1: to the right if sharkpy is better than the peer, else to the left."""
    low, high = _decades([value for _, values in groups for value in values.values()] + [1.0])
    left, width, row = 460, 420, 13
    one = left - width * low / (high - low)
    parts, y = [_text(8, 16, title, "bold")], 40
    height = y + row * sum(len(values) for _, values in groups) + 6 * len(groups)
    for power in range(low, high + 1):
        x = left + width * (power - low) / (high - low)
        parts += [_line(x, 26, x, height), _text(x - 8, 24, f"{number(10.0**power)}x")]
    for label, values in groups:
        parts.append(_text(8, y + 9, label))
        for name, value in values.items():
            x = left + width * (math.log10(value) - low) / (high - low)
            parts.append(_bar(min(x, one), y, max(abs(x - one), 1), row - 3, name))
            parts.append(_text(max(x, one) + 4, y + 9, f"{name}: {number(value)}x"))
            y += row
        y += 6
    return _svg(left + width + 220, height + 8, parts)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = (math.log10(limit(values)) for limit in (min, max))
    return math.floor(low), max(math.ceil(high), math.floor(low) + 1)


def _bar(x: float, y: float, width: float, height: float, name: str) -> str:
    colour = next((colour for part, colour in _COLOURS.items() if part in name), _OTHER)
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#d0d7de"/>'


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}">{escape(text)}</text>'


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([f'{head}font-family="sans-serif" font-size="10">', ground, *parts, "</svg>"]) + "\n"
