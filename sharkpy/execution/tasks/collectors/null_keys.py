"""Rows whose first key is NULL."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sharkpy.execution.tasks.collectors.window import Window

_ROWS = struct.Struct("<q")


class NullKeys:
    def __init__(self) -> None:
        self._rows = 0

    def observe(self, window: Window) -> None:
        if window.key is not None:
            self._rows += window.key.null_count

    def encode(self, limit: int) -> bytes:
        return _ROWS.pack(self._rows) if limit >= _ROWS.size else b""

    @staticmethod
    def merge(parts: Sequence[bytes]) -> int:
        return sum(_ROWS.unpack(part)[0] for part in parts)
