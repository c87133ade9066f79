"""Columns and partition fields of Iceberg tables: types converted from and to Hive's, changes, and values."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg import types as ice
from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.transforms import BucketTransform, TruncateTransform, UnknownTransform, VoidTransform, parse_transform

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.sources.lake.columns import LakeColumn
from sharkpy.sources.lake.iceberg.transforms import COUNTED, IDENTITY, VOID
from sharkpy.sources.lenient_conversion import single_value
from sharkpy.values import types as t
from sharkpy.values.types import Schema

_FROM: dict[type[Any], t.DataType] = {
    ice.BooleanType: t.BOOLEAN,
    ice.IntegerType: t.INT,
    ice.LongType: t.BIGINT,
    ice.FloatType: t.FLOAT,
    ice.DoubleType: t.DOUBLE,
    ice.DateType: t.DATE,
    ice.TimestampType: t.TIMESTAMP,
    ice.TimestamptzType: t.TIMESTAMP,
    ice.StringType: t.STRING,
    ice.BinaryType: t.BINARY,
    ice.FixedType: t.BINARY,
}
_TO: dict[t.DataType, Callable[[], Any]] = {
    t.BOOLEAN: ice.BooleanType,
    t.TINYINT: ice.IntegerType,
    t.SMALLINT: ice.IntegerType,
    t.INT: ice.IntegerType,
    t.BIGINT: ice.LongType,
    t.FLOAT: ice.FloatType,
    t.DOUBLE: ice.DoubleType,
    t.DATE: ice.DateType,
    t.TIMESTAMP: ice.TimestampType,
    t.STRING: ice.StringType,
    t.BINARY: ice.BinaryType,
}


def hive_type(found: Any, column: str) -> t.DataType:
    """Hive's type for an Iceberg type; UnsupportedError names the column whose type Hive does not have."""
    match found:
        case ice.DecimalType():
            return t.DecimalType(found.precision, found.scale)
        case ice.ListType():
            return t.ArrayType(hive_type(found.element_type, column))
        case ice.MapType():
            return t.MapType(hive_type(found.key_type, column), hive_type(found.value_type, column))
        case ice.StructType():
            names = tuple(field.name.lower() for field in found.fields)
            return t.StructType(names, tuple(hive_type(field.field_type, column) for field in found.fields))
    known = _FROM.get(type(found))
    if known is None:
        raise UnsupportedError(f'the column "{column}" of Iceberg\'s type {found}')
    return known


def hive_schema(schema: IcebergSchema) -> t.Schema:
    return t.Schema(
        tuple(
            t.Field(field.name.lower(), hive_type(field.field_type, field.name), field.doc or None)
            for field in schema.fields
        )
    )


def lake_columns(schema: IcebergSchema, names: dict[int, tuple[str, ...]]) -> tuple[LakeColumn, ...]:
    """Columns by their ids; `names`: their names in files without ids, if the table has a name mapping."""
    return tuple(_column(field, names) for field in schema.fields)


def _column(field: Any, names: dict[int, tuple[str, ...]]) -> LakeColumn:
    if field.initial_default is not None:
        message = f'the column "{field.name}" of Iceberg, with a value for the rows of files that do not have it'
        raise UnsupportedError(message, hint="rewrite its data files without the default")
    return LakeColumn(
        field.name.lower(),
        field.field_id,
        names.get(field.field_id, ()),
        tuple(_column(part, names) for part in _parts(field.field_type)),
        isinstance(field.field_type, ice.TimestamptzType),
        field.name,
    )


def _parts(found: Any) -> Sequence[Any]:
    match found:
        case ice.StructType():
            return tuple(found.fields)
        case ice.ListType():
            return (found.element_field,)
        case ice.MapType():
            return (found.key_field, found.value_field)
    return ()


def iceberg_schema(schema: t.Schema) -> IcebergSchema:
    """Columns of a new table; the catalog replaces their ids."""
    ids = itertools.count(1)
    fields = [
        ice.NestedField(next(ids), field.name, iceberg_type(field.dtype, field.name, ids), False, doc=field.comment)
        for field in schema
    ]
    return IcebergSchema(*fields)


def iceberg_type(dtype: t.DataType, column: str, ids: Iterator[int]) -> Any:
    """Iceberg's type for a Hive type; UnsupportedError names the column whose type Iceberg does not have.

    Small integers become INT, and texts of limited length STRING.
    """
    match dtype:
        case t.DecimalType(precision, scale):
            return ice.DecimalType(precision, scale)
        case t.VarcharType() | t.CharType():
            return ice.StringType()
        case t.ArrayType(element):
            return ice.ListType(next(ids), iceberg_type(element, column, ids), element_required=False)
        case t.MapType(key, value):
            key_id, value_id = next(ids), next(ids)
            key_type, value_type = iceberg_type(key, column, ids), iceberg_type(value, column, ids)
            return ice.MapType(key_id, key_type, value_id, value_type, value_required=False)
        case t.StructType(names, types):
            return ice.StructType(
                *(
                    ice.NestedField(next(ids), name, iceberg_type(one, column, ids), False)
                    for name, one in zip(names, types, strict=True)
                )
            )
    known = _TO.get(dtype)
    if known is None:
        raise UnsupportedError(f'the column "{column}" of type {dtype} in a table of Iceberg')
    return known()


def change_columns(handle: IcebergHandle, old: Schema, new: Schema, renamed: tuple[str, str] | None) -> None:
    """Change the columns of a table from `old` to `new`, in one commit.

    `renamed`: a column's name before and after; other columns are added or dropped. Types may only become wider:
    pyiceberg refuses other changes.
    """
    stored = {field.name.lower(): field.name for field in handle.schema().fields}
    before = {} if renamed is None else {renamed[1]: renamed[0]}
    gone = [name for name in old.names if name not in new.names and name not in before.values()]
    with handle.update_schema(case_sensitive=True) as update:
        for name in gone:
            update.delete_column(stored[name])
        for field in new:
            name = before.get(field.name, field.name)
            if name not in stored:
                found = iceberg_type(field.dtype, field.name, itertools.count(1))
                update.add_column(field.name, found, doc=field.comment)
                continue
            was = old[name]
            if field.dtype != was.dtype:
                update.update_column(stored[name], iceberg_type(field.dtype, field.name, itertools.count(1)))
            if field.comment != was.comment:
                update.update_column(stored[name], doc=field.comment)
            if name != field.name:
                update.rename_column(stored[name], field.name)
        _order(update, old, new, before, stored)


def _order(update: Any, old: Schema, new: Schema, before: dict[str, str], stored: dict[str, str]) -> None:
    """Reorder the columns, if existing ones have moved, or a new one is not at the end."""
    wanted = [before.get(name, name) for name in new.names]
    kept = [name for name in old.names if name in wanted]
    if wanted[: len(kept)] == kept:
        return
    places = [stored.get(name, name) for name in wanted]
    update.move_first(places[0])
    for behind, name in itertools.pairwise(places):
        update.move_after(name, behind)


_FIRST_FIELD = 1000
"""Id of the first partition field, as Iceberg numbers them."""
_SUFFIXES = {"truncate": "trunc"}
"""Suffixes of field names that differ from the transform's name, as Iceberg's own writers use them."""


def fields_of(handle: IcebergHandle) -> tuple[PartitionField, ...]:
    """Fields of the spec that divides new files. `void` has the field's name as its column. A part of a column is named
    by its path, with dots.
    """
    schema = handle.schema()
    return tuple(_field(one, schema) for one in handle.spec().fields)


def _field(one: IcebergField, schema: IcebergSchema) -> PartitionField:
    match one.transform:
        case VoidTransform():
            return PartitionField(VOID, one.name)
        case BucketTransform():
            name, number = COUNTED[0], one.transform.num_buckets
        case TruncateTransform():
            name, number = COUNTED[1], one.transform.width
        case UnknownTransform():
            name, number = one.transform._transform, None
        case _:
            name, number = str(one.transform), None
    return PartitionField(name, (schema.find_column_name(one.source_id) or one.name).lower(), number)


def spec_of(schema: IcebergSchema, fields: Sequence[PartitionField]) -> PartitionSpec:
    """Spec of a new table. BindError for a transform that does not fit the type of its column, and for fields that
    Iceberg does not allow together.
    """
    made: list[IcebergField] = []
    seen: set[Any] = set()
    columns = {field.name for field in schema.fields}
    for number, one in enumerate(fields, _FIRST_FIELD):
        source = schema.find_field(one.column)
        if one.number == 0:
            raise BindError(f"{one}: the number of a transform is 1 or more", sqlstate="22023")
        transform: Any = parse_transform(one.transform if one.number is None else f"{one.transform}[{one.number}]")
        if not transform.can_transform(source.field_type):
            message = f'{one}: the column "{one.column}" of type {source.field_type} cannot be divided like that'
            raise BindError(message, sqlstate="42804")
        name = one.column
        if one.transform != IDENTITY:
            name = f"{one.column}_{_SUFFIXES.get(one.transform, one.transform)}"
            if name in columns:
                raise BindError(f'{one}: its field would have the name of the column "{name}"', sqlstate="42701")
        keys = {name, (one.column, transform.dedup_name)}
        if keys & seen:
            raise BindError(f"{one}: the table is divided by {one.column} like that already", sqlstate="42701")
        seen |= keys
        made.append(IcebergField(source.field_id, number, transform, name))
    return PartitionSpec(*made)


_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)


def partition_text(value: Any, found: Any) -> str | None:
    """Text of a value of Iceberg's type `found`, the same as CAST to STRING."""
    match found:
        case _ if value is None:
            return None
        case ice.DateType() if isinstance(value, int):
            return datetime.date.fromordinal(value + _EPOCH_DAY).isoformat()
        case ice.TimestampType() | ice.TimestamptzType() if isinstance(value, int):
            return str(_EPOCH + datetime.timedelta(microseconds=value))
        case ice.BooleanType():
            return str(value).lower()
        case ice.BinaryType() | ice.FixedType():
            raise UnsupportedError("a table of Iceberg that is divided by a binary column")
    return str(value)


def partition_value(text: str | None, found: Any, column: str) -> Any:
    """Value of Iceberg's type `found` from its text: days and microseconds as numbers. Texts are the same as CAST to
    STRING, except hexadecimal digits for bytes.
    """
    if text is None:
        return None
    if isinstance(found, (ice.BinaryType, ice.FixedType)):
        return bytes.fromhex(text)
    scalar = single_value(text, hive_type(found, column))[0]
    return scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
