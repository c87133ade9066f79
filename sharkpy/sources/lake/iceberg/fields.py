"""Partition fields of an Iceberg table, and the spec of a new table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.transforms import BucketTransform, TruncateTransform, UnknownTransform, VoidTransform, parse_transform

from sharkpy.base.errors import BindError
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.sources.lake.iceberg.transforms import COUNTED, IDENTITY, VOID

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
