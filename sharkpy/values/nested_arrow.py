"""Decomposition of nested Arrow arrays, and casts field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute

Array: TypeAlias = Any
"""A pyarrow.Array, or a ChunkedArray if a function says so: Arrow's stubs have a class per type."""
_pc: Any = pyarrow.compute
_list_array: Any = pa.ListArray.from_arrays
_map_array: Any = pa.MapArray.from_arrays
_array: Any = pa.array
_nulls: Any = pa.nulls
_chunked_array: Any = pa.chunked_array


def children_of(array: Array) -> list[Array]:
    """Return the elements of lists, keys and values of maps, or fields of structs; no arrays for any other type.

    Rows outside a slice and values under NULLs are left out. `with_children` restores the same rows.
    """
    if pa.types.is_map(array.type):
        first, last = array.offsets[0].as_py(), array.offsets[len(array)].as_py()
        return [array.keys.slice(first, last - first), array.items.slice(first, last - first)]
    if pa.types.is_struct(array.type):
        return list(array.flatten())
    return [_plain_lists(array).flatten()] if is_list(array.type) else []


def with_children(array: Array, children: Sequence[Array], target: pa.DataType) -> Array:
    """Return the rows of `array` with `children` in place of its own, in the type `target`.

    A struct may have other fields than before.
    """
    mask = _pc.is_null(array) if array.null_count else None
    if pa.types.is_map(target):
        return _map_array(_pc.subtract(array.offsets, array.offsets[0]), *children, target, mask=mask)
    if pa.types.is_struct(target):
        if not children:
            return _array([{}], target).take(_pc.if_else(array.is_valid(), 0, None))
        return pa.StructArray.from_arrays(list(children), fields=_fields(target), mask=mask)
    lengths = _pc.fill_null(_pc.list_value_length(_plain_lists(array)), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), _pc.cumulative_sum(lengths).cast(pa.int32())])
    return _list_array(offsets, *children, target, mask=mask)


def is_list(arrow_type: Any) -> bool:
    return bool(
        pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type) or pa.types.is_fixed_size_list(arrow_type)
    )


def cast_column(column: Array, target: pa.DataType, *, safe: bool = True) -> Array:
    """Cast an array or chunked array. Fields of structs are matched by position.

    Arrow's own cast matches fields by name, and gives NULLs if the case differs. Raise ArrowTypeError if the types have
    different numbers of fields or are nested differently.
    """
    if column.type == target:
        return column
    if not _has_fields(target) or pa.types.is_null(column.type):
        return column.cast(target, safe=safe)
    if isinstance(column, pa.ChunkedArray):
        return _chunked_array([cast_column(chunk, target, safe=safe) for chunk in column.chunks], target)
    parts, wanted = children_of(column), child_types(target)
    if _kind(column.type) != _kind(target) or len(parts) != len(wanted):
        raise pa.ArrowTypeError(f"{column.type} cannot be cast to {target}")
    return with_children(
        column, [cast_column(part, one, safe=safe) for part, one in zip(parts, wanted, strict=True)], target
    )


def fields_by_name(array: Array, target: pa.DataType) -> Array:
    """Return an array or chunked array whose structs have the fields of `target`, in its order, with unchanged types.

    Fields are matched by name, ignoring case. A missing field is NULL. Raise ArrowTypeError for a field that `target`
    does not have.
    """
    if array.type == target or not _has_fields(target) or _kind(array.type) != _kind(target):
        return array
    if isinstance(array, pa.ChunkedArray):
        chunks = [fields_by_name(chunk, target) for chunk in array.chunks or [_array([], array.type)]]
        return _chunked_array(chunks)
    parts, wanted = children_of(array), child_types(target)
    if not pa.types.is_struct(target):
        parts = [fields_by_name(part, one) for part, one in zip(parts, wanted, strict=True)]
        types = [part.type for part in parts]
        return with_children(array, parts, pa.map_(*types) if pa.types.is_map(target) else pa.list_(*types))
    found = {field.name.lower(): part for field, part in zip(_fields(array.type), parts, strict=True)}
    names = [field.name for field in _fields(target)]
    if len(found) < len(parts) or found.keys() - {name.lower() for name in names}:
        raise pa.ArrowTypeError(f"{array.type} has other fields than {target}")
    parts = [
        fields_by_name(found[name.lower()], one) if name.lower() in found else _nulls(len(array), one)
        for name, one in zip(names, wanted, strict=True)
    ]
    return with_children(array, parts, pa.struct([(name, part.type) for name, part in zip(names, parts, strict=True)]))


def cast_table(table: pa.Table, target: pa.Schema) -> pa.Table:
    """Cast the columns of a table, matched by position, to the types of `target`."""
    columns = [cast_column(column, field.type) for column, field in zip(table.columns, target, strict=True)]
    return pa.Table.from_arrays(columns, schema=target) if columns else table


def child_types(arrow_type: Any) -> list[pa.DataType]:
    if pa.types.is_map(arrow_type):
        return [arrow_type.key_type, arrow_type.item_type]
    if pa.types.is_struct(arrow_type):
        return [field.type for field in _fields(arrow_type)]
    return [arrow_type.value_type] if is_list(arrow_type) else []


def _has_fields(arrow_type: pa.DataType) -> bool:
    return pa.types.is_struct(arrow_type) or any(map(_has_fields, child_types(arrow_type)))


def _kind(arrow_type: Any) -> str:
    if pa.types.is_struct(arrow_type):
        return "struct"
    return "list" if is_list(arrow_type) else "map" if pa.types.is_map(arrow_type) else ""


def _fields(struct: Any) -> list[pa.Field[Any]]:
    return [struct.field(place) for place in range(struct.num_fields)]


def _plain_lists(array: Array) -> Array:
    return array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_type))
