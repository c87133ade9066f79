"""Items of FROM: tables, views, CTEs, subqueries, VALUES."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sharkpy.base.errors import ParseError, TypeMismatchError
from sharkpy.base.records import dataclass
from sharkpy.catalog.system_tables import SYSTEM_DATABASES
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project, Values
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_macro import bind_table_macro
from sharkpy.sql.expressions.coercion import unify, with_minimal_literals
from sharkpy.sql.expressions.literal_lists import cell_literal, rows_of
from sharkpy.sql.grammar.file_readers import FILE_OPTIONS
from sharkpy.sql.grammar.literal_parser import LiteralList
from sharkpy.sql.grammar.relation_parser import STATE
from sharkpy.sql.object_names import called_macro, function_name, note_database
from sharkpy.sql.queries.bind_cte import bind_cte
from sharkpy.sql.queries.bind_pivot import bind_pivots
from sharkpy.sql.queries.bind_sample import sampled
from sharkpy.sql.queries.bind_table import (
    at_version,
    metadata_table,
    relation_name,
    scan,
    system_table,
    table_or_rows,
    with_computed_columns,
)
from sharkpy.sql.queries.bind_view import bind_view, circular_view, rows_of_state, state_table
from sharkpy.sql.queries.table_changes import NAME, bind_table_changes
from sharkpy.sql.queries.table_functions import bind_generator, generator_plan
from sharkpy.sql.scope import Scope, relation_scope

_TABLE_PARTS = ("this", "db", "alias", "joins", "sample", "pivots", "version", STATE, FILE_OPTIONS)
_MOST_VALUES = 200_000
"""Maximum number of literals. DuckDB plans them in seconds, and cannot be cancelled during that time."""


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
        state = state_table(context, database or context.database, name, node)
        if database is None:
            note_database(context, node)
        return _aliased(context, sampled(context, scan(context, state), node, state), node, parent, name)
    if database is None and name in context.ctes:
        return _aliased(context, sampled(context, _bind_cte(context, name, node), node, None), node, parent, name)
    if database in SYSTEM_DATABASES and (system := system_table(context, database, name, node)) is not None:
        return _aliased(context, sampled(context, system, node, None), node, parent, name, database)
    found = table_or_rows(context, database, name, node)
    if isinstance(found, LogicalPlan):
        return _aliased(context, sampled(context, found, node, None), node, parent, name)
    table = at_version(context, found, node.args.get("version"))
    if table.qualified_name in context.views and context.kept is not None:
        raise circular_view(context, table, node)
    if table.is_view:
        plan = sampled(context, with_computed_columns(context, bind_view(context, table, node), table), node, table)
        return _aliased(context, plan, node, parent, name, table.database)
    if table.is_stream and (rows := rows_of_state(context, table, node)) is not None:
        rows = with_computed_columns(context, rows, table)
        return _aliased(context, sampled(context, rows, node, table), node, parent, name, table.database)
    read = scan(context, table)
    hidden = read.columns[len(table.schema) :]
    shown = sampled(context, with_computed_columns(context, read, table), node, table)
    return _aliased(context, shown, node, parent, relation_name(name), table.database, hidden)


def _bind_table_function(context: Context, node: exp.Expr, parent: Scope | None) -> Relation:
    """Bind a table function in FROM, such as range(10) or explode(array(1, 2)) AS t(x)."""
    binder = expr_binder.ExprBinder(context, Scope((), parent), expr_binder.LATERAL_VIEW)
    if node.args.get("db") and isinstance(node.this, exp.Anonymous):
        node.this.set("this", f"{node.args['db'].name}.{function_name(node.this)}")
    called = called_macro(context, node.this) if isinstance(node.this, exp.Anonymous) else None
    if called is not None and called.columns:
        plan = bind_table_macro(binder, called, node.this)
        return _aliased(context, sampled(context, plan, node, None), node, parent, called.name)
    if isinstance(node.this, exp.Anonymous) and function_name(node.this) == NAME:
        plan = bind_table_changes(context, node.this)
        return _aliased(context, sampled(context, plan, node, None), node, parent, NAME)
    generator, columns = bind_generator(binder, node.this, ())
    plan = generator_plan(Values((), ((),)), generator, columns, False)
    name = function_name(node.this) if isinstance(node.this, exp.Anonymous) else None
    return _aliased(context, sampled(context, plan, node, None), node, parent, name)


def _bind_cte(context: Context, name: str, node: exp.Expr) -> LogicalPlan:
    cte = context.ctes[name]
    return _renamed(context, bind_cte(context, cte), cte.column_names, node)


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
