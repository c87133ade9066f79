"""Damages of a block's file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def flip(path: Path) -> None:
    """Flip a bit of every hundredth byte, so that some parts of each column are hit."""
    data = bytearray(path.read_bytes())
    for place in range(0, len(data), 100):
        data[place] ^= 0x40
    path.write_bytes(data)


def flip_in_place(path: Path) -> None:
    """Flip bits in the file that processes have mapped."""
    data = bytearray(path.read_bytes())
    with path.open("r+b") as file:
        for place in range(0, len(data), 100):
            file.seek(place)
            file.write(bytes([data[place] ^ 0x40]))


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[: len(data) // 2])


DAMAGE: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "cut": cut,
    "flipped": flip,
    "flipped in place": flip_in_place,
}
