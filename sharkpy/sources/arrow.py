"""Arrow columns of any type, without static types.

Arrow's type stubs describe arrays and kernels type by type. Code for columns of all types fits none of their overloads.
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
    """`to_arrow` without a static type."""
    return to_arrow(dtype)


def reader_of(data: bytes) -> Any:
    """Readable file with the content `data`."""
    return pyarrow.BufferReader(data)
