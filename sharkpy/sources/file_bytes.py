"""Bytes of a file for readers of binary formats."""

from __future__ import annotations

from typing import Protocol, overload


class FileBytes(Protocol):
    """Bytes of a file, with the interface of `bytes`."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, key: int, /) -> int: ...

    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...

    def find(self, sub: bytes, start: int, /) -> int:
        """Offset of the first `sub` from `start` on; -1 if there is none."""
        ...
