"""An approximate histogram of the first key: values that cut its rows into about equal parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.execution.tasks.collectors.window import Numbers, Window

NUM_PARTS = 32
"""Parts into which the values cut the rows: there is one value more."""


class KeyQuantiles:
    """Numbers, dates and times; other keys have none."""

    def __init__(self) -> None:
        self._windows: list[tuple[Numbers, float]] = []

    def observe(self, window: Window) -> None:
        if window.key is None or not len(window.sample):
            return
        values = _numbers(window.key, window.sample)
        if values is not None and len(values):
            self._windows.append((_cuts([(values, 1.0)]), window.num_rows * len(values) / len(window.sample)))

    def encode(self, limit: int) -> bytes:
        """Rows, then the cuts."""
        if not self._windows or limit < 8 * (NUM_PARTS + 2):
            return b""
        rows = sum(weight for _, weight in self._windows)
        cuts = _cuts([(values, weight / len(values)) for values, weight in self._windows])
        return np.concatenate([[rows], cuts]).astype("<f8").tobytes()

    @staticmethod
    def merge(parts: Sequence[bytes]) -> tuple[float, ...]:
        decoded = [np.frombuffer(part, "<f8") for part in parts]
        weighted = [(part[1:], float(part[0]) / (len(part) - 1)) for part in decoded if len(part) > 1]
        return tuple(_cuts(weighted).tolist()) if weighted else ()


def _numbers(key: pa.ChunkedArray[Any], sample: Numbers) -> Numbers | None:
    kind = key.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        key = key.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    values = key.take(sample).drop_null().to_numpy().astype(np.float64)
    return values[np.isfinite(values)]


def _cuts(weighted: Sequence[tuple[Numbers, float]]) -> Numbers:
    """The values at even steps of weight, least and greatest included; each of an array weighs the same."""
    values = np.concatenate([one for one, _ in weighted])
    weights = np.concatenate([np.full(len(one), weight) for one, weight in weighted])
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    places = np.searchsorted(ends, np.linspace(0, 1, NUM_PARTS + 1) * ends[-1] * (1 - 1e-12))
    cuts: Numbers = values[order][np.minimum(places, len(order) - 1)]
    return cuts
