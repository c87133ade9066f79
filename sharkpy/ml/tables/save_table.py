"""Saving data of Python programs as tables: `ctx.save_as_table`.

The data is a relation in an ordinary CREATE TABLE … AS SELECT or INSERT, and is saved completely or not at all, as by
these.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sharkpy.base.errors import BindError, InternalError, ParameterError, TableExistsError
from sharkpy.base.records import dataclass
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import CacheMode, Table, TableKind
from sharkpy.catalog.names import check_name
from sharkpy.execution.commands.storage import used_ids
from sharkpy.execution.tables.snapshot import reading
from sharkpy.ml.tables.declared_columns import DeclaredColumns, declared_columns, make_schema, renamed
from sharkpy.ml.tables.program_data import given_rows
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.plan.commands import CreateTable, Insert
from sharkpy.plan.logical import Given, LogicalPlan, Project, Scan
from sharkpy.plan.references import renumbered
from sharkpy.sql.binder import bind
from sharkpy.values.types import DataType, Field, Schema

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.execution.engine_session import EngineSession

Mode = Literal["error", "overwrite", "append", "ignore"]
_MODES = ("error", "overwrite", "append", "ignore")
_CACHE = {None: None, False: None, True: CacheMode.MEMORY, "MEMORY": CacheMode.MEMORY}
_CACHE |= {"MEMORY_ONLY": CacheMode.MEMORY_ONLY}


def save_as_table(
    session: EngineSession,
    data: Any,
    name: str,
    schema: Any = None,
    cache: bool | str | None = None,
    mode: Mode = "error",
    *,
    partition_by: Sequence[str] = (),
    distribute_by: Sequence[str] = (),
    comment: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> int:
    """Implement `SharkContext.save_as_table`."""
    if mode not in _MODES:
        raise ParameterError(f'mode="{mode}" is none of {", ".join(_MODES)}')
    if cache not in _CACHE:
        raise ParameterError(f'cache={cache!r} is none of None, True, "MEMORY", "MEMORY_ONLY"')
    with session.as_statement(f"save_as_table {name}") as statement:
        database, short = _qualified(session, name)
        old = session.catalog.find_table(database, short)
        if old is not None and mode == "ignore":
            return 0
        if old is not None and mode == "error":
            raise TableExistsError(f'table "{short}" already exists')
        is_append = mode == "append" and old is not None
        declared = declared_columns(schema)
        if is_append and old is not None and declared is None:
            declared = DeclaredColumns(old.schema.names, tuple(field.dtype for field in old.schema))
        target = f"{_quoted(database)}.{_quoted(short)}"
        source = _source(session, data, declared)
        if is_append:
            text = f"INSERT INTO TABLE {target} ({_listed(source.columns)}) {_select(source, ())}"
        else:
            cached = _CACHE[cache]
            clauses = {**({} if cached is None else {"shark.cache": cached.value}), **(properties or {})}
            text = (
                f"CREATE {'OR REPLACE ' if mode == 'overwrite' else ''}TABLE {target}"
                f"{f' COMMENT {_text(comment)}' if comment else ''}"
                f"{f' PARTITIONED BY ({_listed(partition_by)})' if partition_by else ''}"
                f"{f' TBLPROPERTIES ({_properties(clauses)})' if clauses else ''}"
                f" AS {_select(source, partition_by)}"
                f"{f' DISTRIBUTE BY {_listed(distribute_by)}' if distribute_by else ''}"
            )
        with reading(session.snapshot, None) as snapshot:
            session.run_command(_bound(text, source, session), snapshot)
        return statement.rows_written


@dataclass(frozen=True, slots=True)
class _Source:
    """Data in a statement: `table`, which is in no catalog, stands for the rows in its text."""

    table: Table
    columns: dict[str, str]
    """Text of each new column in a select list, by name."""
    rows: GivenRows | LogicalPlan


def _source(session: EngineSession, data: Any, declared: DeclaredColumns | None) -> _Source:
    """Return data as the source of a statement. A TableRDD is its own plan: its rows never leave the engine."""
    plan = getattr(data, "plan", None)
    if not isinstance(plan, LogicalPlan):
        given = given_rows(session, data, declared)
        return _Source(_stand_in(given.schema), {name: _quoted(name) for name in given.schema.names}, given)
    found = make_schema((column.name, column.dtype) for column in plan.output)
    schema = found if declared is None else declared.schema or renamed(found, declared.names, "a TableRDD")
    named = found if set(found.names) == set(schema.names) else renamed(found, schema.names, "a TableRDD")
    return _Source(_stand_in(named), {one.name: _converted(one, named[one.name].dtype) for one in schema}, plan)


def _converted(field: Field, given: DataType) -> str:
    name = _quoted(field.name)
    return name if field.dtype == given else f"CAST({name} AS {field.dtype}) AS {name}"


def _stand_in(schema: Schema) -> Table:
    return Table(new_table_id(), "", f"given_{uuid.uuid4().hex}", TableKind.TEMPORARY, schema)


def _select(source: _Source, last: Sequence[str]) -> str:
    """Return the select list over the data's columns, with the columns of Hive partitions last."""
    columns, lowered = source.columns, [name.lower() for name in last]
    order = [name for name in columns if name not in lowered] + [name for name in lowered if name in columns]
    return f"SELECT {', '.join(columns[name] for name in order)} FROM {_quoted(source.table.name)}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{_text(key)} = {_text(value)}" for key, value in properties.items())


def _qualified(session: EngineSession, name: str) -> tuple[str, str]:
    """Return database and name of a table that is written `table` or `database.table`."""
    parts = [part.strip("`").lower() for part in name.split(".")]
    if len(parts) > 2 or not all(parts):
        raise BindError(f'"{name}" is not the name of a table: it is table or database.table', sqlstate="42602")
    for part in parts:
        check_name(part)
    return (session.current_database, parts[0]) if len(parts) == 1 else (parts[0], parts[1])


# Statements over the data


class _WithSource:
    """Catalog of the session, extended by the stand-in table of the data."""

    def __init__(self, catalog: Catalog, table: Table) -> None:
        self._catalog, self._table = catalog, table

    def find_table(self, database: str, name: str) -> Table | None:
        return self._table if name == self._table.name else self._catalog.find_table(database, name)

    def table(self, database: str, name: str) -> Table:
        return self._table if name == self._table.name else self._catalog.table(database, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)


def _bound(text: str, source: _Source, session: EngineSession) -> CreateTable | Insert:
    catalog: Any = _WithSource(session.catalog, source.table)
    command = bind(text, catalog, session.conf, session.current_database)
    if not isinstance(command, (CreateTable, Insert)) or command.query is None:
        raise InternalError(f"{text} is not a statement that writes a table")
    query = command.query
    if isinstance(source.rows, LogicalPlan):
        # A plan put into it shares no column's id with it.
        behind = max(used_ids(source.rows), default=0)
        query = renumbered(query, lambda column_id: column_id + behind)

    def with_rows(node: LogicalPlan) -> LogicalPlan:
        return _rows(source, node) if isinstance(node, Scan) and node.table is source.table else node

    return dataclasses.replace(command, query=query.transform_up(with_rows))


def _rows(source: _Source, scan: Scan) -> LogicalPlan:
    """Return the plan of the data's rows that replaces the scan of the stand-in, with the same columns."""
    rows = source.rows
    if isinstance(rows, GivenRows):
        return Given(scan.columns, rows)
    by_name = dict(zip(source.table.schema.names, rows.output, strict=True))
    items = (column.holding(by_name[name]) for name, column in zip(scan.names, scan.columns, strict=True))
    return Project(rows, tuple(items))
