"""CREATE TABLE … STORED BY Hive's Kafka storage handler, which creates a stream FROM KAFKA."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import ParseError, UnsupportedError
from sharkpy.catalog.hive_formats import format_of_serde
from sharkpy.catalog.kafka_options import HiveKafkaTable, hive_kafka_table
from sharkpy.catalog.model import StorageFormat, StreamSource
from sharkpy.catalog.stream_kinds import KAFKA
from sharkpy.plan.commands import CreateStream
from sharkpy.sql.statements.bind_table_clauses import TableClauses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.table_parts import columns_by_format
from sharkpy.values.types import Field, Schema

_OTHERS = ("row", "file", "options", "location", "buckets", "skew", "partitions")
"""Clauses of tables that a Kafka table does not have."""
_CSV_KEYS = ("separatorChar", "quoteChar", "escapeChar")
"""Properties of OpenCSVSerde, which Hive reads from the properties of the table here."""


def kafka_table(
    binder: CommandBinder,
    place: tuple[str, str],
    if_not_exists: bool,
    fields: list[Field] | None,
    clauses: TableClauses,
) -> CreateStream:
    """Return the statement that creates the stream of a Kafka table, after all clauses were read."""
    reader, handler = binder.reader, clauses.handler
    assert handler is not None  # the caller has looked
    for other in _OTHERS:
        if getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a table STORED BY a storage handler")
    if reader.current is not None:
        raise reader.unsupported("a query after STORED BY a storage handler")
    properties = (*(clauses.properties or ()), *handler.properties)
    with binder.place_of(handler.token):
        made = hive_kafka_table(properties)
        KAFKA.check(made.options)
    storage = _format(binder, made, handler.token)
    columns = columns_by_format(binder, storage, properties, fields)
    if not columns:
        raise binder.error("a list of columns expected", handler.token, ParseError)
    source = StreamSource(KAFKA.name, made.options)
    return CreateStream(
        *place, Schema(tuple(columns)), source, if_not_exists, None, storage, made.properties, clauses.comment
    )


def _format(binder: CommandBinder, made: HiveKafkaTable, token: Token) -> StorageFormat:
    own = tuple(pair for pair in made.properties if pair[0] in _CSV_KEYS)
    found = format_of_serde(made.serde, own)
    if found is None:
        raise binder.error(f"the SerDe {made.serde} of a Kafka table is not supported", token, UnsupportedError)
    return found
