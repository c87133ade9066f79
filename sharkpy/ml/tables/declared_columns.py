"""Columns that the caller declares for a new table: names, or names with types, in any of the usual forms."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sharkpy.base.errors import BindError, ColumnCountError, ParameterError, SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.values.type_parser import parse_columns, parse_type
from sharkpy.values.types import (
    NULL,
    STRING,
    ArrayType,
    DataType,
    Field,
    MapType,
    Schema,
    StructType,
    from_arrow,
    is_interval,
)

_FORMS = 'columns as text ("id bigint, name string"), a dict of types, a list of names, a pyarrow or pyspark schema'


@dataclass(frozen=True, slots=True)
class DeclaredColumns:
    """Declared columns: names, lower case and distinct, with their types, or None for the types of the data."""

    names: tuple[str, ...]
    types: tuple[DataType, ...] | None = None

    @property
    def schema(self) -> Schema | None:
        return None if self.types is None else make_schema(zip(self.names, self.types, strict=True))


def declared_columns(schema: object) -> DeclaredColumns | None:
    """Read a declaration of columns. Return None for None; raise ParameterError if `schema` has none of the forms."""
    if schema is None:
        return None
    pairs = _pairs(schema)
    fields = make_schema((name, NULL if dtype is None else dtype) for name, dtype in pairs)
    types = [None if dtype is None else field.dtype for (_, dtype), field in zip(pairs, fields, strict=True)]
    if not pairs:
        raise ParameterError("the schema has no columns")
    return DeclaredColumns(fields.names, None if None in types else tuple(one for one in types if one is not None))


def _pairs(schema: Any) -> list[tuple[str, DataType | None]]:
    if isinstance(schema, str):
        return list(parse_columns(schema))
    if isinstance(schema, Schema):
        return [(field.name, field.dtype) for field in schema]
    if isinstance(schema, Mapping):
        return [(str(name), declared_type(name, dtype)) for name, dtype in schema.items()]
    if type(schema).__module__.startswith("pyspark."):
        return [(field.name, parse_type(field.dataType.simpleString())) for field in schema.fields]
    if hasattr(schema, "field") and hasattr(schema, "names"):
        return [(field.name, arrow_column_type(field.name, field.type)) for field in schema]
    if isinstance(schema, Sequence) and all(isinstance(name, str) for name in schema):
        return [(name, None) for name in schema]
    raise ParameterError(f"{type(schema).__name__} is not a schema", hint=_FORMS)


def declared_type(name: object, dtype: object) -> DataType:
    """Read a declared type: text, a type of the engine or of pyarrow, or an annotation (`int`, `list[str]`)."""
    from sharkpy.udf.user.declare import annotated_type

    if isinstance(dtype, str):
        return parse_type(dtype)
    if (found := annotated_type(dtype)) is not None:
        return found
    if type(dtype).__module__.startswith("pyarrow"):
        return arrow_column_type(str(name), dtype)
    raise ParameterError(f'column "{name}": {dtype!r} is not a type', hint='such as "bigint" or "array<string>"')


def arrow_column_type(name: str, arrow_type: Any) -> DataType:
    """Return the type of the table's column for a column of Arrow. Raise UnsupportedError that names it if there is
    none.
    """
    try:
        return from_arrow(arrow_type)
    except SharkError as error:
        raise UnsupportedError(f'column "{name}": {error.message}', hint=error.hint) from None


def make_schema(columns: Iterable[tuple[str, DataType]]) -> Schema:
    """Return the schema of a table: distinct names in lower case, and types that can be stored. STRING replaces
    NULL.
    """
    fields: list[Field] = []
    spelled: dict[str, str] = {}
    for written, dtype in columns:
        name = written.lower()
        if not name.strip():
            raise BindError("a column has an empty name", sqlstate="42602")
        if name in spelled:
            both = f'"{spelled[name]}" and "{written}"' if spelled[name] != written else f'two columns "{written}"'
            raise BindError(f"{both} are one column: case does not count in names", sqlstate="42701")
        if is_interval(dtype):
            raise UnsupportedError(f'storing column "{name}" of type {dtype}')
        spelled[name] = written
        fields.append(Field(name, stored_form(dtype)))
    return Schema(tuple(fields))


def stored_form(dtype: DataType) -> DataType:
    """Return `dtype` with STRING for NULL and the names of fields in lower case."""
    match dtype:
        case ArrayType(element):
            return ArrayType(stored_form(element))
        case MapType(key, value):
            return MapType(stored_form(key), stored_form(value))
        case StructType(names, types):
            lowered = tuple(name.lower() for name in names)
            if len(set(lowered)) < len(lowered):
                raise BindError(f"{dtype} has two fields of one name: case does not count in names", sqlstate="42701")
            return StructType(lowered, tuple(map(stored_form, types)))
    return STRING if dtype == NULL else dtype


def renamed(schema: Schema, names: Sequence[str], data: str) -> Schema:
    """Rename the columns of `schema` by position. Raise ColumnCountError if `data` has another number of columns."""
    if len(names) != len(schema):
        raise ColumnCountError(f"{len(names)} names for the {len(schema)} columns of {data}")
    return Schema(tuple(dataclasses.replace(one, name=name) for one, name in zip(schema, names, strict=True)))
