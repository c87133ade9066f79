"""Conversion of tables, and of formats of Hive partitions, between objects and JSON texts of the catalog's rows."""

from __future__ import annotations

import dataclasses
import json
from functools import lru_cache
from typing import Any

from sharkpy.catalog.model import (
    BucketSpec,
    ComputedColumn,
    Constraint,
    Database,
    SkewSpec,
    StorageFormat,
    StreamSource,
    Table,
    TableKind,
    Watermark,
)
from sharkpy.values.type_parser import parse_type, type_text
from sharkpy.values.types import Field, Schema

_stored_type = lru_cache(4096)(parse_type)


def table_to_json(table: Table) -> str:
    body: dict[str, object] = {
        "kind": table.kind.value,
        "schema": _fields_to_json(table.schema),
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
        "skew": None if table.skew is None else dataclasses.asdict(table.skew),
        "constraints": [dataclasses.asdict(constraint) for constraint in table.constraints],
        "written_text": table.written_text,
    }
    if table.stream is not None:
        body["stream"] = _stream_to_json(table.stream)
    if table.watermark is not None:
        body["watermark"] = [table.watermark.column, table.watermark.delay, table.watermark.idle]
    if table.computed:
        body["computed"] = [
            [one.name, type_text(one.dtype), one.text, one.comment, one.is_of_path] for one in table.computed
        ]
    if table.sink is not None:
        body["sink"] = _stream_to_json(table.sink)
    if table.continuous:
        body["continuous"] = table.continuous
    if table.state_of:
        body["state_of"] = table.state_of
    return json.dumps(body)


def table_from_json(table_id: str, database: str, name: str, text: str) -> Table:
    body = json.loads(text)
    return Table(
        table_id,
        database,
        name,
        TableKind(body["kind"]),
        _fields_from_json(body["schema"]),
        StorageFormat(body["format"], _pairs(body["format_properties"])),
        body["location"],
        _pairs(body["properties"]),
        body["comment"],
        body["view_text"],
        body["created_at"],
        tuple(body.get("partition_columns", ())),
        _buckets_from_json(body.get("buckets")),
        body.get("owner", ""),
        _skew_from_json(body.get("skew")),
        tuple(_constraint_from_json(item) for item in body.get("constraints", ())),
        written_text=body.get("written_text"),
        stream=_stream_from_json(body.get("stream")),
        watermark=Watermark(*body["watermark"]) if "watermark" in body else None,
        computed=tuple(
            ComputedColumn(name, _stored_type(dtype), *others) for name, dtype, *others in body.get("computed", ())
        ),
        sink=_stream_from_json(body.get("sink")),
        state_of=body.get("state_of", ""),
        continuous=body.get("continuous", ""),
    )


def database_to_json(database: Database) -> str:
    """Return the facts of a database that have no column of their own."""
    return json.dumps([[list(item) for item in database.properties], database.owner, database.owner_kind])


def database_from_row(name: str, location: str, comment: str | None, body: str) -> Database:
    if not body:
        return Database(name, location, comment)
    properties, owner, owner_kind = json.loads(body)
    return Database(name, location, comment, _pairs(properties), owner, owner_kind)


def partition_format_to_text(storage: StorageFormat | None, columns: Schema | None) -> str:
    """Return the format and data columns of files that differ from their table's. The text is empty if both
    are None.
    """
    if storage is None and columns is None:
        return ""
    stored = None if storage is None else [storage.name, [list(item) for item in storage.properties]]
    fields = None if columns is None else _fields_to_json(columns)
    return json.dumps([stored, fields], separators=(",", ":"))


@lru_cache(256)
def partition_format_from_text(text: str) -> tuple[StorageFormat | None, Schema | None]:
    if not text:
        return None, None
    stored, fields = json.loads(text)
    storage = None if stored is None else StorageFormat(stored[0], _pairs(stored[1]))
    return storage, None if fields is None else _fields_from_json(fields)


def _fields_to_json(schema: Schema) -> list[list[str | None]]:
    return [[field.name, type_text(field.dtype), field.comment] for field in schema]


def _fields_from_json(body: list[list[Any]]) -> Schema:
    return Schema(tuple(Field(name, _stored_type(dtype), comment) for name, dtype, comment in body))


def _buckets_to_json(buckets: BucketSpec | None) -> list[object] | None:
    if buckets is None:
        return None
    return [list(buckets.columns), buckets.num_buckets, [list(item) for item in buckets.sort_columns]]


def _stream_to_json(source: StreamSource) -> list[object]:
    return [source.kind, [list(item) for item in source.options], source.place]


def _stream_from_json(body: list[Any] | None) -> StreamSource | None:
    return None if body is None else StreamSource(body[0], _pairs(body[1]), *body[2:])


def _buckets_from_json(body: list[Any] | None) -> BucketSpec | None:
    if body is None:
        return None
    columns, num_buckets, sort_columns = body
    return BucketSpec(tuple(columns), num_buckets, tuple((name, ascending) for name, ascending in sort_columns))


def _skew_from_json(body: dict[str, Any] | None) -> SkewSpec | None:
    if body is None:
        return None
    return SkewSpec(tuple(body["columns"]), tuple(map(tuple, body["values"])), body["in_directories"])


def _constraint_from_json(body: dict[str, Any]) -> Constraint:
    columns, parent_columns = tuple(body.pop("columns")), tuple(body.pop("parent_columns"))
    return Constraint(columns=columns, parent_columns=parent_columns, **body)


def _pairs(items: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in items)
