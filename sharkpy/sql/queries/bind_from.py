"""Items of FROM: tables, views, CTEs, subqueries, VALUES."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from sharkpy.base.errors import (
    DatabaseNotFoundError,
    ParseError,
    SharkError,
    TableNotFoundError,
    TypeMismatchError,
    did_you_mean,
)
from sharkpy.catalog.model import Table
from sharkpy.catalog.stream_kinds import SPANS, has_spans
from sharkpy.catalog.system_tables import FILE_NAME, SYSTEM_DATABASES, virtual_columns_in
from sharkpy.plan.arrow_data import ArrowRows, GivenRows
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Given, LogicalPlan, Project, Scan, Values
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_function import argument_types, bind_arguments, literal_values, unknown_function
from sharkpy.sql.expressions.bind_macro import bind_table_macro
from sharkpy.sql.expressions.coercion import cast, cast_all, unify, with_minimal_literals
from sharkpy.sql.expressions.literal_lists import cell_literal, rows_of
from sharkpy.sql.grammar.file_readers import FILE_OPTIONS
from sharkpy.sql.grammar.literal_parser import LiteralList
from sharkpy.sql.grammar.parser import parse
from sharkpy.sql.grammar.relation_parser import STATE
from sharkpy.sql.incremental.divide_query import divide_query
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.object_names import called_macro, function_name, note_database, note_table, registry_name
from sharkpy.sql.queries.bind_cte import bind_cte
from sharkpy.sql.queries.bind_pivot import bind_pivots
from sharkpy.sql.queries.bind_sample import sampled
from sharkpy.sql.queries.bind_table import (
    at_point,
    at_version,
    files_at_path,
    files_with_options,
    metadata_table,
    relation_name,
    with_computed_columns,
)
from sharkpy.sql.queries.bind_view import view_output
from sharkpy.sql.queries.table_functions import generator_plan
from sharkpy.sql.scope import Scope, relation_scope
from sharkpy.udf import registry
from sharkpy.values.types import ArrayType, DataType, StructType, has_null_type

_TABLE_PARTS = ("this", "db", "alias", "joins", "sample", "pivots", "version", STATE, FILE_OPTIONS)


@dataclass(frozen=True, slots=True)
class Relation:
    """Bound item of FROM: its plan, and the names that it defines."""

    plan: LogicalPlan
    scope: Scope


class BoundRelation(exp.Expression):
    """Tree of a FROM item that is already bound. `this` is its Relation."""


def bind_relation(context: Context, node: exp.Expr, parent: Scope | None) -> Relation:
    """Bind one item of FROM, without the joins that follow it."""
    relation = _bind_item(context, node, parent)
    if node.args.get("pivots"):
        return Relation(*bind_pivots(context, relation.plan, relation.scope, node))
    return relation


def _bind_item(context: Context, node: exp.Expr, parent: Scope | None) -> Relation:
    match node:
        case BoundRelation():
            bound: Relation = node.this
            return bound
        case exp.Table() if isinstance(values := node.this, exp.Values):
            context.only(node, "this", "alias", "joins")
            return _aliased(context, bind_values(context, values, parent), node, parent)
        case exp.Table():
            return _bind_table(context, node, parent)
        case exp.Subquery():
            return _bind_subquery(context, node, parent)
        case exp.Values():
            plan = bind_values(context, node, parent)
            return _aliased(context, plan, node, parent)
    raise context.unsupported(f"{node.key.upper()} in FROM", node)


def _bind_table(context: Context, node: exp.Expr, parent: Scope | None) -> Relation:
    if not isinstance(node.this, exp.Identifier):
        context.only(node, *_TABLE_PARTS)
        return _bind_table_function(context, node, parent)
    if not context.budget.take_table():
        raise context.too_many_tables(node)
    if node.args.get("db") and (facts := metadata_table(context, node)) is not None:
        if not node.args.get("catalog"):
            note_database(context, node)
        return _aliased(context, sampled(context, facts, node, None), node, parent, node.this.name.lower())
    context.only(node, *_TABLE_PARTS)
    name = node.this.name.lower()
    database = node.args["db"].name.lower() if node.args.get("db") else None
    if node.args.get(STATE):
        state = _state_table(context, database or context.database, name, node)
        if database is None:
            note_database(context, node)
        return _aliased(context, sampled(context, scan(context, state), node, state), node, parent, name)
    if database is None and name in context.ctes:
        return _aliased(context, sampled(context, _bind_cte(context, name, node), node, None), node, parent, name)
    if database in SYSTEM_DATABASES and (system := _system_table(context, database, name, node)) is not None:
        return _aliased(context, sampled(context, system, node, None), node, parent, name, database)
    found = _table_or_rows(context, database, name, node)
    if isinstance(found, LogicalPlan):
        return _aliased(context, sampled(context, found, node, None), node, parent, name)
    table = at_version(context, found, node.args.get("version"))
    if table.qualified_name in context.views and context.kept is not None:
        raise _circular(context, table, node)
    if table.is_view:
        plan = sampled(context, with_computed_columns(context, bind_view(context, table, node), table), node, table)
        return _aliased(context, plan, node, parent, name, table.database)
    if table.is_stream and (rows := _rows_of_state(context, table, node)) is not None:
        rows = with_computed_columns(context, rows, table)
        return _aliased(context, sampled(context, rows, node, table), node, parent, name, table.database)
    read = scan(context, table)
    hidden = read.columns[len(table.schema) :]
    shown = sampled(context, with_computed_columns(context, read, table), node, table)
    return _aliased(context, shown, node, parent, relation_name(name), table.database, hidden)


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


def _table_or_rows(context: Context, database: str | None, name: str, node: exp.Expr) -> Table | LogicalPlan:
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


def _system_table(context: Context, database: str, name: str, node: exp.Expr) -> LogicalPlan | None:
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


def _bind_table_function(context: Context, node: exp.Expr, parent: Scope | None) -> Relation:
    """Bind a table function in FROM, such as range(10) or explode(array(1, 2)) AS t(x)."""
    binder = expr_binder.ExprBinder(context, Scope((), parent), expr_binder.LATERAL_VIEW)
    if node.args.get("db") and isinstance(node.this, exp.Anonymous):
        node.this.set("this", f"{node.args['db'].name}.{function_name(node.this)}")
    called = called_macro(context, node.this) if isinstance(node.this, exp.Anonymous) else None
    if called is not None and called.columns:
        plan = bind_table_macro(binder, called, node.this)
        return _aliased(context, sampled(context, plan, node, None), node, parent, called.name)
    generator, columns = bind_generator(binder, node.this, ())
    plan = generator_plan(Values((), ((),)), generator, columns, False)
    name = function_name(node.this) if isinstance(node.this, exp.Anonymous) else None
    return _aliased(context, sampled(context, plan, node, None), node, parent, name)


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


def scan(context: Context, table: Table) -> Scan:
    """Scan a table: its own columns, then the virtual columns that the statement names."""
    named = " ".join([context.text, *(FILE_NAME if one.is_of_path else one.text for one in table.computed)])
    fields = (*table.schema, *virtual_columns_in(named, table))
    columns = tuple(context.column(field.name, field.dtype) for field in fields)
    return Scan(table, columns, tuple(field.name for field in fields))


def _bind_cte(context: Context, name: str, node: exp.Expr) -> LogicalPlan:
    cte = context.ctes[name]
    return _renamed(context, bind_cte(context, cte), cte.column_names, node)


def bind_view(context: Context, table: Table, node: exp.Expr | None, stream: Table | None = None) -> LogicalPlan:
    """Bind a view's query in the view's database, under the view's column names.

    For a continuous table with state, `stream` reads its rows as a stream FROM that table.
    """
    inner, plan = _view_query(context, table, node)
    if table.has_state:
        divided, state = _divided(inner, table, plan)
        unnamed = dataclasses.replace(inner, text="")
        read = partial(scan, unnamed, state)
        if stream is None:
            plan = divided.read(read)
        elif has_spans(stream):
            plan = divided.closed_within(read, partial(scan, unnamed, dataclasses.replace(stream, schema=SPANS)))
        else:
            plan = divided.read(partial(scan, unnamed, dataclasses.replace(stream, schema=state.schema)))
    output = view_output(table, plan.output)
    if len(output) != len(table.schema):
        message = f"the view {table.qualified_name} has {len(table.schema)} columns, its query {len(output)}"
        raise context.error(message, node, hint="create the view again")
    items: list[Alias | ColumnRef] = []
    for column, field in zip(output, table.schema, strict=True):
        # The query decides a column's type, even if it changed: the view's type could not hold all values.
        value = cast(column, field.dtype) if has_null_type(column.dtype) else column
        is_same = value is column and column.name == field.name
        items.append(column if is_same else Alias(value, next(context.ids), field.name))
    return plan if tuple(items) == plan.output else Project(plan, tuple(items))


def _view_query(context: Context, table: Table, node: exp.Expr | None) -> tuple[Context, LogicalPlan]:
    """Bind a view's query. Return its context and its plan."""
    if table.qualified_name in context.views:
        raise _circular(context, table, node)
    text = table.view_text or ""
    inner = dataclasses.replace(
        context,
        database=table.view_database,
        text=text,
        ctes={},
        views=(*context.views, table.qualified_name),
        kept=None,
    )
    try:
        return inner, context.bind_query(parse(text), inner, None)
    except SharkError as error:
        message = f"in the view {table.qualified_name}: {error.message}"
        raise context.error(message, node, type(error), error.hint, error.sqlstate) from None


def _circular(context: Context, view: Table, node: exp.Expr | None) -> SharkError:
    chain = " -> ".join((*context.views, view.qualified_name))
    return context.error(f"the view {view.qualified_name} refers to itself: {chain}", node)


def _rows_of_state(context: Context, stream: Table, node: exp.Expr) -> LogicalPlan | None:
    """Rows of a stream FROM a continuous table with state; None for another stream."""
    source = context.catalog.source_of(stream)
    return None if source is None or not source.has_state else bind_view(context, source, node, stream)


def _state_table(context: Context, database: str, name: str, node: exp.Expr) -> Table:
    """The state table for STATE OF name."""
    table = find_table(context, database, name, node, has_rows=False)
    if not table.has_state:
        message = f"{table.qualified_name} is not a continuous table, insert or sink with state"
        raise context.error(message, node, sqlstate="42809")
    return _state_of(context, at_version(context, table, node.args.get("version")))


def _state_of(context: Context, table: Table) -> Table:
    state = context.catalog.table(table.database, table.state_name)
    return state if table.as_of is None else at_point(state, table.as_of)


def divided_view(context: Context, table: Table, node: exp.Expr | None = None) -> DividedQuery:
    """Return the divided query of a continuous table with state."""
    inner, query = _view_query(context, table, node)
    return _divided(inner, table, query)[0]


def _divided(context: Context, table: Table, query: LogicalPlan) -> tuple[DividedQuery, Table]:
    """The divided query of a continuous table, and the table with its state."""
    state = _state_of(context, table)
    found = divide_query(query, context, state.emit, expires=state.expires)
    if found is None or found.schema.names != state.schema.names:
        message = f"the query of {table.qualified_name} has another state than when it was defined"
        raise context.error(message, None, sqlstate="55000")
    return found, state


def _bind_subquery(context: Context, node: exp.Expr, parent: Scope | None) -> Relation:
    context.only(node, "this", "alias", "joins", "sample", "pivots")
    is_renamed = any(map(node.args.get, ("alias", "sample", "pivots")))
    if _is_relation(node.this) or (isinstance(node.this, exp.Subquery) and not is_renamed):
        from sharkpy.sql.queries.bind_join import bind_joined

        relation = bind_joined(context, node.this, node.this.args.get("joins") or [], parent, frozenset())
        if not is_renamed:
            return relation
        return _aliased(context, sampled(context, _shown(context, relation), node, None), node, parent)
    # A subquery in FROM sees the columns of an enclosing query, but not those next to it in FROM.
    plan = context.bind_query(node.this, context, parent)
    return _aliased(context, sampled(context, plan, node, None), node, parent)


def _is_relation(node: exp.Expr) -> bool:
    """Return whether the parentheses contain a table or a join, and not a query."""
    if isinstance(node, exp.Subquery):
        return any(map(node.args.get, ("alias", "joins"))) or _is_relation(node.this)
    return isinstance(node, exp.Table)


def _shown(context: Context, relation: Relation) -> LogicalPlan:
    """Plan with the columns to which `*` expands."""
    shown = [column for column in relation.scope.columns if not column.qualified_only]
    items = [
        column.expr if isinstance(column.expr, ColumnRef) else Alias(column.expr, next(context.ids), column.name)
        for column in shown
    ]
    return relation.plan if tuple(items) == relation.plan.output else Project(relation.plan, tuple(items))


def _aliased(
    context: Context,
    plan: LogicalPlan,
    node: exp.Expr,
    parent: Scope | None,
    name: str | None = None,
    database: str | None = None,
    hidden: tuple[ColumnRef, ...] = (),
) -> Relation:
    """Put a relation under its alias, which hides the table's own name.

    `hidden` are its last columns, which `*` leaves out.
    """
    alias = node.args.get("alias")
    if alias is not None:
        names = [column.name.lower() for column in alias.args.get("columns") or []]
        plan = _renamed(context, plan, names, node, hidden)
        if alias.this is not None:
            name, database = alias.this.name.lower(), None
    shown = plan.output[: len(plan.output) - len(hidden)]
    return Relation(plan, relation_scope(name, database, shown, parent, hidden))


def _renamed(
    context: Context, plan: LogicalPlan, names: Sequence[str], node: exp.Expr, hidden: tuple[ColumnRef, ...] = ()
) -> LogicalPlan:
    if not names:
        return plan
    shown = plan.output[: len(plan.output) - len(hidden)]
    if len(names) != len(shown):
        raise context.error(f"{len(names)} column names for {len(shown)} columns", node, sqlstate="42811")
    items = tuple(Alias(column, next(context.ids), name) for column, name in zip(shown, names, strict=True))
    return Project(plan, (*items, *hidden))


def bind_lateral_view(context: Context, relation: Relation, node: exp.Expr) -> Relation:
    """Bind LATERAL VIEW [OUTER] function(…) alias AS columns."""
    context.only(node, "this", "view", "outer", "alias")
    if not node.args.get("view"):
        raise context.error("a comma or JOIN expected before LATERAL", node, ParseError)
    alias = node.args["alias"]
    names = [column.name.lower() for column in alias.args.get("columns") or []]
    name = alias.this.name.lower() if alias.this is not None else None
    binder = expr_binder.ExprBinder(context, relation.scope, expr_binder.LATERAL_VIEW)
    generator, columns = bind_generator(binder, node.this, names)
    plan = generator_plan(relation.plan, generator, columns, bool(node.args.get("outer")))
    return Relation(plan, relation.scope + relation_scope(name, None, columns, None))


def bind_lateral(context: Context, node: exp.Expr, outer: Scope) -> Relation:
    """Bind LATERAL (query) and LATERAL function(…), which can use the columns of `outer`."""
    context.only(node, "this", "alias")
    if not isinstance(node.this, exp.Subquery):
        alias = node.args.get("alias") or exp.TableAlias()
        names = [column.name.lower() for column in alias.args.get("columns") or []]
        binder = expr_binder.ExprBinder(context, outer, expr_binder.LATERAL_VIEW)
        generator, columns = bind_generator(binder, node.this, names)
        relation = alias.name.lower() or function_name(node.this)
        plan = generator_plan(Values((), ((),)), generator, columns, False)
        return Relation(plan, relation_scope(relation, None, columns, outer.parent))
    context.only(node.this, "this")
    return _aliased(context, context.bind_query(node.this.this, context, outer), node, outer.parent)


def bind_generator(
    binder: expr_binder.ExprBinder, node: exp.Expr, names: Sequence[str]
) -> tuple[Call, tuple[ColumnRef, ...]]:
    """Bind a call of a table function and its output columns, under `names` if there are any."""
    context = binder.context
    if not isinstance(node, exp.Anonymous):
        raise context.error("a table function expected", node)
    function = function_name(node)
    known = registry_name(context, node)
    row = registry.table_function(known)
    if row is None:
        if registry.scalar(known) or registry.aggregate(known):
            raise context.error(f"{function} is not a table function", node)
        raise unknown_function(binder, known, node)
    args = bind_arguments(binder, node)
    if row.name == "stack":
        args, fields = _stack(context, args, node)
    else:
        targets = argument_types(binder, row.name, row.arguments, args, node)
        args = cast_all(args, targets)
        if row.literal_columns is not None:
            fields = list(row.literal_columns(targets, literal_values(args)))
        else:
            fields = list(row.columns(targets))
    if names and len(names) != len(fields):
        message = f"{function} yields {len(fields)} columns, {len(names)} names are given"
        raise context.error(message, node, sqlstate="42811")
    columns = tuple(
        context.column(names[index] if names else name, dtype) for index, (name, dtype) in enumerate(fields)
    )
    struct = StructType(tuple(name for name, _ in fields), tuple(dtype for _, dtype in fields))
    return Call(row.name, args, ArrayType(struct)), columns


def _stack(
    context: Context, args: tuple[Expr, ...], node: exp.Expr
) -> tuple[tuple[Expr, ...], list[tuple[str, DataType]]]:
    """Bind stack(n, v1, …) with n rows. The values of a column are cast to their common type."""
    match args:
        case (Literal(int() as num_rows), *values) if num_rows > 0 and values:
            pass
        case _:
            raise context.error("stack takes a positive literal number of rows and values", node, TypeMismatchError)
    width = -(-len(values) // num_rows)
    cast_values: list[Expr] = list(values)
    fields: list[tuple[str, DataType]] = []
    for index in range(width):
        unified = unify(values[index::width])
        if unified is None:
            raise context.error(f"column {index} of stack has no common type", node, TypeMismatchError)
        cast_values[index::width] = unified
        fields.append((f"col{index}", unified[0].dtype))
    return (args[0], *cast_values), fields


_MOST_VALUES = 200_000
"""Maximum number of literals. DuckDB plans them in seconds, and cannot be cancelled during that time."""


def _bound_rows(binder: expr_binder.ExprBinder, node: exp.Expr) -> Iterator[tuple[exp.Expr, Sequence[Expr]]]:
    """Values of the rows of VALUES, each with its node."""
    for row in node.expressions:
        if isinstance(row, LiteralList):
            for cells in rows_of(row.name):
                yield row, [cell_literal(binder.context, cell, row) for cell in cells]
        else:
            items = row.expressions if isinstance(row, exp.Tuple) else [row]
            yield row, [binder.bind(item) for item in items]


def bind_values(context: Context, node: exp.Expr, parent: Scope | None) -> Values:
    """Bind VALUES rows. Columns are col1, col2, … with the common type of their values."""
    binder = expr_binder.ExprBinder(context, parent or Scope(()), expr_binder.VALUES)
    rows: list[Sequence[Expr]] = []
    for place, row in _bound_rows(binder, node):
        rows.append(row)
        if len(rows) * len(rows[0]) > _MOST_VALUES:
            message = f"VALUES has more than {_MOST_VALUES:,} values"
            raise context.error(message, place, hint="INSERT them into a table", sqlstate="54000")
        if len(row) != len(rows[0]):
            message = f"row {len(rows)} of VALUES has {len(row)} values, the first has {len(rows[0])}"
            raise context.error(message, place, sqlstate="42811")
    columns: list[ColumnRef] = []
    unified: list[tuple[Expr, ...]] = []
    for index, column_values in enumerate(zip(*rows, strict=True), start=1):
        values = unify(with_minimal_literals(column_values))
        if values is None:
            types = ", ".join(dict.fromkeys(str(item.dtype) for item in column_values))
            raise context.error(f"column {index} of VALUES has no common type: {types}", node, TypeMismatchError)
        unified.append(values)
        columns.append(context.column(f"col{index}", values[0].dtype))
    return Values(tuple(columns), tuple(zip(*unified, strict=True)))
