"""Bytes of a file as readers of binary formats see them."""

from __future__ import annotations

from typing import Protocol, overload


class FileBytes(Protocol):
    """Bytes of a file, as `bytes` has them."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, key: int, /) -> int: ...

    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...

    def find(self, sub: bytes, start: int, /) -> int:
        """Place of the first `sub` from `start` on; -1 if there is none."""
        ...
