"""Structs of a Hive metastore: the interface of its client, and conversion to tables, Hive partitions and databases.

A Body is a struct of its Thrift interface as a dictionary.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from sharkpy.base import uri
from sharkpy.base.errors import BindError, ParseError, UnsupportedError
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.hive_formats import (
    columns_of_format,
    format_of_classes,
    hive_classes,
    provider_of,
    with_serde,
    with_storage_properties,
)
from sharkpy.catalog.hive_partition import HivePartition, partition_name, partition_texts
from sharkpy.catalog.json_rows import table_from_json, table_to_json
from sharkpy.catalog.model import BucketSpec, Database, StorageFormat, Table, TableKind
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema

Body = dict[str, Any]


class MetastoreClient(Protocol):
    """Client of a Hive metastore. Texts are Bodies as JSON: equal texts mean no change.

    None or BindError means that the object is missing.
    """

    def database_names(self) -> list[str]: ...

    def database(self, name: str) -> Body | None: ...

    def create_database(self, body: Body) -> None: ...

    def alter_database(self, body: Body) -> None: ...

    def drop_database(self, name: str) -> None:
        """Drop a database. Its folder stays."""

    def table_names(self, database: str) -> list[str]: ...

    def table_text(self, database: str, name: str) -> str | None: ...

    def table_texts(self, database: str, names: Sequence[str]) -> list[str]:
        """Return Bodies of tables as JSON, without tables that cannot be converted."""

    def create_table(self, body: Body) -> None: ...

    def alter_table(self, database: str, name: str, body: Body, cascade: bool) -> None: ...

    def drop_table(self, database: str, name: str) -> None:
        """Drop a table. Its data stays."""

    def partitions_text(self, database: str, name: str) -> str:
        """Return the Hive partitions of a table: a Body with the field `partitions`."""

    def add_partitions(self, bodies: Sequence[Body]) -> None: ...

    def alter_partitions(self, database: str, name: str, bodies: Sequence[Body]) -> None: ...

    def drop_partition(self, database: str, name: str, values: Sequence[str]) -> None:
        """Drop a Hive partition. Its data stays."""

    def close(self) -> None: ...


ID_KEY = "shark.table.id"
FACTS_KEY = "shark.facts"
"""Property for facts without a field in a metastore: constraints and skewed values."""
PROVIDER_KEY = "spark.sql.sources.provider"
_IDS = uuid.UUID("6f1e0d8a-5f0c-4d0e-9a55-0c5f6b1f7a11")
_KINDS = {"MANAGED_TABLE": TableKind.MANAGED, "EXTERNAL_TABLE": TableKind.EXTERNAL, "VIRTUAL_VIEW": TableKind.VIEW}
_OF_SYSTEM = frozenset({"EXTERNAL", "comment", "transient_lastDdlTime", "bucketing_version", ID_KEY, FACTS_KEY})
STATISTICS = frozenset({"numFiles", "totalSize", "numRows", "rawDataSize", "COLUMN_STATS_ACCURATE"})
_STATISTICS_OF_SPARK = "spark.sql.statistics."
_HIVE_PROVIDERS = ("hive", "parquet", "orc", "avro")
_OWNER_KINDS = {1: "USER", 2: "ROLE", 3: "GROUP"}


def database_of(body: Body) -> Database:
    properties = tuple(sorted((body.get("parameters") or {}).items()))
    kind = _OWNER_KINDS.get(body.get("ownerType", 1), "USER")
    comment = body.get("description") or None
    return Database(body["name"], plain_path(body["locationUri"]), comment, properties, body.get("ownerName", ""), kind)


def body_of_database(database: Database) -> Body:
    kinds = {name: number for number, name in _OWNER_KINDS.items()}
    return {
        "name": database.name,
        "description": database.comment or "",
        "locationUri": as_uri(database.location),
        "parameters": dict(database.properties),
        "ownerName": database.owner,
        "ownerType": kinds[database.owner_kind],
    }


def table_of(body: Body) -> Table:
    """Return the table of a metastore's struct. Raise UnsupportedError for a table that cannot be read here."""
    name, sd, parameters = f"{body['dbName']}.{body['tableName']}", body["sd"], body.get("parameters") or {}
    kind = _kind(name, body["tableType"], parameters)
    keys = _fields(body.get("partitionKeys") or [], name)
    properties = tuple(sorted((key, value) for key, value in parameters.items() if not _is_of_system(key)))
    if kind is TableKind.VIEW:
        storage, columns = StorageFormat("text"), _fields(sd["cols"], name)
    else:
        _check_readable(name, parameters)
        storage = with_storage_properties(_storage(sd, name), properties)
        if parameters.get(PROVIDER_KEY, "hive").lower() not in ("hive", storage.name):
            raise UnsupportedError(
                f"table {name} of the metastore is stored in Spark's own form, which is not supported"
            )
        declared = _fields(sd["cols"], name)
        columns = declared or columns_of_format(storage, properties, declared) or []
    table = Table(
        table_id_of(body),
        body["dbName"],
        body["tableName"],
        kind,
        Schema((*columns, *keys)),
        storage,
        None if kind is TableKind.VIEW else plain_path(sd.get("location") or ""),
        properties,
        parameters.get("comment"),
        (body.get("viewExpandedText") or body.get("viewOriginalText")) if kind is TableKind.VIEW else None,
        float(body.get("createTime", 0)),
        tuple(field.name for field in keys),
        _buckets(sd) or _buckets_of_spark(parameters),
        body.get("owner") or "",
        written_text=_written_text(body),
    )
    if FACTS_KEY not in parameters:
        return table
    facts = json.loads(table_to_json(table)) | json.loads(parameters[FACTS_KEY])
    known = table_from_json(table.table_id, table.database, table.name, json.dumps(facts))
    return replace(table, skew=known.skew, constraints=known.constraints)


def _written_text(body: Body) -> str | None:
    written, expanded = body.get("viewOriginalText"), body.get("viewExpandedText")
    return written if written and expanded and written != expanded else None


def table_id_of(body: Body) -> str:
    """Return the id of a table: a property if it was made here, else derived from name and creation time, so that it
    differs from ids of later tables of the name.
    """
    made_here = (body.get("parameters") or {}).get(ID_KEY)
    return made_here or uuid.uuid5(_IDS, f"{body['dbName']}.{body['tableName']}@{body.get('createTime', 0)}").hex


def body_of_table(table: Table, old: Body | None = None) -> Body:
    """Return the struct of `table`, based on the metastore's `old` one. Fields that `table` does not describe are
    unchanged.
    """
    body: Body = copy.deepcopy(old) if old is not None else {"retention": 0, "lastAccessTime": 0, "sd": {}}
    before = None if old is None else table_of(old)
    parameters = {key: value for key, value in (body.get("parameters") or {}).items() if _is_of_system(key)}
    parameters |= dict(table.properties)
    if before is None:
        parameters[ID_KEY] = table.table_id
    if table.comment is None:
        parameters.pop("comment", None)
    else:
        parameters["comment"] = table.comment
    if table.kind is TableKind.EXTERNAL:
        parameters["EXTERNAL"] = "TRUE"
    else:
        parameters.pop("EXTERNAL", None)
    if table.skew is not None or table.constraints:
        facts = json.loads(table_to_json(table))
        parameters[FACTS_KEY] = json.dumps({key: facts[key] for key in ("skew", "constraints")})
    else:
        parameters.pop(FACTS_KEY, None)
    body |= {
        "dbName": table.database,
        "tableName": table.name,
        "owner": table.owner,
        "tableType": table.kind.value,
        "partitionKeys": _field_bodies(table.partition_schema),
        "parameters": parameters,
    }
    if table.is_view:
        body |= {"viewOriginalText": table.written_text or table.view_text, "viewExpandedText": table.view_text}
        body["sd"] = _descriptor(StorageFormat("text"), table.data_schema, None, None)
        return body
    if before is None or before.storage != table.storage:
        body["sd"] |= _descriptor(table.storage, table.data_schema, table.location, table.buckets)
    body["sd"] |= {"cols": _field_bodies(table.data_schema), "location": as_uri(table.location or "")}
    if before is None or before.buckets != table.buckets:
        body["sd"] |= _bucket_body(table.buckets)
    serde = body["sd"]["serdeInfo"].get("parameters") or {}
    if "path" in serde:
        serde["path"] = body["sd"]["location"]
    return body


def partition_of(body: Body, table_body: Body, table: Table, number: int) -> HivePartition:
    """Return the Hive partition of a struct. Its format and columns are set only if they differ from the table's."""
    sd, name = body["sd"], partition_name(table.partition_columns, body["values"])
    location = plain_path(sd.get("location") or "")
    own = _storage(sd, f"{table.qualified_name} ({name})")
    storage = None if own == _storage(table_body["sd"], table.qualified_name) else own
    columns = _fields(sd["cols"], table.qualified_name)
    first = table.data_schema.fields[: len(columns)]
    usual = uri.join(table.location or "", name)
    is_table_s = [(one.name, one.dtype) for one in columns] == [(one.name, one.dtype) for one in first]
    return HivePartition(
        number,
        name,
        None if uri.normalized(location) == uri.normalized(usual) else location,
        None,
        None if storage is None else with_storage_properties(storage, table.properties),
        None if is_table_s or not columns else Schema(tuple(columns)),
    )


def body_of_partition(one: HivePartition, table: Table, table_body: Body, old: Body | None = None) -> Body:
    body: Body = copy.deepcopy(old) if old is not None else {"parameters": {}, "lastAccessTime": 0}
    sd: Body = copy.deepcopy(table_body["sd"] if old is None or one.storage is None else old["sd"])
    if one.storage is not None:
        sd |= _descriptor(one.storage, table.data_schema, None, table.buckets)
    sd |= {"cols": _field_bodies(one.columns_of(table)), "location": as_uri(one.folder(table))}
    values = partition_texts(one.name)
    body["parameters"] = without_statistics(body.get("parameters") or {})
    return body | {"dbName": table.database, "tableName": table.name, "values": values, "sd": sd}


def without_statistics(parameters: dict[str, str]) -> dict[str, str]:
    """Return properties without other systems' counts, which are wrong after a write."""
    return {
        key: value
        for key, value in parameters.items()
        if key not in STATISTICS and not key.startswith(_STATISTICS_OF_SPARK)
    }


def plain_path(location: str) -> str:
    """Return the path of a `file:` URI, with any number of slashes. Other URIs are unchanged."""
    return f"/{location[5:].lstrip('/')}" if location.lower().startswith("file:/") else location


def as_uri(location: str) -> str:
    """Return a location as a metastore stores it: a path becomes a `file:` URI."""
    return f"file:{location}" if location.startswith("/") else location


def _kind(name: str, text: str, parameters: dict[str, str]) -> TableKind:
    kind = _KINDS.get(text)
    if kind is None:
        raise UnsupportedError(f"table {name} of the metastore is a {text}, which is not supported")
    is_external = kind is TableKind.MANAGED and parameters.get("EXTERNAL", "").upper() == "TRUE"
    return TableKind.EXTERNAL if is_external else kind


def _check_readable(name: str, parameters: dict[str, str]) -> None:
    if parameters.get("transactional", "").lower() == "true":
        raise UnsupportedError(f"table {name} of the metastore is transactional (ACID), which is not supported")
    if handler := parameters.get("storage_handler"):
        raise UnsupportedError(
            f"table {name} of the metastore has the storage handler {handler}, which is not supported"
        )
    provider = parameters.get(PROVIDER_KEY, "hive").lower()
    if provider not in _HIVE_PROVIDERS:
        raise UnsupportedError(
            f"table {name} of the metastore is a {provider} table of Spark, which is not supported",
            hint="tables made with STORED AS, and Spark's tables in Parquet and ORC, can be read",
        )


def _storage(sd: Body, name: str) -> StorageFormat:
    serde = sd.get("serdeInfo") or {}
    classes = sd.get("inputFormat") or "", sd.get("outputFormat") or "", serde.get("serializationLib") or ""
    parameters = serde.get("parameters") or {}
    properties = tuple(sorted((key, value) for key, value in parameters.items() if not _is_default(key, value)))
    container = format_of_classes(classes[0], classes[1])
    found = None if container is None else with_serde(container, classes[2], properties)
    if found is None:
        raise UnsupportedError(
            f"table {name} of the metastore has the SerDe {classes[2]} with the input format {classes[0]}, "
            "which is not supported"
        )
    return found


def _is_default(key: str, value: str) -> bool:
    """Return True for properties that all tables are written with, and for Spark's copy of the location."""
    return key == "path" or (key == "serialization.format" and value == "1")


def _fields(bodies: Sequence[Body], name: str) -> list[Field]:
    fields = []
    for body in bodies:
        try:
            dtype = parse_type(body["type"])
        except (ParseError, BindError, ValueError):
            raise UnsupportedError(
                f'column "{body["name"]}" of table {name} has the type {body["type"]}, which is not supported'
            ) from None
        fields.append(Field(body["name"].lower(), dtype, body.get("comment") or None))
    return fields


def _field_bodies(schema: Schema) -> list[Body]:
    return [{"name": one.name, "type": str(one.dtype).lower(), "comment": one.comment} for one in schema]


def _buckets(sd: Body) -> BucketSpec | None:
    columns = tuple(name.lower() for name in sd.get("bucketCols") or ())
    if not columns or sd.get("numBuckets", 0) <= 0:
        return None
    sorts = tuple((one["col"].lower(), one["order"] == 1) for one in sd.get("sortCols") or ())
    return BucketSpec(columns, sd["numBuckets"], sorts)


def _buckets_of_spark(parameters: dict[str, str]) -> BucketSpec | None:
    start = "spark.sql.sources.schema."
    columns = (parameters.get(f"{start}bucketCol.{n}") for n in range(int(parameters.get(f"{start}numBucketCols", 0))))
    found = tuple(name.lower() for name in columns if name)
    return BucketSpec(found, int(parameters[f"{start}numBuckets"])) if found else None


def _bucket_body(buckets: BucketSpec | None) -> Body:
    if buckets is None:
        return {"bucketCols": [], "sortCols": [], "numBuckets": -1}
    sorts = [{"col": name, "order": int(ascending)} for name, ascending in buckets.sort_columns]
    return {"bucketCols": list(buckets.columns), "sortCols": sorts, "numBuckets": buckets.num_buckets}


def _descriptor(storage: StorageFormat, schema: Schema, location: str | None, buckets: BucketSpec | None) -> Body:
    if storage.name == CSV:
        raise UnsupportedError(
            f"USING {provider_of(storage)} in a metastore is not supported: Hive has no such format",
            hint="use ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' or ROW FORMAT DELIMITED",
        )
    serde, inputs, outputs = hive_classes(storage)
    properties: dict[str, Any] = {key: value for key, value in storage.properties if key != "serialization.lib"}
    body: Body = {
        "cols": _field_bodies(schema),
        "inputFormat": inputs,
        "outputFormat": outputs,
        "serdeInfo": {"serializationLib": serde, "parameters": {"serialization.format": "1"} | properties},
        "parameters": {},
        "compressed": False,
    } | _bucket_body(buckets)
    return body if location is None else body | {"location": as_uri(location)}


def _is_of_system(key: str) -> bool:
    """Return True for properties of the metastore and of Spark, which statements do not set."""
    return key in _OF_SYSTEM or key in STATISTICS or key.startswith("spark.sql.")
