"""Strips of rows: what of a block is read once from memory and used while it is in the processor's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.ml.features.feature_blocks import Matrix

_STRIP_VALUES = 65_536
"""Half a megabyte of float64."""


def strip_rows(num_features: int) -> int:
    """A multiple of 32."""
    return max(256, min(4096, _STRIP_VALUES // max(1, num_features) // 32 * 32))


def columns_of(X: Matrix) -> npt.NDArray[Any]:
    """Of shape (features, rows), read-only and in C order: one type for compiled code, whatever the block's origin."""
    columns = np.ascontiguousarray(X.T)
    if columns.flags.writeable:
        columns = columns.view()
        columns.flags.writeable = False
    return columns
