"""Nearest centre of each row, and the sums of the rows of each centre: the work of k-means, in one pass over memory.

Rows are taken in strips whose columns stay in cache. The loops run along the strip, so that they are SIMD code, for two
centres and four features at a time. Distances are sums of squared differences, not |x|² - 2xc + |c|²: that costs the
same and stays exact if centres are close together and far from the origin. Distances have the type of the rows, sums
over rows are float64. Row numbers are unsigned: numba would test signed ones for being negative.

This module imports numba: import it only to run it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.columnar.compiled import machine_code
from sharkpy.ml.models.kernels.strips import columns_of

Array = npt.NDArray[Any]
_kernel = functools.partial(machine_code, fastmath=("reassoc", "contract", "nsz"))
_STRIP = 512


@_kernel
def _begin(columns: Array, start: int, count: int, centres: Array, centre: int, distance: Array) -> int:
    """Set distance[0 or 1, i] from the first features, those beyond a multiple of four; returns their number."""
    rest = len(columns) % 4
    f0, f1, f2 = np.uintp(0), np.uintp(1), np.uintp(2)
    a0, b0 = centres[centre, 0], centres[centre + 1, 0]
    if rest == 0:
        for i in range(count):
            distance[0, i] = 0
            distance[1, i] = 0
    elif rest == 1:
        for i in range(count):
            x0 = columns[f0, np.uintp(start + i)]
            distance[0, i] = (x0 - a0) ** 2
            distance[1, i] = (x0 - b0) ** 2
    else:
        a1, b1 = centres[centre, 1], centres[centre + 1, 1]
        for i in range(count):
            row = np.uintp(start + i)
            x0, x1 = columns[f0, row], columns[f1, row]
            distance[0, i] = (x0 - a0) ** 2 + (x1 - a1) ** 2
            distance[1, i] = (x0 - b0) ** 2 + (x1 - b1) ** 2
    if rest == 3:
        a2, b2 = centres[centre, 2], centres[centre + 1, 2]
        for i in range(count):
            x2 = columns[f2, np.uintp(start + i)]
            distance[0, i] += (x2 - a2) ** 2
            distance[1, i] += (x2 - b2) ** 2
    return rest


@_kernel
def _add_4_features(
    columns: Array, feature: int, start: int, count: int, centres: Array, centre: int, distance: Array
) -> None:
    """Add to distance[0 or 1, i] the squares of the differences in four features from `centre` and from the next
    one.
    """
    a0, a1 = centres[centre, feature], centres[centre, feature + 1]
    a2, a3 = centres[centre, feature + 2], centres[centre, feature + 3]
    b0, b1 = centres[centre + 1, feature], centres[centre + 1, feature + 1]
    b2, b3 = centres[centre + 1, feature + 2], centres[centre + 1, feature + 3]
    f0, f1, f2, f3 = np.uintp(feature), np.uintp(feature + 1), np.uintp(feature + 2), np.uintp(feature + 3)
    for i in range(count):
        row = np.uintp(start + i)
        x0, x1, x2, x3 = columns[f0, row], columns[f1, row], columns[f2, row], columns[f3, row]
        distance[0, i] += (x0 - a0) ** 2 + (x1 - a1) ** 2 + (x2 - a2) ** 2 + (x3 - a3) ** 2
        distance[1, i] += (x0 - b0) ** 2 + (x1 - b1) ** 2 + (x2 - b2) ** 2 + (x3 - b3) ** 2


@_kernel
def _keep_nearer(distance: Array, count: int, centre: int, nearest: Array, label: Array) -> None:
    """Keep the nearest of the known centre and two more. Of equally near centres the first stays."""
    first, second = np.int32(centre), np.int32(centre + 1)
    for i in range(count):
        is_second = distance[1, i] < distance[0, i]
        least = distance[1, i] if is_second else distance[0, i]
        found = second if is_second else first
        is_nearer = least < nearest[i]
        nearest[i] = least if is_nearer else nearest[i]
        label[i] = found if is_nearer else label[i]


@_kernel
def _nearest_of_strip(
    columns: Array, start: int, count: int, centres: Array, distance: Array, nearest: Array, label: Array
) -> None:
    """`nearest` squared distances and `label`s of `count` rows; `distance` is scratch of shape (2, strip)."""
    num_features = len(columns)
    for i in range(count):
        nearest[i] = np.inf
        label[i] = 0
    for centre in range(0, len(centres), 2):
        done = _begin(columns, start, count, centres, centre, distance)
        for feature in range(done, num_features, 4):
            _add_4_features(columns, feature, start, count, centres, centre, distance)
        _keep_nearer(distance, count, centre, nearest, label)


@_kernel
def _sum_strip(columns: Array, start: int, count: int, label: Array, sums: Array, counts: Array) -> None:
    """Add up a strip's rows by centre, several features at a time, whose additions need not wait for each other."""
    num_features = len(columns)
    rest = num_features % 4
    for i in range(count):
        counts[label[i]] += 1
    if rest > 1:
        f0, f1 = np.uintp(0), np.uintp(1)
        for i in range(count):
            row, own = np.uintp(start + i), np.uintp(label[i])
            sums[own, f0] += columns[f0, row]
            sums[own, f1] += columns[f1, row]
    if rest % 2:
        f0 = np.uintp(rest - 1)
        for i in range(count):
            sums[np.uintp(label[i]), f0] += columns[f0, np.uintp(start + i)]
    for feature in range(rest, num_features, 4):
        f0, f1, f2, f3 = np.uintp(feature), np.uintp(feature + 1), np.uintp(feature + 2), np.uintp(feature + 3)
        for i in range(count):
            row, own = np.uintp(start + i), np.uintp(label[i])
            sums[own, f0] += columns[f0, row]
            sums[own, f1] += columns[f1, row]
            sums[own, f2] += columns[f2, row]
            sums[own, f3] += columns[f3, row]


@_kernel
def _total(values: Array, count: int) -> float:
    total = 0.0
    for i in range(count):
        total += np.float64(values[i])
    return total


@_kernel
def _sum_by_centre(columns: Array, num_rows: int, centres: Array, sums: Array, counts: Array) -> float:
    distance = np.empty((2, _STRIP), columns.dtype)
    nearest = np.empty(_STRIP, columns.dtype)
    label = np.empty(_STRIP, np.int32)
    inertia = 0.0
    for start in range(0, num_rows, _STRIP):
        count = min(_STRIP, num_rows - start)
        _nearest_of_strip(columns, start, count, centres, distance, nearest, label)
        _sum_strip(columns, start, count, label, sums, counts)
        inertia += _total(nearest, count)
    return inertia


@_kernel
def _nearest_of_rows(columns: Array, centres: Array, distances: Array, labels: Array) -> None:
    num_rows = len(labels)
    scratch = np.empty((2, _STRIP), columns.dtype)
    nearest = np.empty(_STRIP, columns.dtype)
    label = np.empty(_STRIP, np.int32)
    for start in range(0, num_rows, _STRIP):
        count = min(_STRIP, num_rows - start)
        _nearest_of_strip(columns, start, count, centres, scratch, nearest, label)
        for i in range(count):
            distances[start + i] = nearest[i]
            labels[start + i] = label[i]


def sum_by_centre(X: Array, centres: Array) -> tuple[Array, Array, float]:
    """(sums of shape (centres, features), counts, inertia) of the rows by their nearest centre.

    `centres` of shape (centres, features). The inertia is the sum of the squared distances.
    """
    sums, counts = np.zeros(centres.shape), np.zeros(len(centres), np.int64)
    inertia = _sum_by_centre(columns_of(X), len(X), _of_even_number(centres, X.dtype), sums, counts)
    return sums, counts, float(inertia)


def nearest_centres(X: Array, centres: Array) -> tuple[Array, Array]:
    """(labels int32, squared distances in the type of the rows) of each row's nearest centre, the first of equals."""
    distances, labels = np.empty(len(X), X.dtype), np.empty(len(X), np.int32)
    _nearest_of_rows(columns_of(X), _of_even_number(centres, X.dtype), distances, labels)
    return labels, distances


def _of_even_number(centres: Array, dtype: np.dtype[Any]) -> Array:
    """Copy of the centres in the type of the rows; an odd last one is repeated: its first position counts."""
    even: Array = np.concatenate([centres, centres[-1:]]) if len(centres) % 2 else centres
    return np.array(even, dtype, order="C")
