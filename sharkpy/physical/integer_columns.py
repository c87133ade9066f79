"""Columns of blocks as scaled integers, in an integer type chosen by the planner.

A program requests them by `BlockColumns.forms` and `values`; the planner knows from statistics that every value fits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.errors import InternalError
from sharkpy.columnar.arrow_buffers import missing_rows, part
from sharkpy.columnar.block_cache import array_buffers, column_cache
from sharkpy.columnar.encoded_column import DictionaryForm, NarrowForm, ScanForm
from sharkpy.physical.stage_program import BlockColumns
from sharkpy.values.few_values import strings

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block

    AnyArray = pa.Array[Any]

ARROW_TYPES: dict[str, pa.DataType] = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
}
"""Arrow's type for each DuckDB type that `forms` may name."""
_LEAST_CACHED = 256
"""Number of rows from which taking them again costs more than a lookup."""
_MOST_CACHED = 0.5
"""Share of a block's rows above which a copy of them is not worth its place in the cache."""
_WORTH_TAKING = 0.5
"""Share of matching rows above which removing the other rows costs more than it saves."""
Numbers = np.ndarray[Any, np.dtype[Any]]
_STORAGE = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64(), pa.bool_(): pa.int8()}


def read_block(block: Block, spec: BlockColumns) -> pa.Table:
    """Return the columns of `spec` under their aliases and in their forms. They are cached for later queries."""
    forms = spec.forms or ("",) * len(spec.names)
    values = spec.values or ((),) * len(spec.names)
    columns = [read_column(block, *one) for one in zip(spec.names, forms, values, strict=True)]
    return pa.Table.from_arrays(columns, names=list(spec.aliases))


def read_column(block: Block, name: str, form: str, known: tuple[str | None, ...]) -> AnyArray:
    """Return one column, as `read_block` does."""
    return column_cache().get(block, (name, form, known), partial(_column, block, name, form, known))


def read_rows(block: Block, spec: BlockColumns, rows: AnyArray) -> pa.Table:
    """Return the same as `read_block` for the rows at the positions `rows`. Few rows are decoded without the others."""
    if len(rows) > _MOST_CACHED * block.num_rows:
        return read_block(block, spec).take(rows)
    forms = spec.forms or ("",) * len(spec.names)
    values = spec.values or ((),) * len(spec.names)
    columns = [
        cached_rows(block, one, rows, partial(_rows_of, block, *one, rows))
        for one in zip(spec.names, forms, values, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=list(spec.aliases))


def cached_rows(block: Block, key: Hashable, rows: AnyArray, make: Callable[[], AnyArray]) -> AnyArray:
    """Return what `make` returns for the positions `rows`. It is cached while the same array of positions is used."""
    if len(rows) < _LEAST_CACHED:
        return make()

    def made() -> AnyArray:
        # The entry holds the positions, so that no other array gets their address.
        return pa.StructArray.from_arrays([rows, make()], ["rows", "values"])

    address = rows.buffers()[1]
    place = (key, None if address is None else address.address, rows.offset, len(rows))
    cached: Any = column_cache().get(block, place, made)
    values: AnyArray = cached.field("values")
    return values


def _rows_of(block: Block, name: str, form: str, known: tuple[str | None, ...], rows: AnyArray) -> AnyArray:
    stored = narrow_form(block, name) if form and not known else None
    if stored is not None:
        return _from_codes(replace(stored, array=stored.array.take(rows)), ARROW_TYPES[form])
    return read_column(block, name, form, known).take(rows)


def narrow_form(block: Block, name: str) -> NarrowForm | None:
    """Return a column's codes, or None if it has none. Other encodings are decoded, and cached."""
    form = block.scan_form(name) if block.encoding(name) == "narrow" else None
    return form if isinstance(form, NarrowForm) else None


def decode_block(block: Block, spec: BlockColumns) -> pa.Table:
    """Return the same as `read_block`, without caching."""
    forms = spec.forms or ("",) * len(spec.names)
    values = spec.values or ((),) * len(spec.names)
    columns = [_column(block, *one) for one in zip(spec.names, forms, values, strict=True)]
    return pa.Table.from_arrays(columns, names=list(spec.aliases))


def with_keys(table: pa.Table, spec: BlockColumns) -> pa.Table:
    """Return the rows of a block's `table` that have the keys of `spec`, or all rows if these are most."""
    for name, keys in spec.keys:
        column = table.column(spec.names.index(name)).combine_chunks()
        places = keys.places(column)
        if len(places) < _WORTH_TAKING * table.num_rows:
            table = table.take(places)
    return table


def decoded_bytes(block: Block, table: pa.Table) -> int:
    """Return the bytes of `table` that are not mapped from the file of `block`."""
    chunks = (chunk for column in table.columns for chunk in column.chunks)
    return sum(buffer.size for chunk in chunks for buffer in array_buffers(chunk) if not block.maps(buffer))


def _column(block: Block, name: str, form: str, known: tuple[str | None, ...]) -> AnyArray:
    if known:
        return index_array(block.scan_form(name), known, ARROW_TYPES[form])
    if form:
        return integer_array(block.scan_form(name), ARROW_TYPES[form])
    return block.values(name)


def index_array(form: ScanForm, values: tuple[str | None, ...], target: pa.DataType) -> AnyArray:
    """Return each string's index in `values`, whose last item stands for NULL."""
    if isinstance(form, NarrowForm):
        raise InternalError("a string column has no integer form")
    known = strings(values[:-1])
    if isinstance(form, DictionaryForm):
        places = pc.index_in(form.array.dictionary.cast(pa.string()), known)
        return _moved(form.array.indices, _numpy(places), len(values) - 1, target)
    found: AnyArray = pc.index_in(form.array.cast(pa.string()), known)
    return _moved(found, np.arange(len(values) - 1), len(values) - 1, target)


def _moved(indices: AnyArray, places: Numbers, missing: int, target: pa.DataType) -> AnyArray:
    """Return `places[index]` for each index, `missing` for NULL; the stored array itself if it has these values."""
    is_same = np.array_equal(places, np.arange(len(places)))
    if is_same and indices.null_count == 0 and indices.type.bit_width == target.bit_width:
        return indices.view(target)
    kind = target.to_pandas_dtype()
    if len(places) == 0:
        moved = np.full(len(indices), missing, kind)
    else:
        stored = _numpy(indices)
        safe = stored if indices.null_count == 0 else np.minimum(stored, len(places) - 1)
        moved = places.astype(kind)[safe]
    if indices.null_count:
        valid = _numpy(pc.is_valid(indices).cast(pa.uint8())).astype(np.bool_)
        moved[~valid] = missing
    return part(moved)


def integer_array(form: ScanForm, target: pa.DataType) -> AnyArray:
    """Return the scaled integers of a column as `target`, which can hold them all. NULLs stay NULL."""
    if isinstance(form, NarrowForm):
        return _from_codes(form, target)
    if isinstance(form, DictionaryForm):
        return pc.take(_from_values(form.array.dictionary, target), form.array.indices)
    return _from_values(form.array, target)


def _from_codes(form: NarrowForm, target: pa.DataType) -> AnyArray:
    codes = form.array
    if form.base == 0 and form.factor == 1 and codes.type.bit_width == target.bit_width:
        return codes.view(target)
    kind = target.to_pandas_dtype()
    values = _numpy(codes).astype(kind)
    if form.factor != 1:
        values *= _wrapped(form.factor, kind)
    if form.base != 0:
        values += _wrapped(form.base, kind)
    return _like(codes, values, target)


def _wrapped(number: int, kind: Any) -> Any:
    """Return `number` modulo the width of `kind`. Sums and products wrap, and the results are known to fit."""
    return np.array(number, np.int64).astype(kind)


def _from_values(array: AnyArray | pa.ChunkedArray[Any], target: pa.DataType) -> AnyArray:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_decimal128(array.type):
        words = np.frombuffer(memoryview(_values(array)), np.int64)[2 * array.offset :][: 2 * len(array)]
        return _like(array, words[::2].astype(target.to_pandas_dtype()), target)
    if array.type in _STORAGE:
        storage = _STORAGE[array.type]
        array = array.cast(storage) if array.type == pa.bool_() else array.view(storage)
    if array.type == target:
        return array
    return _like(array, _numpy(array).astype(target.to_pandas_dtype()), target)


def _numpy(array: AnyArray) -> Numbers:
    """Return the raw values, including undefined ones under NULLs."""
    kind = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(memoryview(_values(array)), kind)[array.offset :][: len(array)]


def _values(array: AnyArray) -> pa.Buffer:
    """Return the buffer of an array's values."""
    return array.buffers()[1] or pa.py_buffer(b"")


def _like(source: AnyArray, values: Numbers, target: pa.DataType) -> AnyArray:
    """Return `values` with the NULLs of `source`."""
    validity = None
    if source.null_count:
        validity = pa.py_buffer(np.packbits(~missing_rows(source), bitorder="little").data)
    data = pa.py_buffer(np.ascontiguousarray(values).data)
    return pa.Array.from_buffers(target, len(values), [validity, data])
