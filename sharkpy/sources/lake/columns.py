"""Columns of lake tables as their files identify them: by ids, or by physical names, independent of their current
names.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, ChunkedArray
from sharkpy.values.nested_arrow import children_of, is_list, with_children

FIELD_ID = b"PARQUET:field_id"
"""Key of a column's id in the metadata of Arrow's fields."""
_NO_FIELD = "\0"
"""Name of a placeholder field for structs none of whose fields the table still has."""


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """Column, or a part of one, by its name in the table.

    1. `key` is its id in files, or its physical name there.
    2. `names`: its possible names in files without ids.
    3. `parts`: the fields of a struct, the element of an array, key and value of a map.
    4. `in_utc`: its times are stored with the zone UTC.
    5. `written`: its name in new files, in the case of the table's own metadata.
    """

    name: str
    key: int | str
    names: tuple[str, ...] = ()
    parts: tuple[LakeColumn, ...] = ()
    in_utc: bool = False
    written: str = ""

    def is_called(self, field: pa.Field[Any], *, by_id: bool) -> bool:
        """True if a field of a file is the column."""
        if by_id and isinstance(self.key, int):
            return field_id(field) == self.key
        if isinstance(self.key, str):
            return bool(field.name == self.key)
        return field.name in (self.names or (self.name,)) or field.name.lower() == self.name


def columns_text(columns: Iterable[LakeColumn]) -> str:
    """Text of the columns of a table. UnsupportedError if the names of two columns differ only by case."""
    return json.dumps(_bodies(columns), separators=(",", ":"))


@functools.lru_cache(64)
def columns_of_text(text: str) -> tuple[LakeColumn, ...]:
    return tuple(_column(body) for body in json.loads(text))


def _bodies(columns: Iterable[LakeColumn]) -> list[list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in columns:
        if one.name in found:
            raise UnsupportedError(f'two columns "{one.name}" of a lake table, whose names differ only by case')
        found[one.name] = [one.name, one.key, list(one.names), _bodies(one.parts), one.in_utc, one.written]
    return list(found.values())


def _column(body: Sequence[Any]) -> LakeColumn:
    name, key, names, parts, in_utc, written = body
    return LakeColumn(name, key, tuple(names), tuple(map(_column, parts)), in_utc, written)


def field_id(field: pa.Field[Any]) -> int | None:
    found = (field.metadata or {}).get(FIELD_ID)
    return None if found is None else int(found)


def stored_names(columns: Iterable[LakeColumn], stored: pa.Schema) -> dict[str, str]:
    """Name in a file of each column that the file has."""
    by_id = _has_ids(stored)
    found: dict[str, str] = {}
    for column in columns:
        field = next((field for field in stored if column.is_called(field, by_id=by_id)), None)
        if field is not None:
            found[column.name] = field.name
    return found


def _has_ids(fields: Iterable[pa.Field[Any]]) -> bool:
    return any(field_id(field) is not None for field in fields)


def with_current_names(column: ChunkedArray, known: LakeColumn) -> ChunkedArray:
    """Values whose structs have the table's current fields and names, without fields that the table has dropped."""
    if _is_current(column.type, known):
        return column
    return pa.chunked_array([_named(chunk, known) for chunk in column.chunks] or [_named(_empty(column.type), known)])


def _empty(dtype: pa.DataType) -> Array:
    return pa.array([], dtype)


def _is_current(dtype: Any, known: LakeColumn) -> bool:
    if pa.types.is_struct(dtype):
        fields = list(dtype)
        by_id = _has_ids(fields)
        return all(_matches(field, known.parts, by_id=by_id) for field in fields)
    if is_list(dtype):
        return _is_current(dtype.value_type, known.parts[0])
    if pa.types.is_map(dtype):
        key, value = known.parts
        return _is_current(dtype.key_type, key) and _is_current(dtype.item_type, value)
    return True


def _matches(field: pa.Field[Any], parts: Sequence[LakeColumn], *, by_id: bool) -> bool:
    """True if a field of a struct has its current name, or is not a part of the column and has no part's name."""
    part = next((part for part in parts if part.is_called(field, by_id=by_id)), None)
    if part is None:
        return field.name.lower() not in {part.name for part in parts}
    return part.name == field.name.lower() and _is_current(field.type, part)


def _named(array: Array, known: LakeColumn) -> Array:
    dtype, parts = array.type, children_of(array)
    if pa.types.is_struct(dtype):
        return _named_struct(array, parts, known)
    if not parts:
        return array
    children = [_named(part, one) for part, one in zip(parts, known.parts, strict=True)]
    types = [child.type for child in children]
    return with_children(array, children, pa.map_(*types) if pa.types.is_map(dtype) else pa.list_(*types))


def _named_struct(array: Array, values: Sequence[Array], known: LakeColumn) -> Array:
    fields = list(array.type)
    by_id = _has_ids(fields)
    found: dict[str, Array] = {}
    for part in known.parts:
        place = next((i for i, field in enumerate(fields) if part.is_called(field, by_id=by_id)), None)
        if place is not None:
            found[part.name] = _named(values[place], part)
    if not found:
        found[_NO_FIELD] = pa.nulls(len(array))
    target = pa.struct([(name, value.type) for name, value in found.items()])
    return with_children(array, list(found.values()), target)


def file_schema(plain: pa.Schema, columns: Sequence[LakeColumn]) -> pa.Schema:
    """Columns of a new file, with their ids or their physical names."""
    known: Mapping[str, LakeColumn] = {one.name: one for one in columns}
    return pa.schema([_stored_field(field, known[field.name]) for field in plain])


def _stored_field(field: pa.Field[Any], known: LakeColumn) -> pa.Field[Any]:
    dtype = _stored_type(field.type, known)
    if isinstance(known.key, str):
        return pa.field(known.key, dtype, field.nullable)
    return pa.field(known.written or field.name, dtype, field.nullable, {FIELD_ID: str(known.key).encode()})


def _stored_type(dtype: Any, known: LakeColumn) -> Any:
    if pa.types.is_struct(dtype):
        return pa.struct([_stored_field(field, part) for field, part in zip(dtype, known.parts, strict=True)])
    if pa.types.is_list(dtype):
        return pa.list_(_stored_part(dtype.value_field, known.parts[0]))
    if pa.types.is_map(dtype):
        key, value = known.parts
        fields: Any = _stored_part(dtype.key_field, key), _stored_part(dtype.item_field, value)
        return pa.map_(*fields)
    return pa.timestamp("us", "UTC") if known.in_utc and pa.types.is_timestamp(dtype) else dtype


def _stored_part(field: pa.Field[Any], known: LakeColumn) -> pa.Field[Any]:
    """Element, key or value, which keeps the name that the file format gives it."""
    metadata = None if isinstance(known.key, str) else {FIELD_ID: str(known.key).encode()}
    return pa.field(field.name, _stored_type(field.type, known), field.nullable, metadata)
