"""CREATE DATABASE, TABLE and VIEW; CACHE TABLE … AS SELECT."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token

from sharkpy.catalog.model import BucketSpec, StorageFormat, TableKind
from sharkpy.commands import Command, CreateDatabase, CreateTable, CreateView, Properties
from sharkpy.conf import CACHE_CHECK_NAME
from sharkpy.errors import ColumnCountError, ColumnNotFoundError, did_you_mean
from sharkpy.expr import Alias, ColumnRef
from sharkpy.logical import LogicalPlan, Project
from sharkpy.sql.bind_buckets import COPARTITION, bucket_spec, clustered_by
from sharkpy.sql.bind_partition import check_partition_fields, column_names
from sharkpy.sql.bind_storage import combined, row_format, stored_as
from sharkpy.sql.coercion import cast
from sharkpy.sql.command_binder import CommandBinder
from sharkpy.types import NULL, STRING, Field, Schema, is_interval

_UNSUPPORTED_CLAUSES = {"SKEWED": "SKEWED BY", "SORTED": "SORTED BY", "CLUSTER BY": "CLUSTER BY", "OPTIONS": "OPTIONS"}
_UNSUPPORTED_OBJECTS = ("FUNCTION", "INDEX", "ROLE", "MACRO", "MATERIALIZED", "RESOURCE", "TRANSACTIONAL", "SCHEDULED")
_CONSTRAINTS = (
    "NOT",
    "PRIMARY",
    "PRIMARY KEY",
    "UNIQUE",
    "DEFAULT",
    "CHECK",
    "REFERENCES",
    "CONSTRAINT",
    "FOREIGN KEY",
)


def bind_create(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("CREATE")
    or_replace = reader.match("OR", "REPLACE")
    reader.match("GLOBAL")
    temporary = bool(reader.match_any("TEMPORARY", "TEMP"))
    if reader.word() in _UNSUPPORTED_OBJECTS:
        raise reader.unsupported(f"CREATE {reader.word()}")
    if reader.match("VIEW"):
        return _create_view(binder, or_replace, temporary)
    if or_replace and reader.word() != "TABLE":
        raise reader.error("VIEW or TABLE expected after OR REPLACE")
    if reader.match_any("DATABASE", "SCHEMA"):
        return _create_database(binder)
    external = reader.match("EXTERNAL")
    if not reader.match("TABLE"):
        raise reader.error("TABLE, VIEW or DATABASE expected")
    if external and temporary:
        raise reader.error("a table is either TEMPORARY or EXTERNAL")
    kind = TableKind.TEMPORARY if temporary else TableKind.EXTERNAL if external else TableKind.MANAGED
    if or_replace and reader.peek("IF"):
        raise reader.error("either OR REPLACE or IF NOT EXISTS expected")
    return dataclasses.replace(_create_table(binder, kind), or_replace=or_replace)


def _create_database(binder: CommandBinder) -> CreateDatabase:
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    name = reader.name("a database name")
    comment = reader.optional_string("COMMENT")
    location = reader.optional_string("LOCATION")
    if reader.peek("WITH", "DBPROPERTIES") or reader.peek("MANAGEDLOCATION"):
        raise reader.unsupported(f"{reader.word()} in CREATE DATABASE")
    return CreateDatabase(name, if_not_exists, comment, location)


@dataclass(slots=True)
class _Clauses:
    """The clauses of a CREATE TABLE as they are read, each at most once."""

    row: StorageFormat | None = None
    file: StorageFormat | None = None
    location: str | None = None
    comment: str | None = None
    properties: Properties | None = None
    buckets: BucketSpec | None = None
    partitions: list[Field] | list[str] | None = None
    """PARTITIONED BY: fields, or the names of columns of the query."""

    def set(self, binder: CommandBinder, name: str, value: object) -> None:
        if getattr(self, name) is not None:
            raise binder.reader.error(f"only one clause for the {name} of the table expected")
        setattr(self, name, value)


def _create_table(binder: CommandBinder, kind: TableKind) -> CreateTable:
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    database, name = binder.new_name()
    if reader.match("LIKE"):
        return _create_like(binder, database, name, kind, if_not_exists)
    fields = _columns(binder) if reader.peek("(") and not _is_query_ahead(binder) else None
    clauses = _clauses(binder)
    query = None
    if reader.match("AS") or reader.word() in ("SELECT", "WITH", "("):
        if fields is not None:
            raise reader.error("no query expected after a list of columns")
        query = binder.query()
        fields = output_fields(binder, query)
        query = without_void(binder, query)
    if fields is None:
        raise reader.error("a list of columns or AS and a query expected")
    fields, query, partitions = _partitioned(binder, kind, fields, query, clauses.partitions or [])
    properties = cached_by_name(binder, name, clauses.properties or ())
    if partitions and (clauses.buckets is not None or COPARTITION in dict(properties)):
        raise reader.unsupported("CLUSTERED BY with PARTITIONED BY")
    schema = Schema(tuple(fields))
    storage = combined(clauses.row, clauses.file)
    buckets = None if partitions else bucket_spec(binder, clauses.buckets, fields, properties, query)
    return CreateTable(
        database,
        name,
        kind,
        schema,
        if_not_exists,
        storage,
        clauses.location,
        properties,
        clauses.comment,
        query,
        partitions,
        buckets=buckets,
    )


def _partitioned(
    binder: CommandBinder,
    kind: TableKind,
    fields: list[Field],
    query: LogicalPlan | None,
    partitions: list[Field] | list[str],
) -> tuple[list[Field], LogicalPlan | None, tuple[str, ...]]:
    """All fields and the query's columns with those of Hive partitions last, and the names of these."""
    reader = binder.reader
    if not partitions:
        return fields, query, ()
    if kind is TableKind.TEMPORARY:
        raise reader.unsupported("PARTITIONED BY in CREATE TEMPORARY TABLE")
    given = [one for one in partitions if isinstance(one, Field)]
    names = tuple(one if isinstance(one, str) else one.name for one in partitions)
    if query is not None and given:
        raise reader.error("in CREATE TABLE AS SELECT, PARTITIONED BY takes names of the query's columns alone")
    if query is None and not given:
        raise reader.error("a type for each column in PARTITIONED BY expected")
    for field in given:
        check_column(binder, fields, field, None)
    by_name = {field.name: field for field in [*fields, *given]}
    if unknown := next((name for name in names if name not in by_name), None):
        hint = did_you_mean(unknown, by_name)
        raise binder.error(f'no column "{unknown}" in the query', None, ColumnNotFoundError, hint)
    if len(names) == len(by_name):
        raise binder.error("a table needs a column beside those in PARTITIONED BY", None)
    check_partition_fields(binder, [by_name[name] for name in names], None)
    order = [name for name in by_name if name not in names] + list(names)
    if query is not None:
        columns = {column.name: column for column in query.output}
        query = Project(query, tuple(columns[name] for name in order))
    return [by_name[name] for name in order], query, names


def _is_query_ahead(binder: CommandBinder) -> bool:
    following = binder.reader.tokens[binder.reader.position + 1 :]
    return bool(following) and following[0].text.upper() in ("SELECT", "WITH", "(")


def _clauses(binder: CommandBinder) -> _Clauses:
    reader, clauses = binder.reader, _Clauses()
    while reader.current is not None and reader.word() not in ("AS", "SELECT", "WITH", "("):
        if reader.word() in _UNSUPPORTED_CLAUSES:
            raise reader.unsupported(f"{_UNSUPPORTED_CLAUSES[reader.word()]} in CREATE TABLE")
        if reader.match("ROW", "FORMAT"):
            clauses.set(binder, "row", row_format(reader))
        elif reader.match("STORED", "AS") or reader.match("USING"):
            clauses.set(binder, "file", stored_as(reader))
        elif reader.peek("STORED", "BY"):
            raise reader.unsupported("STORED BY a storage handler")
        elif reader.match("CLUSTERED", "BY"):
            clauses.set(binder, "buckets", clustered_by(reader))
        elif reader.match("PARTITIONED", "BY"):
            clauses.set(binder, "partitions", column_names(binder) or _columns(binder))
        elif reader.match("LOCATION"):
            clauses.set(binder, "location", reader.string("a path"))
        elif reader.match("COMMENT"):
            clauses.set(binder, "comment", reader.string("a comment"))
        elif reader.match("TBLPROPERTIES"):
            clauses.set(binder, "properties", reader.properties())
        else:
            raise reader.error("ROW FORMAT, STORED AS, LOCATION, COMMENT, TBLPROPERTIES or AS expected")
    return clauses


def cached_by_name(binder: CommandBinder, name: str, properties: Properties) -> Properties:
    """A table named *_cached is cached unless its properties say otherwise, as in Shark."""
    if not name.endswith("_cached") or not binder.context.conf.value(CACHE_CHECK_NAME):
        return properties
    return properties if "shark.cache" in dict(properties) else (*properties, ("shark.cache", "MEMORY"))


def _create_like(binder: CommandBinder, database: str, name: str, kind: TableKind, if_not_exists: bool) -> CreateTable:
    source = binder.table()
    clauses = _clauses(binder)
    if binder.reader.current is not None:
        raise binder.reader.error("the statement should end here")
    storage = combined(clauses.row, clauses.file) or (None if source.is_view else source.storage)
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
        partition_columns=source.partition_columns,
        buckets=bucket_spec(binder, clauses.buckets or source.buckets, source.schema.fields, properties, None),
    )


def _columns(binder: CommandBinder) -> list[Field]:
    """(name type [COMMENT 'text'], …)."""
    reader = binder.reader
    reader.expect("(")
    fields: list[Field] = []
    while True:
        if reader.word() in ("PRIMARY KEY", "CONSTRAINT", "UNIQUE", "FOREIGN KEY", "CHECK") and not _is_column(binder):
            raise reader.unsupported(f"the constraint {reader.word()}")
        token = reader.current
        name = reader.name("a column name")
        dtype = reader.data_type()
        if reader.word() in _CONSTRAINTS:
            raise reader.unsupported(_constraint(reader.word()))
        comment = reader.optional_string("COMMENT")
        if reader.word() in _CONSTRAINTS:
            raise reader.unsupported(_constraint(reader.word()))
        check_column(binder, fields, Field(name, dtype, comment), token)
        fields.append(Field(name, dtype, comment))
        if reader.match(")"):
            return fields
        reader.expect(",")


def _constraint(word: str) -> str:
    return "the constraint NOT NULL" if word == "NOT" else f"the constraint {word}"


def _is_column(binder: CommandBinder) -> bool:
    """Whether a word that begins constraints is a column's name here: a type follows, no parenthesis."""
    following = binder.reader.tokens[binder.reader.position + 1 :]
    return binder.reader.word() in ("UNIQUE", "CHECK") and bool(following) and following[0].text != "("


def check_column(binder: CommandBinder, known: Sequence[Field], field: Field, token: Token | None) -> None:
    """Column names differ, and intervals and VOID are not stored."""
    if any(field.name == other.name for other in known):
        raise binder.error(f'the column "{field.name}" is defined twice', token, sqlstate="42701")
    if is_interval(field.dtype):
        raise binder.error(f'the column "{field.name}" cannot be {field.dtype}: intervals are not stored', token)


def output_fields(binder: CommandBinder, query: LogicalPlan) -> list[Field]:
    """The schema that a query gives the table or view made of it."""
    fields: list[Field] = []
    for column in query.output:
        field = Field(column.name, STRING if column.dtype == NULL else column.dtype)
        check_column(binder, fields, field, None)
        fields.append(field)
    return fields


def without_void(binder: CommandBinder, query: LogicalPlan) -> LogicalPlan:
    """The query with columns of bare NULLs as STRING, which can be stored."""
    if all(column.dtype != NULL for column in query.output):
        return query
    items: list[Alias | ColumnRef] = [
        Alias(cast(column, STRING), next(binder.context.ids), column.name) if column.dtype == NULL else column
        for column in query.output
    ]
    return Project(query, tuple(items))


def _create_view(binder: CommandBinder, or_replace: bool, temporary: bool) -> CreateView:
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    database, name = binder.new_name()
    names = _view_columns(binder)
    comment = reader.optional_string("COMMENT")
    properties = reader.properties() if reader.match("TBLPROPERTIES") else ()
    if reader.word().startswith("PARTITIONED"):
        raise reader.unsupported("a partitioned view")
    reader.expect("AS")
    return view_of(
        binder,
        CreateView(database, name, Schema(()), "", if_not_exists, or_replace, temporary, comment, properties),
        names,
    )


def view_of(binder: CommandBinder, view: CreateView, names: Sequence[tuple[str, str | None]] | None) -> CreateView:
    """`view` with the rest of the statement as its query."""
    reader = binder.reader
    start = reader.current
    if start is None:
        raise reader.error("a query expected")
    text = reader.text[start.start :].rstrip().rstrip(";").rstrip()
    query = binder.query()
    if names is not None and len(names) != len(query.output):
        message = f"the view has {len(names)} columns, its query {len(query.output)}"
        raise binder.error(message, start, ColumnCountError)
    fields: list[Field] = []
    for index, column in enumerate(query.output):
        column_name, comment = names[index] if names is not None else (column.name, None)
        field = Field(column_name, STRING if column.dtype == NULL else column.dtype, comment)
        check_column(binder, fields, field, start)
        fields.append(field)
    return CreateView(
        view.database,
        view.name,
        Schema(tuple(fields)),
        text,
        view.if_not_exists,
        view.or_replace,
        view.temporary,
        view.comment,
        view.properties,
    )


def _view_columns(binder: CommandBinder) -> list[tuple[str, str | None]] | None:
    """(name [COMMENT 'text'], …), if given."""
    reader = binder.reader
    if not reader.match("("):
        return None
    names: list[tuple[str, str | None]] = []
    while True:
        names.append((reader.name("a column name"), reader.optional_string("COMMENT")))
        if reader.match(")"):
            return names
        reader.expect(",")
