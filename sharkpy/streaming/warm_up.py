"""Compiled code that the first epoch needs, loaded while CREATE STREAM runs. This saves a third of a second."""

from __future__ import annotations

import struct
import threading

_begun = threading.Event()


def warm_up() -> None:
    """Load the compiled code that makes blocks in a thread, once per process."""
    if not _begun.is_set():
        _begun.set()
        threading.Thread(target=load_compiled, name="warm up").start()


def load_compiled() -> None:
    """Encode rows of the common types, in this thread.

    The arrays are not made of Python values, since Arrow imports pandas for that.
    """
    import pyarrow as pa

    from sharkpy.columnar.block import encode_block
    from sharkpy.values.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Field, Schema, to_arrow

    types = {"a": BIGINT, "b": DOUBLE, "c": STRING, "d": TIMESTAMP, "e": INT}
    values = struct.pack("=8q", 3, 1, 4, 1, 5, 9, 2, 6)
    numbers = pa.Array.from_buffers(pa.int64(), 8, [None, pa.py_buffer(values)])
    columns = {name: numbers.cast(to_arrow(dtype)) for name, dtype in types.items()}
    encode_block(pa.table(columns), Schema(tuple(Field(name, dtype) for name, dtype in types.items())))
