"""Strips of rows: parts of a block that are read once from memory and used while in the processor's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.ml.features.feature_blocks import Matrix

_STRIP_VALUES = 65_536
"""Numbers of a strip: half a megabyte of float64."""


def strip_rows(num_features: int) -> int:
    """Rows of a strip, a multiple of 32."""
    return max(256, min(4096, _STRIP_VALUES // max(1, num_features) // 32 * 32))


def columns_of(X: Matrix) -> npt.NDArray[Any]:
    """Return (features, rows), read-only and in C order: one type for compiled code, for a block of any origin.

    The array may have more rows than `X`: if there are gaps between the columns in memory, the bytes in the gaps must
    not be read.
    """
    step = X.strides[1] if X.shape[1] > 1 else X.itemsize * len(X)
    if X.strides[0] == X.itemsize and step % X.itemsize == 0 and step >= X.itemsize * len(X) and len(X):
        shape, strides = (X.shape[1], step // X.itemsize), (step, X.itemsize)
        return np.lib.stride_tricks.as_strided(X, shape, strides, writeable=False)
    return read_only(np.ascontiguousarray(X.T))


def read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Read-only view: compiled code then takes mapped and other arrays as the same type."""
    view = values.view()
    view.flags.writeable = False
    return view
