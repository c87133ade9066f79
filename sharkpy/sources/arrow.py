"""Arrow columns of any type, for code that the type checker cannot follow.

Arrow's stubs describe arrays and kernels type by type; code that treats columns of every type alike meets
none of their overloads.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow
import pyarrow.compute

from sharkpy.values.types import DataType, to_arrow

Array: TypeAlias = Any
"""A pyarrow.Array."""
ChunkedArray: TypeAlias = Any
"""A pyarrow.ChunkedArray."""
pc: Any = pyarrow.compute
list_array: Any = pyarrow.ListArray.from_arrays
map_array: Any = pyarrow.MapArray.from_arrays


def column_type(dtype: DataType) -> Any:
    """`to_arrow`, of a type that the checker does not look into."""
    return to_arrow(dtype)


def reader_of(data: bytes) -> Any:
    """`data` as a file to read."""
    return pyarrow.BufferReader(data)
