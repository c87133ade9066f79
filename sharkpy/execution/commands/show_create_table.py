"""SHOW CREATE TABLE: the statement that recreates the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from sharkpy.base import uri
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.hive_formats import (
    LAZY_SIMPLE,
    SERDE_KEY,
    container_of,
    has_default_serde,
    provider_of,
    serde_of,
)
from sharkpy.catalog.kafka_options import RAW, shown_options
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import (
    CLAUSE_PROPERTIES,
    BucketSpec,
    Constraint,
    SkewSpec,
    StorageFormat,
    StreamSource,
    Table,
    TableKind,
    Watermark,
)
from sharkpy.catalog.names import GLOBAL_TEMP
from sharkpy.catalog.stream_kinds import KINDS, TABLE, sink_kind
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.commands.table_facts import current_source
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import ShowCreateDatabase, ShowCreateTable
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.values.type_parser import type_text
from sharkpy.values.types import Field

_CLAUSES = (
    ("field.delim", "FIELDS TERMINATED BY"),
    ("escape.delim", "ESCAPED BY"),
    ("collection.delim", "COLLECTION ITEMS TERMINATED BY"),
    ("mapkey.delim", "MAP KEYS TERMINATED BY"),
    ("line.delim", "LINES TERMINATED BY"),
    ("serialization.null.format", "NULL DEFINED AS"),
)
_SKIPPED = ("skip.header.line.count", "skip.footer.line.count")


def show_create_table(command: ShowCreateTable, session: EngineSession) -> CommandResult:
    """Return the statement that recreates the table, one row per line, as in Hive."""
    return text_rows(("createtab_stmt",), [(line,) for line in creating_lines(command.table, session)])


def creating_lines(table: Table, session: EngineSession) -> Iterator[str]:
    """Return the lines of the statement that recreates a table."""
    query = session.catalog.streams.find(table.continuous) if table.continuous else None
    if query is not None:
        bad_rows = session.catalog.current_table(query.bad_rows) if query.bad_rows else None
        late_rows = session.catalog.current_table(query.late_rows) if query.late_rows else None
        return _continuous(table, query, bad_rows, late_rows, _named_place(table, session))
    if table.stream is not None:
        return _stream(table, current_source(table, table.stream, session.catalog))
    return _view(table) if table.is_view else _table(table)


def show_create_database(command: ShowCreateDatabase, session: EngineSession) -> CommandResult:
    database = session.catalog.database(command.name)
    lines = [f"CREATE DATABASE `{database.name}`"]
    if database.comment is not None:
        lines.append(f"COMMENT {quoted(database.comment)}")
    lines += ["LOCATION", f"  {quoted(uri.redacted(database.location))}"]
    if database.properties:
        lines.append("WITH DBPROPERTIES (")
        lines += [f"  {quoted(key)}={quoted(value)}," for key, value in database.properties[:-1]]
        key, value = database.properties[-1]
        lines.append(f"  {quoted(key)}={quoted(value)})")
    return text_rows(("createdb_stmt",), [(line,) for line in lines])


def _view(table: Table) -> Iterator[str]:
    temporary = "TEMPORARY " if table.kind is TableKind.TEMPORARY_VIEW else ""
    if table.database == GLOBAL_TEMP:
        temporary = f"GLOBAL {temporary}"
    columns = ", ".join(_named(field) for field in table.schema)
    comment = "" if table.comment is None else f" COMMENT {quoted(table.comment)}"
    told = ", ".join(f"`{name}`" for name in table.partition_columns)
    partitioned = f" PARTITIONED ON ({told})" if told else ""
    pairs = ", ".join(f"{quoted(key)}={quoted(value)}" for key, value in sorted(table.properties))
    properties = f" TBLPROPERTIES ({pairs})" if pairs else ""
    head = f"CREATE {temporary}VIEW `{table.database}`.`{table.name}` ({columns})"
    yield f"{head}{comment}{partitioned}{properties} AS {table.view_text}"


def _computed(stream: Table) -> Iterator[str]:
    for one in stream.computed:
        if not one.is_of_path:
            comment = "" if one.comment is None else f" COMMENT {quoted(one.comment)}"
            yield f"`{one.name}` {type_text(one.dtype)} AS ({one.text}){comment}"


def _watermark(known: Watermark | None) -> Iterator[str]:
    if known is not None:
        delay = f" - INTERVAL '{_seconds(known.delay)}' SECOND" if known.delay else ""
        idle = "" if known.idle is None else f" IDLE AFTER '{_seconds(known.idle)}' SECOND"
        yield f"WATERMARK FOR `{known.column}` AS `{known.column}`{delay}{idle}"


def _seconds(microseconds: int) -> str:
    return f"{Decimal(microseconds).scaleb(-6).normalize():f}"


def _stream(table: Table, source: StreamSource) -> Iterator[str]:
    kind, head = KINDS[source.kind], f"CREATE STREAM `{table.database}`.`{table.name}`"
    listed = [*([] if kind is TABLE else _columns(table)), *_computed(table), *_watermark(table.watermark)]
    if listed:
        yield f"{head}("
        yield from _list_lines(listed)
    else:
        yield head
    if of_path := [_column(Field(one.name, one.dtype, one.comment)) for one in table.computed if one.is_of_path]:
        yield f"PARTITIONED BY ({', '.join(of_path)})"
    if kind.takes_format and table.storage.name != RAW:
        yield from _form(table)
    else:
        yield from _notes(table)
    yield f"FROM {source.kind}{_place_of(table, source)}"
    yield from _properties("", shown_options(source.options))


def _place_of(table: Table, source: StreamSource) -> str:
    if source.kind == TABLE.name:
        return " " + ".".join(f"`{part}`" for part in source.place.split("."))
    return f" {quoted(source.place or table.location or '')}" if KINDS[source.kind].place else ""


def _named_place(table: Table, session: EngineSession) -> str | None:
    """Return the LOCATION that a continuous table was created with, or None for the default location."""
    if (state := session.catalog.state_table(table)) is not None:
        # The default location is named after the state table, even in another database's folder after a rename.
        place = state.location or ""
        return None if uri.name_of(place).startswith(state.name) else place
    if table.location is None or table.is_continuous_sink:
        return None
    home = session.catalog.database(table.database).location
    return table.location if uri.below(table.location, home) is None else None


def _continuous(
    table: Table, query: ContinuousQuery, bad_rows: Table | None, late_rows: Table | None, place: str | None
) -> Iterator[str]:
    """Lines of a continuous query. Its text refers to the database that was current at creation, which may need USE."""
    yield f"CREATE {table.streaming_kind.upper()} `{table.database}`.`{table.name}`"
    if table.is_partitioned:
        yield f"PARTITIONED BY ({', '.join(f'`{name}`' for name in table.partition_columns)})"
    if table.is_continuous_sink:
        yield from _sink_clauses(table)
    elif table.has_state:
        yield from _notes(table)
    elif not table.is_continuous_insert:
        yield from _form(table)
    if place is not None:
        yield f"LOCATION {quoted(uri.redacted(place))}"
    yield f"TRIGGER {query.trigger}"
    if table.emit is not None:
        yield f"EMIT {table.emit.value}"
    if query.is_unbounded:
        yield "WITH UNBOUNDED STATE"
    if late_rows is not None:
        yield f"LATE ROWS TO `{late_rows.database}`.`{late_rows.name}`"
    if bad_rows is not None:
        yield f"ON BAD ROW SKIP TO `{bad_rows.database}`.`{bad_rows.name}`"
    if query.start_words:
        yield f"START FROM {query.start_words}"
    yield f"AS {query.text}"


def _sink_clauses(sink: Table) -> Iterator[str]:
    """Clauses that say where a sink's rows go."""
    kind = sink_kind(sink)
    yield f"TO {kind.name} {quoted(sink.location or '')}" if kind.place else f"TO {kind.name}"
    if sink.sink is not None:
        yield from _properties("", shown_options(sink.sink.options))
    if kind.takes_format and sink.storage.name != RAW:
        yield from _form(sink)
    else:
        yield from _notes(sink)


def _form(table: Table) -> Iterator[str]:
    """Clauses for format, comment and properties."""
    yield from _using(table.storage) if table.storage.name == CSV else _storage(table.storage)
    yield from _notes(table)


def _notes(table: Table) -> Iterator[str]:
    if table.comment is not None:
        yield f"COMMENT {quoted(table.comment)}"
    yield from _properties(
        "TBLPROPERTIES", sorted(pair for pair in table.properties if pair[0] not in CLAUSE_PROPERTIES)
    )


def _table(table: Table) -> Iterator[str]:
    kind = {TableKind.EXTERNAL: "EXTERNAL ", TableKind.TEMPORARY: "TEMPORARY "}.get(table.kind, "")
    yield f"CREATE {kind}TABLE `{table.database}`.`{table.name}`("
    yield from _list_lines([*_columns(table), *_constraints(table)])
    if table.comment is not None:
        yield f"COMMENT {quoted(table.comment)}"
    if table.is_partitioned:
        yield "PARTITIONED BY ("
        yield from _list_lines([_column(field) for field in table.partition_schema])
    yield from _buckets(table.buckets)
    yield from _skew(table.skew)
    if is_lake(table):
        yield from _partition_fields(table)
        yield f"STORED BY {table.storage.name.upper()}"
    else:
        yield from _using(table.storage) if table.storage.name == CSV else _storage(table.storage)
    if table.location is not None:
        yield "LOCATION"
        yield f"  {quoted(uri.redacted(table.location))}"
    given = dict(table.storage.properties)
    skipped = {key: given[key] for key in _SKIPPED if key in given}
    yield from _properties("TBLPROPERTIES", sorted((dict(table.properties) | skipped).items()))


def _partition_fields(table: Table) -> Iterator[str]:
    """Partition fields of a lake table. Removed fields ("void") are left out, since no statement can create them."""
    fields = table.divided_by if isinstance(table, LakeTable) else ()
    texts = [str(replace(one, column=f"`{one.column}`")) for one in fields if one.transform != "void"]
    if texts:
        yield "PARTITIONED BY SPEC ("
        yield from _list_lines(texts)


def _list_lines(items: Sequence[str]) -> Iterator[str]:
    """Lines of a list, one item per line; the last line closes the parenthesis."""
    yield from (f"  {item}," for item in items[:-1])
    yield f"  {items[-1]})"


def _columns(table: Table) -> Iterator[str]:
    """Definitions of columns, with the constraints on one column."""
    for field in table.data_schema:
        own = [one for one in table.constraints if one.kind in _OF_COLUMNS and one.columns == (field.name,)]
        yield _column(field, "".join(f" {_constraint(one)}" for one in own))


def _column(field: Field, constraints: str = "") -> str:
    comment = "" if field.comment is None else f" COMMENT {quoted(field.comment)}"
    return f"`{field.name}` {type_text(field.dtype)}{constraints}{comment}"


def _named(field: Field) -> str:
    return f"`{field.name}`" + ("" if field.comment is None else f" COMMENT {quoted(field.comment)}")


_OF_COLUMNS = ("NOT NULL", "DEFAULT")


def _constraints(table: Table) -> Iterator[str]:
    for one in table.constraints:
        if one.kind not in _OF_COLUMNS:
            yield f"CONSTRAINT `{one.name}` {_constraint(one)}"


def _constraint(one: Constraint) -> str:
    columns = ", ".join(f"`{name}`" for name in one.columns)
    parents = ", ".join(f"`{name}`" for name in one.parent_columns)
    parent = ".".join(f"`{part}`" for part in one.parent.split("."))
    what = {
        "NOT NULL": "NOT NULL",
        "DEFAULT": f"DEFAULT {one.text}",
        "CHECK": f"CHECK ({one.text})",
        "FOREIGN KEY": f"FOREIGN KEY ({columns}) REFERENCES {parent} ({parents})",
    }.get(one.kind, f"{one.kind} ({columns})")
    state = "" if one.is_enabled else " DISABLE NOVALIDATE"
    return what + state + (" RELY" if one.is_relied_on else "")


def _skew(skew: SkewSpec | None) -> Iterator[str]:
    if skew is None:
        return
    rows = [", ".join(quoted(value) for value in values) for values in skew.values]
    yield f"SKEWED BY ({', '.join(f'`{name}`' for name in skew.columns)})"
    yield f"  ON ({', '.join(f'({row})' for row in rows)})"
    if skew.in_directories:
        yield "  STORED AS DIRECTORIES"


def _buckets(buckets: BucketSpec | None) -> Iterator[str]:
    if buckets is None:
        return
    yield "CLUSTERED BY ("
    yield f"  {', '.join(buckets.columns)})"
    if buckets.sort_columns:
        yield "SORTED BY ("
        orders = (name + (" ASC" if ascending else " DESC") for name, ascending in buckets.sort_columns)
        yield f"  {', '.join(orders)})"
    yield f"INTO {buckets.num_buckets} BUCKETS"


def _storage(storage: StorageFormat) -> Iterator[str]:
    """Clauses ROW FORMAT DELIMITED and STORED AS if these describe the storage, else the SerDe."""
    properties = {key: value for key, value in storage.properties if key not in (SERDE_KEY, *_SKIPPED)}
    clauses = [f"  {words} {quoted(properties[key])}" for key, words in _CLAUSES if key in properties]
    if serde_of(storage) == LAZY_SIMPLE and len(clauses) == len(properties):
        yield from ["ROW FORMAT DELIMITED", *clauses] if clauses else []
    elif properties or not has_default_serde(storage):
        yield "ROW FORMAT SERDE"
        yield f"  {quoted(serde_of(storage))}"
        yield from _properties("WITH SERDEPROPERTIES", sorted(properties.items()))
    yield f"STORED AS {container_of(storage).words[0]}"


def _using(storage: StorageFormat) -> Iterator[str]:
    """Spark's clauses, for the format that Hive does not have."""
    yield f"USING {provider_of(storage)}"
    yield from _properties("OPTIONS", sorted(storage.properties))


def _properties(clause: str, items: Sequence[tuple[str, str]]) -> Iterator[str]:
    if items:
        yield f"{clause} (".lstrip()
        yield from (f"  {quoted(key)}={quoted(value)}," for key, value in items[:-1])
        yield f"  {quoted(items[-1][0])}={quoted(items[-1][1])})"


def quoted(text: str) -> str:
    """Return the HiveQL literal of a string."""
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "'" + "".join(_visible(escapes.get(char, char)) for char in text) + "'"


def _visible(text: str) -> str:
    return text if len(text) > 1 or ord(text) >= 32 else f"\\{ord(text):03o}"
