"""The most frequent keys, by their hash, with the rows that a sample of each window says they have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from sharkpy.execution.tasks.collectors.window import Window
from sharkpy.physical.distribution import HeavyKey

MOST_KEYS = 24
"""Keys that a task reports, and that are kept of all tasks'."""
_LEAST_SEEN = 3
"""Times in a sample that a key must be seen: what is seen once says nothing."""
_ENTRY = np.dtype([("key_hash", "<u8"), ("rows", "<u4")])


class HeavyHitters:
    def __init__(self) -> None:
        self._rows: dict[int, float] = defaultdict(float)

    def observe(self, window: Window) -> None:
        keys, seen = window.sampled
        if not len(keys):
            return
        weight = window.num_rows / len(window.sample)
        often = np.flatnonzero(seen >= (_LEAST_SEEN if weight > 1 else 1))
        if len(often) > MOST_KEYS:
            often = often[np.argsort(seen[often], kind="stable")[-MOST_KEYS:]]
        for index in often:
            self._rows[int(keys[index])] += int(seen[index]) * weight

    def encode(self, limit: int) -> bytes:
        most = min(MOST_KEYS, limit // _ENTRY.itemsize)
        found = [(key, min(round(rows), 0xFFFFFFFF)) for key, rows in _first(self._rows, most)]
        return np.array(found, _ENTRY).tobytes()

    @staticmethod
    def merge(parts: Sequence[bytes]) -> tuple[HeavyKey, ...]:
        rows: dict[int, float] = defaultdict(float)
        for part in parts:
            for entry in np.frombuffer(part, _ENTRY):
                rows[int(entry["key_hash"])] += int(entry["rows"])
        return tuple(HeavyKey(key, round(count)) for key, count in _first(rows, MOST_KEYS))


def _first(rows: dict[int, float], most: int) -> list[tuple[int, float]]:
    return sorted(rows.items(), key=lambda item: (-item[1], item[0]))[:most]
