"""Ids of vertices: Arrow arrays of 64-bit integers or of strings, without nulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.errors import DataError, TypeMismatchError
from sharkpy.columnar.compiled import compiled

Ids: TypeAlias = "pa.Array[Any]"
Array: TypeAlias = npt.NDArray[Any]
INTEGERS = pa.int64()
STRINGS = pa.large_string()
_SPARSE = 64
"""Average gap of integers below which they are looked up in a table over their whole range."""


def as_ids(values: Any, what: str) -> Ids:
    """Return ids from integers or strings of NumPy, Arrow or a sequence. Raise DataError that names them by `what` if
    one is NULL.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    array: Any = values if isinstance(values, pa.Array) else _from_numpy(np.asarray(values), what)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.null_count:
        raise DataError(f"{array.null_count:,} of {len(array):,} {what} are NULL", hint="leave these rows out")
    if pa.types.is_null(array.type):
        return pa.array([], INTEGERS)
    if not (pa.types.is_integer(array.type) or _is_string(array.type)):
        raise TypeMismatchError(f"{what} are of type {array.type}", hint="they may be integers or strings")
    try:
        ids: Ids = array.cast(INTEGERS if pa.types.is_integer(array.type) else STRINGS)
    except pa.ArrowInvalid:
        raise DataError(f"{what} do not fit 64-bit integers") from None
    return ids


def _from_numpy(values: Array, what: str) -> Ids:
    if values.ndim != 1:
        raise DataError(f"{what} have {values.ndim} dimensions, not 1")
    try:
        return pa.array(values if len(values) else [])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise TypeMismatchError(f"{what} are of type {values.dtype}", hint="they may be integers or strings") from None


def _is_string(dtype: pa.DataType) -> bool:
    return pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype)


def to_numpy(ids: Ids) -> Array:
    """Return ids as an array of int64, or an object array of str."""
    values: Array = ids.to_numpy(zero_copy_only=False)
    return values


def taken(ids: Ids, places: Array) -> Ids:
    found: Ids = ids.take(places)
    return found


def concat(pieces: Sequence[Ids]) -> Ids:
    """Concatenate pieces of one type. Raise DataError if some are integers and some are strings."""
    filled = [piece for piece in pieces if len(piece)]
    if not filled:
        return pieces[0] if pieces else pa.array([], INTEGERS)
    if len({str(piece.type) for piece in filled}) > 1:
        raise DataError("some vertex ids are integers and others strings", hint="cast them to one type")
    return pa.concat_arrays(filled)


def sorted_unique(ids: Ids) -> Ids:
    if ids.type == INTEGERS:
        numbers = np.sort(to_numpy(ids))
        is_first = np.concatenate([[True], numbers[1:] != numbers[:-1]]) if len(numbers) else slice(None)
        unique: Ids = pa.array(numbers[is_first])
        return unique
    found: Ids = pc.unique(ids)
    order: Any = pc.sort_indices(found)
    return taken(found, order.to_numpy())


def find(ids: Ids, known: Ids) -> Array:
    """Return the position of each of `ids` in `known`, -1 if absent, as int32."""
    if ids.type != known.type:
        return np.full(len(ids), -1, np.int32)
    if known.type == INTEGERS and len(known):
        numbers, wanted = to_numpy(known), to_numpy(ids)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _SPARSE * len(known):
            table = np.full(high - low + 2, -1, np.int32)
            table[numbers - low] = np.arange(len(known), dtype=np.int32)
            return table[np.where((wanted >= low) & (wanted <= high), wanted - low, high - low + 1)]
    found: Any = pc.index_in(ids, value_set=known)
    places: Array = found.fill_null(-1).to_numpy(zero_copy_only=False)
    return places


def partitions_of(ids: Ids, num_partitions: int) -> Array:
    """Return the partition of each vertex: the same on every machine and in every version of the libraries."""
    if ids.type == INTEGERS:
        hashes = _mixed(to_numpy(ids).view(np.uint64))
    else:
        hashes = np.empty(len(ids), np.uint64)
        offsets, data = _string_parts(ids)
        _hash_strings(offsets, data, hashes)
        hashes = _mixed(hashes)
    return (hashes % np.uint64(num_partitions)).astype(np.int32)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash of integers: the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
    generators, 2014).
    """
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compiled
def _hash_strings(offsets: Array, data: Array, hashes: Array) -> None:
    """Hash strings by FNV-1a of 64 bits."""
    for row in range(len(offsets) - 1):
        value = np.uint64(0xCBF29CE484222325)
        for place in range(offsets[row], offsets[row + 1]):
            value = (value ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        hashes[row] = value


def _string_parts(ids: Ids) -> tuple[Array, Array]:
    """Return (offsets, bytes) of strings; the offsets count from the start of the bytes."""
    _, offsets, data = ids.buffers()
    places = np.frombuffer(memoryview(offsets), np.int64) if offsets else np.zeros(1, np.int64)
    content = np.frombuffer(memoryview(data), np.uint8) if data and data.size else np.empty(0, np.uint8)
    return places[ids.offset : ids.offset + len(ids) + 1], content


def to_arrays(name: str, ids: Ids) -> dict[str, Array]:
    """Return the arrays that store ids under `name`."""
    if ids.type == INTEGERS:
        return {name: to_numpy(ids)}
    offsets, data = _string_parts(ids)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(ids) else (0, 0)
    starts = offsets - first if len(ids) else np.zeros(1, np.int64)
    return {f"{name} offsets": starts, f"{name} bytes": data[first:last]}


def from_arrays(name: str, arrays: Mapping[str, Array]) -> Ids:
    """Return the ids that `to_arrays` stored, without a copy."""
    if name in arrays:
        values = arrays[name]
        return pa.Array.from_buffers(INTEGERS, len(values), [None, _buffer(values)])
    offsets, data = arrays[f"{name} offsets"], arrays[f"{name} bytes"]
    return pa.Array.from_buffers(STRINGS, len(offsets) - 1, [None, _buffer(offsets), _buffer(data)])


def _buffer(values: Array) -> pa.Buffer:
    return pa.py_buffer(values.data.cast("B") if values.size else b"")
