"""CREATE TABLE: with columns, AS SELECT, LIKE, CLONE, Spark's form with USING, and STORED BY.

STORED BY Hive's Kafka storage handler creates a stream FROM KAFKA. STORED BY ICEBERG and USING iceberg create a lake
table.
"""

from __future__ import annotations

import dataclasses

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import ColumnNotFoundError, ParseError, UnsupportedError, did_you_mean
from sharkpy.catalog.hive_formats import SELF_DESCRIBING, format_of_serde
from sharkpy.catalog.kafka_options import HiveKafkaTable, hive_kafka_table
from sharkpy.catalog.lake_tables import PartitionField, is_lake
from sharkpy.catalog.model import Constraint, StorageFormat, StreamSource, Table, TableKind
from sharkpy.catalog.stream_kinds import KAFKA
from sharkpy.plan.commands import Command, CreateStream, CreateTable
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.grammar.token_reader import word_of
from sharkpy.sql.statements.bind_buckets import COPARTITION, bucket_spec
from sharkpy.sql.statements.bind_columns import check_column, column_fields, output_fields, without_void
from sharkpy.sql.statements.bind_constraints import check_names
from sharkpy.sql.statements.bind_continuous import bind_create_alias, bind_create_continuous
from sharkpy.sql.statements.bind_database import bind_create_database
from sharkpy.sql.statements.bind_stream import bind_create_stream
from sharkpy.sql.statements.bind_table_clauses import (
    TableClauses,
    cached_by_name,
    columns_by_format,
    partitioned_columns,
    storage_of_clauses,
    table_clauses,
)
from sharkpy.sql.statements.bind_user_functions import bind_create_function, bind_create_macro
from sharkpy.sql.statements.bind_versions import VERSION_WORDS, version_clause
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.stored_queries import bind_create_view
from sharkpy.values.types import Field, Schema

_TEXT_CLAUSES = ("LOCATION", "COMMENT")
"""Words of CREATE TABLE with a text after them."""


def bind_create(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("CREATE")
    or_replace = reader.match("OR", "REPLACE")
    is_global = reader.match("GLOBAL")
    temporary = bool(reader.match_any("TEMPORARY", "TEMP"))
    if reader.match("VIEW"):
        return bind_create_view(binder, or_replace, temporary, is_global and temporary)
    if reader.peek("FUNCTION"):
        return bind_create_function(binder, or_replace, temporary)
    if reader.peek("MACRO"):
        return bind_create_macro(binder, temporary)
    is_alias = reader.peek("STREAMING", "TABLE") or reader.peek("MATERIALIZED", "VIEW")
    if reader.peek("STREAM") or reader.peek("CONTINUOUS") or is_alias:
        if or_replace or temporary:
            raise reader.unsupported("OR REPLACE or TEMPORARY with a stream or a continuous query")
        if is_alias:
            return bind_create_alias(binder)
        return bind_create_stream(binder) if reader.peek("STREAM") else bind_create_continuous(binder)
    if or_replace and reader.word() != "TABLE":
        raise reader.error("VIEW or TABLE expected after OR REPLACE")
    if reader.match_any("DATABASE", "SCHEMA"):
        return bind_create_database(binder)
    return _table(binder, or_replace, temporary)


def _table(binder: CommandBinder, or_replace: bool, temporary: bool) -> Command:
    """Bind [EXTERNAL | MANAGED | TRANSACTIONAL] [TEMPORARY] TABLE and the words after it."""
    reader = binder.reader
    word = reader.match_any("EXTERNAL", "MANAGED", "TRANSACTIONAL")
    external = word == "EXTERNAL"
    temporary = temporary or bool(reader.match_any("TEMPORARY", "TEMP"))
    if not reader.match("TABLE"):
        raise reader.error("TABLE, VIEW or DATABASE expected")
    if external and temporary:
        raise reader.error("a table is either TEMPORARY or EXTERNAL")
    kind = TableKind.TEMPORARY if temporary else TableKind.EXTERNAL if external else TableKind.MANAGED
    if or_replace and reader.peek("IF"):
        raise reader.error("either OR REPLACE or IF NOT EXISTS expected")
    command = _create_table(binder, kind)
    if isinstance(command, CreateStream):
        if or_replace or temporary:
            raise reader.unsupported("OR REPLACE or TEMPORARY with STORED BY a storage handler")
        return command
    command = dataclasses.replace(command, or_replace=or_replace)
    if word == "MANAGED" and "EXTERNAL" not in dict(command.properties):
        # The statement says explicitly that the table owns the files at its LOCATION.
        command = dataclasses.replace(command, properties=(*command.properties, ("EXTERNAL", "FALSE")))
    return command


def _create_table(binder: CommandBinder, kind: TableKind) -> CreateTable | CreateStream:
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    database, name = binder.new_name()
    if reader.match("LIKE"):
        return _create_like(binder, database, name, kind, if_not_exists)
    if reader.match("CLONE") or reader.match("SHALLOW", "CLONE"):
        return _create_clone(binder, database, name, kind, if_not_exists)
    fields: list[Field] | None = None
    constraints: list[Constraint] = []
    if reader.peek("(") and not _is_query_ahead(binder):
        fields, constraints = column_fields(binder, ())
    clauses = table_clauses(binder, [field.name for field in fields or ()], takes_handler=True)
    if clauses.handler is not None:
        if constraints:
            raise reader.unsupported("a constraint of a stream")
        return kafka_table(binder, (database, name), if_not_exists, fields, clauses)
    query = None
    if reader.match("AS") or reader.word() in ("SELECT", "WITH", "(", "FROM"):
        if fields is not None:
            raise reader.error("no query expected after a list of columns")
        query = binder.query()
        fields = output_fields(binder, query)
        query = without_void(binder, query)
    if clauses.lake is not None:
        made = CreateTable(database, name, kind, Schema(tuple(fields or ())), if_not_exists)
        return lake_table(binder, made, clauses, constraints, query)
    if clauses.divided is not None:
        raise reader.unsupported("PARTITIONED BY transforms of a table that is not an Iceberg table")
    storage = storage_of_clauses(binder, clauses)
    if storage is not None and query is None:
        fields = columns_by_format(binder, storage, clauses.properties or (), fields)
    if fields is None and _are_columns_in_files(storage, clauses):
        fields = []
    if fields is None:
        raise reader.error("a list of columns or AS and a query expected")
    fields, query, partitions = partitioned_columns(binder, kind, fields, query, clauses.partitions or [])
    _check_constraints(binder, constraints, partitions)
    properties = cached_by_name(binder, name, clauses.properties or ())
    if partitions and COPARTITION in dict(properties):
        raise reader.unsupported(f"{COPARTITION} with PARTITIONED BY")
    data_fields = fields[: len(fields) - len(partitions)]
    buckets = bucket_spec(binder, clauses.buckets, data_fields, properties, None if partitions else query)
    return CreateTable(
        database,
        name,
        kind,
        Schema(tuple(fields)),
        if_not_exists,
        storage,
        clauses.location,
        properties,
        clauses.comment,
        query,
        partitions,
        buckets,
        skew=clauses.skew,
        constraints=tuple(constraints),
        keeps_location=clauses.is_sparks,
    )


def _are_columns_in_files(storage: StorageFormat | None, clauses: TableClauses) -> bool:
    """Return whether the table gets the columns that its files have when it is created."""
    has_files = storage is not None and storage.name in SELF_DESCRIBING and clauses.location is not None
    return has_files and clauses.partitions is None and clauses.buckets is None


def _check_constraints(binder: CommandBinder, constraints: list[Constraint], partitions: tuple[str, ...]) -> None:
    check_names(binder, constraints, None)
    for one in constraints:
        if one.kind == "DEFAULT" and one.columns[0] in partitions:
            raise binder.error(f'the partition column "{one.columns[0]}" cannot have a DEFAULT', None)


def _is_query_ahead(binder: CommandBinder) -> bool:
    following = binder.reader.tokens[binder.reader.position + 1 :]
    return bool(following) and word_of(following[0]) in ("SELECT", "WITH", "(")


def _file_like(binder: CommandBinder) -> Table | None:
    """Read [FILE] format 'path' after LIKE, as in Hive and Impala: a table with the columns of the files.

    Return None for other words.
    """
    reader = binder.reader
    following = reader.tokens[reader.position : reader.position + 3]
    # FILE may be the name of a table: LIKE file LOCATION '…'.
    is_named = reader.word() == "FILE" and len(following) > 2 and following[1].text.upper() not in _TEXT_CLAUSES
    place = 2 if is_named else 1
    if len(following) <= place or following[place].token_type != TokenType.STRING:
        return None
    reader.position += place
    word, token = following[place - 1], reader.take()
    with binder.place_of(token):
        found = binder.context.catalog.file_table(word.text.lower(), token.text)
    if found is None:
        raise binder.error(f"{word.text} is not a file format from which columns can be read", word, ParseError)
    return found


def _create_like(binder: CommandBinder, database: str, name: str, kind: TableKind, if_not_exists: bool) -> CreateTable:
    token = binder.reader.current
    source = _file_like(binder)
    is_file = source is not None
    source = source or binder.table()
    if source.has_no_rows:
        message = f"{source.qualified_name} is a {source.streaming_kind}, not a table"
        raise binder.error(message, token, sqlstate="42809")
    clauses = table_clauses(binder, source.schema.names)
    if binder.reader.current is not None:
        raise binder.reader.error("the statement should end here")
    storage = storage_of_clauses(binder, clauses) or (
        None if source.is_view or is_file or is_lake(source) else source.storage
    )
    properties = cached_by_name(binder, name, clauses.properties or ())
    if clauses.partitions is not None:
        raise binder.reader.error("no PARTITIONED BY in CREATE TABLE LIKE expected: the columns are copied")
    if source.is_partitioned and kind is TableKind.TEMPORARY:
        raise binder.reader.unsupported("CREATE TEMPORARY TABLE LIKE a partitioned table")
    return CreateTable(
        database,
        name,
        kind,
        source.schema,
        if_not_exists,
        storage,
        clauses.location,
        properties,
        clauses.comment,
        partition_columns=() if source.is_view else source.partition_columns,
        buckets=bucket_spec(binder, clauses.buckets or source.buckets, source.data_schema.fields, properties, None),
        skew=clauses.skew or source.skew,
        keeps_location=clauses.is_sparks,
    )


def _create_clone(binder: CommandBinder, database: str, name: str, kind: TableKind, if_not_exists: bool) -> CreateTable:
    """Read a table and perhaps its version after CLONE: the new table is like it, and has its rows."""
    reader, token = binder.reader, binder.reader.current
    source = binder.base_table("CLONE")
    if kind is not TableKind.MANAGED:
        raise binder.error("a table of CLONE is neither EXTERNAL nor TEMPORARY", token, UnsupportedError)
    if reader.word() in VERSION_WORDS:
        point, token = version_clause(binder), reader.current
        with binder.place_of(token or reader.tokens[-1]):
            source = binder.context.catalog.at(source, point)
    clauses = table_clauses(binder, source.schema.names)
    if reader.current is not None:
        raise reader.error("the statement should end here")
    for other in (*_OTHERS, "handler", "lake"):
        if other != "location" and getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a table of CLONE")
    return CreateTable(
        database,
        name,
        kind,
        source.schema,
        if_not_exists,
        source.storage,
        clauses.location,
        cached_by_name(binder, name, tuple((dict(source.properties) | dict(clauses.properties or ())).items())),
        clauses.comment or source.comment,
        partition_columns=source.partition_columns,
        buckets=source.buckets,
        skew=source.skew,
        constraints=source.constraints,
        clone=source,
    )


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


_NOT_TAKEN = ("row", "options", "buckets", "skew", "handler")


def lake_table(
    binder: CommandBinder,
    command: CreateTable,
    clauses: TableClauses,
    constraints: list[Constraint],
    query: LogicalPlan | None,
) -> CreateTable:
    """Return the statement that creates a lake table, after all clauses were read.

    `command` has the table's name, kind and columns.
    """
    reader, lake = binder.reader, clauses.lake or ""
    for other in _NOT_TAKEN:
        if getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a table of {lake}")
    if clauses.file is not None and clauses.file.name not in ("parquet", lake):
        raise reader.unsupported(f"files that are {clauses.file.name} in a table of {lake}")
    if constraints:
        raise reader.unsupported(f"a constraint of a table of {lake}")
    if command.kind is TableKind.TEMPORARY:
        raise reader.unsupported(f"a temporary table of {lake}")
    fields = list(command.schema.fields)
    divided = list(clauses.divided or [])
    for one in clauses.partitions or []:
        if isinstance(one, Field):
            check_column(binder, {field.name for field in fields}, one, None)
            fields.append(one)
        divided.append(PartitionField("identity", one.name if isinstance(one, Field) else one))
    names = [field.name for field in fields]
    if unknown := next((one.column for one in divided if one.column not in names), None):
        hint = did_you_mean(unknown, names)
        raise binder.error(f'no column "{unknown}" to be partitioned by', None, ColumnNotFoundError, hint)
    return dataclasses.replace(
        command,
        schema=Schema(tuple(fields)),
        storage=StorageFormat(lake),
        location=clauses.location,
        properties=cached_by_name(binder, command.name, clauses.properties or ()),
        comment=clauses.comment,
        query=query,
        keeps_location=clauses.is_sparks,
        divided_by=tuple(divided),
    )
