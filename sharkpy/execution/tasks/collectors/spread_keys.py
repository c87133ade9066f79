"""Keys that a task dealt over spread buckets; all of them, because the reading stage relies on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sharkpy.execution.tasks.collectors.row_window import Window
from sharkpy.physical.distribution import SpreadKey

MOST_KEYS = 32
"""Limit on the keys that one task may deal over spread buckets."""
_ENTRY = np.dtype([("key_hash", "<u8"), ("pieces", "<u2")])
ENCODED_BYTES = MOST_KEYS * _ENTRY.itemsize


class SpreadKeys:
    def __init__(self) -> None:
        self._pieces: dict[int, int] = {}

    def observe(self, window: Window) -> None:
        self._pieces.update(window.spread)

    def encode(self, limit: int) -> bytes:  # noqa: ARG002 - it cannot shrink, and fits its row's bytes
        return np.array(sorted(self._pieces.items()), _ENTRY).tobytes()

    @staticmethod
    def merge(parts: Sequence[bytes]) -> tuple[SpreadKey, ...]:
        pieces: dict[int, int] = {}
        for part in parts:
            for entry in np.frombuffer(part, _ENTRY):
                key = int(entry["key_hash"])
                pieces[key] = max(pieces.get(key, 0), int(entry["pieces"]))
        return tuple(SpreadKey(key, count) for key, count in sorted(pieces.items()))
