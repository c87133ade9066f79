"""NumPy arrays of any length and fixed-size type as one block of the store, mapped and checked like tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sharkpy.columnar import block_file, parts
from sharkpy.columnar.block import Block, EncodedBlock
from sharkpy.columnar.column_statistics import ColumnStatistics
from sharkpy.columnar.encoded_column import EncodedColumn
from sharkpy.values import types as t

Array = npt.NDArray[Any]
_ENCODING = "plain"


def encode_arrays(arrays: Mapping[str, Array]) -> EncodedBlock:
    """Encode one-dimensional `arrays` by name as a block. Only `StoredArrays` reads it."""
    columns, statistics = {}, []
    for name, array in arrays.items():
        columns[name] = _encode(array)
        statistics.append((name, ColumnStatistics(t.TINYINT, 0, 0, size_bytes=array.nbytes)))
    return EncodedBlock.of(block_file.serialize(0, columns, statistics), columns)


def _encode(array: Array) -> EncodedColumn:
    if array.ndim != 1 or array.dtype.hasobject:
        raise TypeError(f"an array of {array.ndim} dimensions of {array.dtype} cannot be stored")
    values = np.ascontiguousarray(array).view(np.uint8) if array.size else np.empty(0, np.uint8)
    described = json.dumps(np.lib.format.dtype_to_descr(array.dtype))
    return EncodedColumn(
        _ENCODING, t.TINYINT, len(values), {"dtype": described}, {"values": parts.bytes_part(parts.buffer_of(values))}
    )


class StoredArrays(Mapping[str, Array]):
    """The arrays of a block, mapped and read-only. Reading a damaged array raises CorruptionError."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def __getitem__(self, name: str) -> Array:
        column = self._block.stored(name)
        descr = json.loads(str(column.params["dtype"]))
        dtype = np.lib.format.descr_to_dtype(_tuples(descr))
        stored: pa.Buffer = parts.buffer(column.parts["values"], 1)
        return np.frombuffer(memoryview(stored), dtype=dtype) if stored.size else np.empty(0, dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._block.names)

    def __len__(self) -> int:
        return len(self._block.names)


def _tuples(descr: Any) -> Any:
    """Convert JSON's lists to NumPy's description of fields: a list of tuples, with a tuple for each shape."""
    if not isinstance(descr, list):
        return descr
    return [(name, _tuples(kind), *map(tuple, shape)) for name, kind, *shape in descr]
