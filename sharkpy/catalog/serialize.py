"""Tables as JSON texts and back: what the catalog's rows hold."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from sharkpy.catalog.model import BucketSpec, StorageFormat, Table, TableKind
from sharkpy.type_parser import parse_type
from sharkpy.types import ArrayType, DataType, Field, MapType, Schema, StructType

_stored_type = lru_cache(4096)(parse_type)


def type_text(dtype: DataType) -> str:
    """The HiveQL spelling with every struct field quoted, so that `parse_type` reads any name back."""
    match dtype:
        case ArrayType(element):
            return f"array<{type_text(element)}>"
        case MapType(key, value):
            return f"map<{type_text(key)},{type_text(value)}>"
        case StructType(names, types):
            fields = (f"`{name}`:{type_text(t)}" for name, t in zip(names, types, strict=True))
            return f"struct<{','.join(fields)}>"
    return str(dtype)


def table_to_json(table: Table) -> str:
    body = {
        "kind": table.kind.value,
        "schema": [[field.name, type_text(field.dtype), field.comment] for field in table.schema],
        "format": table.storage.name,
        "format_properties": [list(item) for item in table.storage.properties],
        "location": table.location,
        "properties": [list(item) for item in table.properties],
        "comment": table.comment,
        "view_text": table.view_text,
        "created_at": table.created_at,
        "partition_columns": list(table.partition_columns),
        "buckets": _buckets_to_json(table.buckets),
        "owner": table.owner,
    }
    return json.dumps(body)


def table_from_json(table_id: str, database: str, name: str, text: str) -> Table:
    body = json.loads(text)
    fields = tuple(Field(name, _stored_type(dtype), comment) for name, dtype, comment in body["schema"])
    return Table(
        table_id,
        database,
        name,
        TableKind(body["kind"]),
        Schema(fields),
        StorageFormat(body["format"], _pairs(body["format_properties"])),
        body["location"],
        _pairs(body["properties"]),
        body["comment"],
        body["view_text"],
        body["created_at"],
        tuple(body.get("partition_columns", ())),
        _buckets_from_json(body.get("buckets")),
        body.get("owner", ""),
    )


def _buckets_to_json(buckets: BucketSpec | None) -> list[object] | None:
    if buckets is None:
        return None
    return [list(buckets.columns), buckets.num_buckets, [list(item) for item in buckets.sort_columns]]


def _buckets_from_json(body: list[Any] | None) -> BucketSpec | None:
    if body is None:
        return None
    columns, num_buckets, sort_columns = body
    return BucketSpec(tuple(columns), num_buckets, tuple((name, ascending) for name, ascending in sort_columns))


def _pairs(items: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in items)
