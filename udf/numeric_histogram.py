"""Histograms of streams of numbers: bins (centre, count) of which the closest are merged (Ben-Haim and Tom-Tov, "A
Streaming Parallel Decision Tree Algorithm", JMLR 2010), with the choices of Hive's NumericHistogram.

A state is the bytes of doubles: the maximum number of bins, then centre and count of each bin, by centre. Ties between
closest pairs are broken by Java's generator, seeded as in Hive, so that the rows of one task give Hive's bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sharkpy.columnar.compiled import compiled

Doubles = np.ndarray[Any, np.dtype[np.float64]]

_SEED = (31183 ^ 0x5DEECE66D) & ((1 << 48) - 1)
_FEW_BINS = 1000
"""Number of bins up to which each value is added individually, as in Hive. With more bins, values are merged in
batches.
"""
_BATCH = 1 << 17
_MIXED = 100_000
"""Number of values of a task from which threads may have reordered them: they are sorted first, for a stable result."""


def histogram_state(values: Doubles, bins: int) -> bytes | None:
    """Return the state of the values, or None if there are none."""
    if bins < 2:
        raise ValueError(f"a histogram needs at least 2 bins, not {bins}")
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    if len(values) > _MIXED:
        values = np.sort(values)
    if bins <= _FEW_BINS:
        centres, counts = np.empty(bins + 1), np.empty(bins + 1)
        used = int(_add_all(values, centres, counts, 0, bins, np.uint64(_SEED)))
        return _packed(bins, centres[:used], counts[:used])
    centres, counts = np.empty(0), np.empty(0)
    for start in range(0, len(values), _BATCH):
        found, repeats = np.unique(values[start : start + _BATCH], return_counts=True)
        centres, counts = _together([centres, found], [counts, repeats.astype(np.float64)])
        centres, counts = _trimmed(centres, counts, bins)
    return _packed(bins, centres, counts)


def merge_histograms(states: list[bytes]) -> bytes | None:
    """Merge the states. The result does not depend on their order."""
    if len(states) < 2:
        return states[0] if states else None
    parts = [np.frombuffer(state) for state in sorted(states)]
    bins = int(parts[0][0])
    centres = np.concatenate([part[1::2] for part in parts])
    counts = np.concatenate([part[2::2] for part in parts])
    if bins > _FEW_BINS:
        return _packed(bins, *_trimmed(*_together([centres], [counts]), bins))
    order = np.argsort(centres, kind="stable")
    return _packed(bins, *_trimmed(centres[order], counts[order], bins))


def histogram_bins(state: bytes) -> list[dict[str, float]]:
    part = np.frombuffer(state)
    return [{"x": float(x), "y": float(y)} for x, y in zip(part[1::2], part[2::2], strict=True)]


def histogram_quantiles(state: bytes, fractions: Doubles) -> list[float]:
    """Return the values at the given fractions, interpolated between centres."""
    part = np.frombuffer(state)
    centres, counts = part[1::2], part[2::2]
    sums = np.cumsum(counts)
    found = []
    for fraction in fractions:
        at = min(int(np.searchsorted(sums / sums[-1], fraction)), len(centres) - 1)
        if at == 0:
            found.append(float(centres[0]))
            continue
        share = (fraction * sums[-1] - sums[at - 1]) / counts[at]
        found.append(float(centres[at - 1] + share * (centres[at] - centres[at - 1])))
    return found


def _packed(bins: int, centres: Doubles, counts: Doubles) -> bytes:
    packed = np.empty(1 + 2 * len(centres))
    packed[0], packed[1::2], packed[2::2] = bins, centres, counts
    return packed.tobytes()


def _together(centres: list[Doubles], counts: list[Doubles]) -> tuple[Doubles, Doubles]:
    """Merge bins of several lists by centre."""
    found, places = np.unique(np.concatenate(centres), return_inverse=True)
    totals = np.zeros(len(found))
    np.add.at(totals, places, np.concatenate(counts))
    return found, totals


def _trimmed(centres: Doubles, counts: Doubles, bins: int) -> tuple[Doubles, Doubles]:
    """Merge the closest bins until there are at most `bins`."""
    if bins <= _FEW_BINS:
        centres, counts = centres.copy(), counts.copy()
        used = int(_add_all(np.empty(0), centres, counts, len(centres), bins, np.uint64(_SEED)))
        return centres[:used], counts[:used]
    while (excess := len(centres) - bins) > 0:
        gaps = np.concatenate([[np.inf], np.diff(centres), [np.inf]])
        # A gap no greater than its neighbours stays so whichever gaps are closed. Of adjacent equal ones, every other
        # is taken.
        closest = np.flatnonzero((gaps[1:-1] <= gaps[:-2]) & (gaps[1:-1] <= gaps[2:]))
        runs = np.cumsum(np.diff(closest, prepend=-2) > 1)
        starts = closest[np.searchsorted(runs, runs)]
        closest = closest[(closest - starts) % 2 == 0]
        # Of equal gaps, take the ones with few values first; of these, some from all over the range.
        scattered = (closest * 0x9E3779B1) & 0xFFFFFFFF
        order = np.lexsort((scattered, counts[closest] + counts[closest + 1], gaps[closest + 1]))
        closest = closest[order[:excess]]
        total = counts[closest] + counts[closest + 1]
        moved = centres[closest] + (centres[closest + 1] - centres[closest]) * (counts[closest + 1] / total)
        centres, counts = centres.copy(), counts.copy()
        centres[closest], counts[closest] = moved, total
        centres, counts = np.delete(centres, closest + 1), np.delete(counts, closest + 1)
    return centres, counts


@compiled
def _add_all(values: Doubles, centres: Doubles, counts: Doubles, used: int, bins: int, seed: np.uint64) -> int:
    """Add the values to the first `used` bins, keeping at most `bins`. The arrays have room for one more. Return the
    number of used bins.
    """
    mask = np.uint64(0xFFFFFFFFFFFF)
    position = 0
    while True:
        while used > bins:
            least, place, ties = centres[1] - centres[0], 0, 1
            for i in range(1, used - 1):
                gap = centres[i + 1] - centres[i]
                if gap < least:
                    least, place, ties = gap, i, 1
                elif gap == least:
                    # java.util.Random.nextDouble
                    seed = (seed * np.uint64(0x5DEECE66D) + np.uint64(0xB)) & mask
                    high = seed >> np.uint64(22)
                    seed = (seed * np.uint64(0x5DEECE66D) + np.uint64(0xB)) & mask
                    drawn = float((high << np.uint64(27)) + (seed >> np.uint64(21))) * 1.1102230246251565e-16
                    ties += 1
                    if drawn <= 1.0 / ties:
                        place = i
            total = counts[place] + counts[place + 1]
            centres[place] = centres[place] * (counts[place] / total) + centres[place + 1] / total * counts[place + 1]
            counts[place] = total
            used -= 1
            for i in range(place + 1, used):
                centres[i], counts[i] = centres[i + 1], counts[i + 1]
        if position == len(values):
            return used
        value = values[position]
        position += 1
        low, high_end = 0, used
        while low < high_end:
            middle = (low + high_end) // 2
            if centres[middle] < value:
                low = middle + 1
            else:
                high_end = middle
        if low < used and centres[low] == value:
            counts[low] += 1
            continue
        for i in range(used, low, -1):
            centres[i], counts[i] = centres[i - 1], counts[i - 1]
        centres[low], counts[low] = value, 1.0
        used += 1
