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
    """(features, rows), read-only and in C order: one type for compiled code, whatever the block's origin.

    Rows may be more than those of `X`: where columns lie apart in memory, what is between them belongs to nobody and
    is not to be read.
    """
    step = X.strides[1] if X.shape[1] > 1 else X.itemsize * len(X)
    if X.strides[0] == X.itemsize and step % X.itemsize == 0 and step >= X.itemsize * len(X) and len(X):
        shape, strides = (X.shape[1], step // X.itemsize), (step, X.itemsize)
        return np.lib.stride_tricks.as_strided(X, shape, strides, writeable=False)
    return read_only(np.ascontiguousarray(X.T))


def read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view: compiled code takes what is mapped and what is not as the same type then."""
    view = values.view()
    view.flags.writeable = False
    return view
