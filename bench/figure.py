"""Measured values of sharkpy, also in comparison with values of peers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
"""A figure as results record it: `measurement`, `what`, and either `value` or `unit`, `ours`, `peers`, `ratio`
and `spread`.
"""

NO_SPREAD: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class Figure:
    """Measured value, with its unit in the text `value`.

    - `ours`, `peers` and `unit` are the numbers of a comparison; `comparison` makes one.
    - `wanted` is an aim as text ("at least 3"), and `met` tells if it was reached. Both are printed, not recorded.
    - `spread` is, by peer, the noise of the ratio: the sum of the interquartile ranges of our runs and of the peer's,
      each divided by its median. Peers whose values are not repeated are missing.
    - `is_key` puts the figure on the page of results.
    """

    what: str
    value: str
    wanted: str = ""
    met: bool | None = None
    is_key: bool = False
    unit: str = ""
    ours: float | None = None
    peers: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)

    def row(self, measurement: str) -> Row:
        found: Row = {"measurement": measurement, "what": self.what}
        if self.ours is None:
            found["value"] = self.value
        else:
            found["unit"] = self.unit
            found["ours"] = _rounded(self.ours)
            found["peers"] = {name: _rounded(value) for name, value in self.peers.items()}
            found["ratio"] = ratios(self.unit, self.ours, self.peers)
        if self.spread:
            found["spread"] = {name: _rounded(value, 3) for name, value in self.spread.items()}
        return found | {"is_key": True} if self.is_key else found


def comparison(
    what: str,
    unit: str,
    ours: float,
    peers: Mapping[str, float],
    wanted: str = "",
    met: bool | None = None,
    *,
    is_key: bool = False,
    spread: Mapping[str, float] = NO_SPREAD,
) -> Figure:
    """Figure of our value and the values of peers, with the text of both."""
    found = ratios(unit, ours, peers)
    texts = [f"{name} {number(value)} {unit} ({number(found.get(name, math.nan))}x)" for name, value in peers.items()]
    value = "; ".join([f"{number(ours)} {unit}", *texts])
    return Figure(what, value, wanted, met, is_key, unit, ours, peers, spread)


def ratios(unit: str, ours: float, peers: Mapping[str, float]) -> dict[str, float]:
    """Times by which sharkpy is better than each peer: a higher rate, or less time or memory."""
    is_rate = unit.endswith("/s")
    pairs = {name: (ours, value) if is_rate else (value, ours) for name, value in peers.items()}
    return {name: _rounded(one / other, 3) for name, (one, other) in pairs.items() if one and other}


def number(value: float) -> str:
    """Three significant digits at most, without an exponent; all digits of a larger number."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def _rounded(value: float, digits: int = 6) -> float:
    return value if isinstance(value, int) else float(f"{value:.{digits}g}")
