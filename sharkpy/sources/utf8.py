"""Texts of files as UTF-8."""

from __future__ import annotations

import pyarrow as pa

from sharkpy.sources.arrow import Array, pc


def valid_utf8(data: bytes) -> bytes:
    """`data`, with a replacement character for what is no UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def valid_texts(raw: Array) -> Array:
    """Valid UTF-8 of each binary value, made as `valid_utf8` does."""
    try:
        pc.cast(raw, pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if text is None else valid_utf8(text) for text in raw.to_pylist()], pa.binary())
    return raw
