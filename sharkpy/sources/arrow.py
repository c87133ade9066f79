"""Arrow arrays of any type, without static types, and nested arrays split into their parts.

Arrow's type stubs describe arrays and kernels type by type. Code for columns of all types fits none of their overloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow
import pyarrow as pa
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


def parts_of(array: Array) -> list[Array]:
    """Elements of lists, keys and values of maps, fields of structs; empty for any other array.

    The array must not have an offset, like one that was just read.
    """
    if pa.types.is_map(array.type):
        return [array.keys, array.items]
    if pa.types.is_struct(array.type):
        return [array.field(index) for index in range(array.type.num_fields)]
    return [array.values] if pa.types.is_list(array.type) else []


def with_parts(array: Array, parts: Sequence[Array]) -> Array:
    """Replace the arrays of `parts_of` by other arrays of the same lengths."""
    mask = pc.is_null(array) if array.null_count else None
    if pa.types.is_map(array.type):
        return map_array(array.offsets, *parts, mask=mask)
    if pa.types.is_struct(array.type):
        return pa.StructArray.from_arrays(list(parts), names=[field.name for field in array.type], mask=mask)
    return list_array(array.offsets, *parts, mask=mask)


def leaves_of(array: Array) -> Iterator[Array]:
    """Arrays without parts, at any depth."""
    parts = parts_of(array)
    if not parts:
        yield array
    for part in parts:
        yield from leaves_of(part)


def with_leaves(array: Array, change: Callable[[Array], Array]) -> Array:
    """Replace each array without parts, at any depth, by the result of `change`."""
    parts = parts_of(array)
    return with_parts(array, [with_leaves(part, change) for part in parts]) if parts else change(array)


def check_names(schema: pa.Schema) -> None:
    """Raise UnicodeDecodeError if a name is not UTF-8, also in nested types."""
    _ = schema.names
    nested: list[Any] = [dtype for dtype in schema.types if dtype.num_fields]
    while nested:
        fields = [dtype.field(number) for dtype in nested for number in range(dtype.num_fields)]
        _ = [field.name for field in fields]
        nested = [field.type for field in fields if field.type.num_fields]
