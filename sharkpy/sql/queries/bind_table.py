"""Tables in FROM: lookup by name, files at a path, earlier versions, metadata of lake tables, computed columns.

An earlier version, FOR SYSTEM_VERSION | SYSTEM_TIME AS OF, is a commit of a managed table, one of the last epochs of a
continuous table, or a snapshot of a lake table. A computed column is an expression over other columns, or a value in
the paths of files.
"""

from __future__ import annotations

import dataclasses

from sqlglot import exp

from sharkpy.base.errors import (
    BindError,
    DatabaseNotFoundError,
    ParseError,
    SharkError,
    TableNotFoundError,
    did_you_mean,
)
from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.lake_tables import FACTS, is_lake
from sharkpy.catalog.model import ComputedColumn, Table
from sharkpy.catalog.system_tables import FILE_NAME, virtual_columns_in
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.plan.arrow_data import ArrowRows, GivenRows
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Given, LogicalPlan, Project, Scan
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.expressions.expr_binder import Clause, ExprBinder
from sharkpy.sql.grammar.file_readers import FILE_OPTIONS
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.object_names import note_files, note_table
from sharkpy.sql.scope import Scope, ScopeColumn
from sharkpy.sql.session_time import MOMENT_HINT, parse_moment
from sharkpy.values.types import NULL, STRING


def table_or_rows(context: Context, database: str | None, name: str, node: exp.Expr) -> Table | LogicalPlan:
    """Return rows that the program registered under a name, else a table or files, else the rows of a variable."""
    if database is not None:
        return _table_or_files(context, database, name, node)
    if (registered := _given(context, node, is_registered=True)) is not None:
        return registered
    try:
        return _table_or_files(context, database, name, node)
    except TableNotFoundError:
        variable = _given(context, node, is_registered=False)
        if variable is None:
            raise
        return variable


def _given(context: Context, node: exp.Expr, *, is_registered: bool) -> LogicalPlan | None:
    """Rows of the program that runs the statement, by their name. Views and stored queries cannot use them."""
    if context.views or context.kept is not None:
        return None
    try:
        found = context.catalog.given_rows(node.this.name, is_registered=is_registered)
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None
    if found is None:
        return None
    if node.args.get("version"):
        raise context.unsupported(f"a version of {found.label}", node)
    return Given(tuple(context.column(field.name, field.dtype) for field in found.schema), found)


def _table_or_files(context: Context, database: str | None, name: str, node: exp.Expr) -> Table:
    """Return the table with a name, else the files at the path that is the name: parquet.`/data/x`, or 'x.csv'."""
    if (described := files_with_options(context, database or "", node)) is not None:
        return described
    try:
        found = find_table(context, database or context.database, name, node)
        note_table(context, node, found, is_qualified=database is not None)
        return found
    except (TableNotFoundError, DatabaseNotFoundError):
        files = files_at_path(context, database or "", node)
        if files is None:
            raise
        return files


def find_table(context: Context, database: str, name: str, node: exp.Expr | None, *, has_rows: bool = True) -> Table:
    """Find a table or view.

    Errors have the place of `node`, and a hint that considers CTEs. With `has_rows`, raise BindError for a continuous
    query that has no rows.
    """
    try:
        found = context.catalog.table(database, name)
    except SharkError as error:
        hint = error.hint or did_you_mean(name, context.ctes)
        message = error.message
        if isinstance(error, TableNotFoundError) and isinstance(node, exp.Table):
            message = f"Table not found {'.'.join(part.name for part in node.parts)}"
        raise context.error(message, node, type(error), hint) from None
    if has_rows and found.has_no_rows:
        message = f"{found.qualified_name} is a {found.streaming_kind}, which has no rows"
        raise context.error(message, node, hint=_place_of_rows(found), sqlstate="42809")
    return found


def _place_of_rows(query: Table) -> str:
    """Hint that says where the rows of a continuous insert or sink are."""
    if query.location is not None:
        return f"files in {query.location} have them"
    return "its targets have them" if query.sink is None else f"they went to {query.sink.kind}"


def system_table(context: Context, database: str, name: str, node: exp.Expr) -> LogicalPlan | None:
    """Rows of the engine's own table, computed at each run of the plan; None if the database is a user's."""
    try:
        found = context.catalog.system_table(database, name)
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint) from None
    if found is None:
        return None
    if node.args.get("version"):
        raise context.unsupported(f"a version of {database}.{name}", node)
    columns = tuple(context.column(field.name, field.dtype) for field in found.schema)
    return Given(columns, GivenRows(f"{database}.{name}", found.schema, ArrowRows(), here=found))


def scan(context: Context, table: Table) -> Scan:
    """Scan a table: its own columns, then the virtual columns that the statement names."""
    named = " ".join([context.text, *(FILE_NAME if one.is_of_path else one.text for one in table.computed)])
    fields = (*table.schema, *virtual_columns_in(named, table))
    columns = tuple(context.column(field.name, field.dtype) for field in fields)
    return Scan(table, columns, tuple(field.name for field in fields))


def files_with_options(context: Context, word: str, node: exp.Expr) -> Table | None:
    """Return the table of files at a path with options; None without options."""
    given: FileOptions | None = node.args.get(FILE_OPTIONS)
    if given is None:
        return None
    files = files_at_path(context, word, node, given)
    if files is None:
        message = f'options of "{node.this.name}", whose name does not tell a file format'
        raise context.error(message, node, hint="write it before the path, as in csv.`path` OPTIONS (…)")
    return files


def files_at_path(context: Context, word: str, node: exp.Expr, given: FileOptions = NO_OPTIONS) -> Table | None:
    """Return the table of files at the path in a quoted name; None if it is not such a path."""
    if not node.this.args.get("quoted"):
        return None
    try:
        found = context.catalog.file_table(word, node.this.name, given)
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None
    if found is not None:
        note_files(context, node)
    return found


def relation_name(name: str) -> str:
    """Return the name of a table in its query. For files, it is the file name without folder and suffix."""
    return name.rstrip("/").rpartition("/")[2].partition(".")[0]


def at_version(context: Context, table: Table, version: exp.Expr | None) -> Table:
    """Return the table as of the version that a query names. Its files are read, not its blocks."""
    if version is None:
        return table
    point = _point(context, table, version)
    try:
        return context.catalog.at(table, point)
    except SharkError as error:
        raise context.error(error.message, version, type(error), error.hint, error.sqlstate) from None


def _literal(context: Context, version: exp.Expr) -> exp.Literal:
    value = version.expression
    if version.args.get("kind") != "AS OF" or not isinstance(value, exp.Literal):
        raise context.error("AS OF and a literal expected", version, ParseError)
    return value


def _point(context: Context, table: Table, version: exp.Expr) -> VersionPoint:
    """Return the version that a query names: by its number, by the name of a snapshot, or by a moment."""
    value = _literal(context, version)
    if version.name.upper() != "VERSION":
        return VersionPoint(moment_ms=_moment(context, version, value))
    number = whole_number(value.name)
    if number is not None:
        return VersionPoint(number)
    if not is_lake(table):
        kind = "an epoch" if table.continuous else "a version"
        raise context.error(f'"{value.name}" is not the number of {kind}', version, sqlstate="22023")
    return VersionPoint(name=value.name)


def _moment(context: Context, version: exp.Expr, value: exp.Literal) -> int:
    moment = parse_moment(value.name, context.conf)
    if moment is None or not value.is_string:
        raise context.error(f'"{value.name}" is not a timestamp', version, hint=MOMENT_HINT, sqlstate="22007")
    return moment


def metadata_table(context: Context, node: exp.Expr) -> LogicalPlan | None:
    """Bind [database.]table.what, or return None if this is not a metadata table of a lake table.

    An ordinary table with that name takes precedence.
    """
    if not isinstance(node, exp.Table):
        return None
    *place, table_name, what = (part.name.lower() for part in node.parts)
    if what not in FACTS or len(place) > 1:
        return None
    database = place[0] if place else context.database
    if not place and context.catalog.find_entry(table_name, what) is not None:
        return None
    table = _lake_table(context, database, table_name)
    if table is None:
        return None
    table = at_version(context, table, node.args.get("version"))
    try:
        found = context.catalog.lake_facts(table, what)
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None
    columns = tuple(context.column(field.name, field.dtype) for field in found.schema)
    return Given(columns, GivenRows(f"{table.qualified_name}.{what}", found.schema, ArrowRows(), here=found))


def _lake_table(context: Context, database: str, name: str) -> Table | None:
    found = context.catalog.find_entry(database, name)
    return context.catalog.find_table(database, name) if found is not None and is_lake(found) else None


_CLAUSE = Clause("a computed column")


def with_computed_columns(context: Context, rows: LogicalPlan, stream: Table) -> LogicalPlan:
    """Add the computed columns of a stream to its rows, after its own columns and before the virtual ones."""
    if not stream.computed:
        return rows
    own = len(stream.schema)
    known = [ScopeColumn(None, None, column.name, column) for column in rows.output]
    made: list[Alias] = []
    for one in stream.computed:
        value = computed_value(context, stream, one, Scope(known))
        made.append(Alias(value, next(context.ids), one.name))
        known.append(ScopeColumn(None, None, one.name, value))
    return Project(rows, (*rows.output[:own], *made, *rows.output[own:]))


def computed_value(context: Context, stream: Table, column: ComputedColumn, scope: Scope) -> Expr:
    """Return the value of a computed column, in its type.

    Raise BindError if it needs more than one row, or is not deterministic.
    """
    if column.is_of_path:
        path = next(one.expr for one in scope.columns if one.name == FILE_NAME)
        return cast(Call("path_value", (path, Literal(column.name, STRING)), STRING), column.dtype)
    text = f"SELECT {column.text}"
    inner = dataclasses.replace(context, text=text, database=stream.database, ctes={}, kept=None)
    try:
        value = ExprBinder(inner, scope, _CLAUSE).bind(parse_query(text, tokenize(text)).expressions[0])
    except SharkError as error:
        message = f'in the column "{column.name}" of {stream.qualified_name}: {error.message}'
        raise type(error)(message, hint=error.hint, sqlstate=error.sqlstate) from None
    _check_value(column, value)
    return value if column.dtype in (value.dtype, NULL) else cast(value, column.dtype)


def watermark_column(node: LogicalPlan) -> ColumnRef | None:
    """Return the column of a stream's watermark if this node introduces it; else None."""
    match node:
        case Scan(table=Table(watermark=mark)) if mark is not None and mark.column in node.names:
            return node.columns[node.names.index(mark.column)]
        case Project(child=Scan(table=Table(watermark=mark)) as scan) if mark and mark.column not in scan.names:
            return next((item.ref for item in node.items if isinstance(item, Alias) and item.name == mark.column), None)
    return None


def _check_value(column: ComputedColumn, value: Expr) -> None:
    for part in value.walk():
        if isinstance(part, SUBQUERIES):
            raise BindError(f'the column "{column.name}" can only use the values of its row, without subqueries')
        if isinstance(part, Call) and not is_deterministic_function(part.function):
            message = f'the column "{column.name}" gives another value each time: {part.function}()'
            raise BindError(message, hint="a stream may be read again")
    if column.dtype != NULL and not castable(value.dtype, column.dtype):
        raise BindError(
            f'the column "{column.name}" is {value.dtype}, which cannot be {column.dtype}', sqlstate="42804"
        )
