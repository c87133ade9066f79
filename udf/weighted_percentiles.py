"""Percentiles of weighted values."""

from __future__ import annotations

from typing import Any

import numpy as np


def weighted_percentiles(pairs: np.ndarray[Any, np.dtype[np.float64]], fractions: list[float]) -> list[float] | None:
    """Return exact percentiles, interpolated. `pairs` alternates between a value and its frequency."""
    values, frequencies = pairs[::2], pairs[1::2]
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(frequencies[order])
    if not len(ends):
        return None
    places = np.asarray(fractions) * (ends[-1] - 1)
    low, high = (
        values[order][np.searchsorted(ends, whole, side="right")] for whole in (np.floor(places), np.ceil(places))
    )
    share = places - np.floor(places)
    mixed = (1 - share) * low + share * high
    return np.where(low == high, low, mixed).tolist()  # type: ignore[no-any-return]
