"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, windows, the select list, DISTINCT, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sharkpy.base import settings
from sharkpy.base.records import dataclass
from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, WindowCall
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project, Values, Window
from sharkpy.plan.references import column_ids
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_name import GROUPING_ID, MOST_BITS
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.sql.object_names import function_name, registry_name
from sharkpy.sql.queries.aggregation import Aggregation
from sharkpy.sql.queries.bind_group import bind_groups, is_argument
from sharkpy.sql.queries.bind_join import bind_joined
from sharkpy.sql.queries.bind_star import expand_columns
from sharkpy.sql.queries.ordering import Ordering, bind_limit, bind_ordering, order
from sharkpy.sql.queries.table_functions import bind_generator, generator_plan
from sharkpy.sql.queries.time_windows import (
    grouped_windows,
    with_row_windows,
    with_sessions,
    with_windowing,
    with_windows,
)
from sharkpy.sql.scope import Scope
from sharkpy.udf import registry
from sharkpy.udf.user.function import shown_name

_CLAUSES = (
    *("hint", "distinct", "expressions", "from_", "joins", "laterals"),
    *("where", "group", "windowing", "having", "windows", "qualify"),
)
_ORDERING = ("order", "sort", "distribute", "cluster", "limit", "offset")
_MOST_COLUMNS = 50_000
_BROADCAST_HINTS = ("mapjoin", "broadcast", "broadcastjoin")


@dataclass(frozen=True, slots=True)
class Item:
    """Bound select item: its name in the result, its value, and its node."""

    name: str
    expr: Expr
    node: exp.Expr


def bind_select(select: exp.Expr, context: Context, parent: Scope | None) -> LogicalPlan:
    context.only(select, *_CLAUSES, *_ORDERING, "with_")
    plan, scope = _bind_from(select, context, parent)
    select = with_windowing(select, context, plan, scope)
    windows = {window.this.name.lower(): window for window in select.args.get("windows") or []}
    binder = ExprBinder(context, scope, expr_binder.SELECT, windows=windows)
    if select.args.get("where"):
        plan = Filter(plan, replace(binder, clause=expr_binder.WHERE).predicate(select.args["where"].this))
    grouped = grouped_windows(select, replace(binder, clause=expr_binder.GROUP_BY))
    items, generators = _bind_items(select, binder, grouped)
    aliases = {**grouped, **_aliases(items)}
    having = _bind_condition(select, "having", replace(binder, clause=expr_binder.HAVING, aliases=aliases))
    qualify = _bind_condition(select, "qualify", replace(binder, clause=expr_binder.QUALIFY, aliases=aliases))
    if qualify is not None and not any(isinstance(node, WindowCall) for node in qualify.walk()):
        raise context.error("QUALIFY needs a window function", select.args["qualify"], sqlstate="42P20")
    order_binder = replace(binder, clause=expr_binder.ORDER_BY, aliases=aliases, aliases_first=True)
    ordering = bind_ordering(select, order_binder, [item.expr for item in items])

    exprs = [*(item.expr for item in items), *ordering.exprs, *(g.generator for g in generators)]
    exprs += [condition for condition in (qualify, having) if condition is not None]
    if select.args.get("group") or select.args.get("having") or any(map(_has_aggregate, exprs)):
        plan, exprs = _aggregate(
            select, replace(binder, clause=expr_binder.GROUP_BY, aliases=aliases), plan, items, exprs
        )
    else:
        plan, _, exprs = with_row_windows(context, plan, [], exprs, select)
        plan, exprs = with_windows(context, plan, exprs, select)
    if having is not None:
        plan = Filter(plan, exprs.pop())
    plan, exprs = _windows(context, plan, exprs)
    if qualify is not None:
        plan = Filter(plan, exprs.pop())
    for generator in generators:
        call = exprs.pop(len(items) + len(ordering.exprs))
        if not isinstance(call, Call):
            raise context.error("a table function expected", generator.node)
        plan = generator_plan(plan, call, generator.columns, False)
    return _finish(select, context, plan, items, exprs, ordering)


def _bind_from(select: exp.Expr, context: Context, parent: Scope | None) -> tuple[LogicalPlan, Scope]:
    source = select.args.get("from_")
    if source is None:
        if select.args.get("joins") or select.args.get("laterals"):
            raise context.error("a join or lateral view needs FROM", select)
        return Values((), ((),)), Scope((), parent)
    joins = [*(select.args.get("joins") or []), *(select.args.get("laterals") or [])]
    relation = bind_joined(context, source.this, joins, parent, broadcast_hints(select))
    return relation.plan, relation.scope


def broadcast_hints(select: exp.Expr) -> frozenset[str]:
    """Return the aliases in MAPJOIN(a, b) and its synonyms. Other hints have no effect."""
    hint = select.args.get("hint")
    return frozenset(
        table.name.lower()
        for call in (hint.expressions if hint else ())
        if isinstance(call, exp.Anonymous) and function_name(call) in _BROADCAST_HINTS
        for table in call.expressions
    )


@dataclass(frozen=True, slots=True)
class _Generator:
    generator: Call
    columns: tuple[ColumnRef, ...]
    node: exp.Expr


def _bind_items(
    select: exp.Expr, binder: ExprBinder, grouped: Mapping[str, Expr | None]
) -> tuple[list[Item], list[_Generator]]:
    """Bind the select list, with stars expanded.

    A table function in it becomes its output columns. `grouped` are names that GROUP BY defines.
    """
    items: list[Item] = []
    generators: list[_Generator] = []
    earlier = _EarlierItems(dict(grouped))
    given = {_given_name(node) for node in select.expressions}
    for node in select.expressions:
        if (columns := expand_columns(binder, node)) is not None:
            items += [Item(name, expr, node) for name, expr in columns]
        elif (call := _generator_call(binder.context, node)) is not None:
            if generators:
                raise binder.context.unsupported("more than one table function in a select list", node)
            generator = _bind_item_generator(binder, node, call)
            generators.append(generator)
            items += [Item(column.name, column, node) for column in generator.columns]
        else:
            value = node.this if isinstance(node, exp.Alias) else node
            known = replace(binder, aliases=earlier.repeatable)
            items.append(Item(_item_name(node, earlier, given), known.bind(value), node))
        earlier.add(items)
        if len(items) > _MOST_COLUMNS:
            message = f"a query has at most {_MOST_COLUMNS:,} columns"
            raise binder.context.error(message, node, sqlstate="54011")
    return items, generators


class _EarlierItems:
    """Names of the select items so far.

    Later items can use the names in `repeatable`, unless a column has that name. Names of nondeterministic values are
    left out.
    """

    def __init__(self, known: dict[str, Expr | None]) -> None:
        self.repeatable = known
        self.aliases: dict[str, Expr | None] = {}
        self.num_items = 0

    def add(self, items: Sequence[Item]) -> None:
        """Add the items that are new."""
        for item in items[self.num_items :]:
            _add_alias(self.aliases, item)
            if _is_repeatable(expr := self.aliases[item.name]):
                self.repeatable[item.name] = expr
            else:
                self.repeatable.pop(item.name, None)
        self.num_items = len(items)


def _is_repeatable(expr: Expr | None) -> bool:
    calls = (node for node in expr.walk() if isinstance(node, Call)) if expr is not None else ()
    return all(is_deterministic_function(call.function) for call in calls)


def _item_name(node: exp.Expr, before: _EarlierItems, given: Collection[str | None]) -> str:
    """Name of a select item: its given name, else the name of a cast column if that is free, else _c0, _c1, …"""
    if (name := _given_name(node)) is not None:
        return name
    name = _column_name(node, exp.Cast)
    is_free = name not in given and name not in before.aliases
    return name if name is not None and is_free else f"_c{before.num_items}"


def _given_name(node: exp.Expr) -> str | None:
    """Alias, or a column's own name."""
    return str(node.alias).lower() if isinstance(node, exp.Alias) else _column_name(node)


def _column_name(node: exp.Expr, *wrappers: type[exp.Expr]) -> str | None:
    """Name of a column or field, inside parentheses or `wrappers`."""
    while isinstance(node, (exp.Paren, *wrappers)):
        node = node.this
    if isinstance(node, exp.Column):
        return str(node.name).lower()
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return str(node.expression.name).lower()
    return None


def _generator_call(context: Context, node: exp.Expr) -> exp.Expr | None:
    inner = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
    if isinstance(inner, exp.Anonymous) and registry.table_function(registry_name(context, inner)):
        return inner
    return None


def _bind_item_generator(binder: ExprBinder, node: exp.Expr, call: exp.Expr) -> _Generator:
    names: list[str] = []
    if isinstance(node, exp.Alias):
        names = [str(node.alias).lower()]
    elif isinstance(node, exp.Aliases):
        names = [name.name.lower() for name in node.expressions]
    generator, columns = bind_generator(binder, call, names)
    return _Generator(generator, columns, node)


def _aliases(items: Sequence[Item]) -> dict[str, Expr | None]:
    """Select items by name; None for a name with several different values."""
    aliases: dict[str, Expr | None] = {}
    for item in items:
        _add_alias(aliases, item)
    return aliases


def _add_alias(aliases: dict[str, Expr | None], item: Item) -> None:
    is_other = item.name in aliases and aliases[item.name] != item.expr
    aliases[item.name] = None if is_other else item.expr


def _bind_condition(select: exp.Expr, key: str, binder: ExprBinder) -> Expr | None:
    clause = select.args.get(key)
    return binder.predicate(clause.this) if clause else None


def _has_aggregate(expr: Expr) -> bool:
    return any(isinstance(node, AggregateCall) for node in expr.walk())


def _aggregate(
    select: exp.Expr, binder: ExprBinder, plan: LogicalPlan, items: Sequence[Item], exprs: Sequence[Expr]
) -> tuple[Aggregate, list[Expr]]:
    """Put an Aggregate over `plan`, and rewrite `exprs` over its columns."""
    context = binder.context
    groups, sets = bind_groups(select.args.get("group"), binder, [(item.name, item.expr) for item in items])
    plan, groups, exprs = with_row_windows(context, plan, groups, exprs, select)
    if sets is None:
        plan, groups, exprs = with_sessions(context, plan, groups, exprs, select)
    plan, made = with_windows(context, plan, [*(expr for _, expr in groups), *exprs], select)
    groups = [(name, expr) for (name, _), expr in zip(groups, made, strict=False)]
    exprs = made[len(groups) :]

    def not_grouped(name: str) -> Exception:
        message = f'the column "{name}" is neither grouped nor inside an aggregate'
        nodes = [
            node
            for node in select.find_all(exp.Column)
            if node.name.lower() == name and not is_argument(binder.context, node, select, binder.scope.relations)
        ]
        hint = "add it to GROUP BY" if select.args.get("group") else "add GROUP BY"
        return context.error(message, nodes[0] if nodes else select, hint=hint, sqlstate="42803")

    if sets is not None and len(groups) > MOST_BITS:
        _check_no_id(select, context, len(groups), exprs)
    legacy_id = context.conf.value(settings.LEGACY_GROUPING_ID)
    aggregation = Aggregation(plan, groups, sets, context.column, not_grouped, legacy_id)
    rewritten = [aggregation.rewrite(expr) for expr in exprs]
    return aggregation.plan(), rewritten


def _check_no_id(select: exp.Expr, context: Context, num_groups: int, exprs: Sequence[Expr]) -> None:
    """Raise BindError 54000 if GROUPING__ID is used with too many grouping expressions."""
    parts = (part for expr in exprs for part in expr.walk())
    if not any(isinstance(part, AggregateCall) and part.function == GROUPING_ID for part in parts):
        return
    nodes = (node for node in select.find_all(exp.Column, exp.Anonymous) if node.name.lower().startswith("grouping_"))
    message = f"GROUPING__ID has bits for {MOST_BITS} grouping columns, not {num_groups}"
    raise context.error(message, next(nodes, select), hint="grouping(column) tells of one column", sqlstate="54000")


def _windows(context: Context, plan: LogicalPlan, exprs: Sequence[Expr]) -> tuple[LogicalPlan, list[Expr]]:
    """Put a Window with the window functions of `exprs` over `plan`, and rewrite `exprs` over its columns."""
    found: dict[Expr, Alias] = {}
    rewritten = [_over_windows(expr, found, context) for expr in exprs]
    return (Window(plan, tuple(found.values())), rewritten) if found else (plan, list(exprs))


def _over_windows(expr: Expr, found: dict[Expr, Alias], context: Context) -> Expr:
    if isinstance(expr, WindowCall):
        if expr not in found:
            found[expr] = Alias(expr, next(context.ids), shown_name(expr.function))
        return found[expr].ref
    return expr.map_children(lambda child: _over_windows(child, found, context))


def _finish(
    select: exp.Expr,
    context: Context,
    plan: LogicalPlan,
    items: Sequence[Item],
    exprs: Sequence[Expr],
    ordering: Ordering,
) -> LogicalPlan:
    """Put Project, DISTINCT, DISTRIBUTE BY, ORDER BY and LIMIT over the plan from which `exprs` are computed."""
    own = plan.output_ids
    visible = list(_outputs(context, items, exprs, own))
    refs = {item.expr: _ref(output) for item, output in reversed(list(zip(items, visible, strict=True)))}
    if select.args.get("distinct"):
        context.only(select.args["distinct"])
        plan = Aggregate(Project(plan, tuple(visible)), tuple(map(_ref, visible)), ())
        return bind_limit(select, context, order(plan, ordering, _keys_over(select, context, ordering, refs)))
    hidden: list[Alias | ColumnRef] = []
    keys: list[Expr] = []
    for raw, expr in zip(ordering.exprs, exprs[len(items) :], strict=True):
        if raw not in refs and not isinstance(expr, Literal):
            output: Alias | ColumnRef
            if isinstance(expr, ColumnRef) and expr.column_id in own:
                output = expr
            else:
                output = Alias(expr, next(context.ids), f"key{len(hidden)}")
            hidden.append(output)
            refs[raw] = _ref(output)
        keys.append(refs.get(raw, expr))
    plan = Project(plan, (*visible, *hidden))
    plan = order(plan, ordering, keys)
    if hidden:
        plan = Project(plan, tuple(map(_ref, visible)))
    return bind_limit(select, context, plan)


def _keys_over(select: exp.Expr, context: Context, ordering: Ordering, refs: Mapping[Expr, ColumnRef]) -> list[Expr]:
    """Sort keys computed only from the select list: DISTINCT leaves no other columns."""
    keys = [_over_outputs(expr, refs) for expr in ordering.exprs]
    known = {ref.column_id for ref in refs.values()}
    for key in keys:
        if column_ids(key) - known or any(isinstance(node, (AggregateCall, WindowCall)) for node in key.walk()):
            message = "with SELECT DISTINCT, the ORDER BY expressions must be in the select list"
            raise context.error(message, select.args.get("order"))
    return keys


def _over_outputs(expr: Expr, refs: Mapping[Expr, ColumnRef]) -> Expr:
    return refs[expr] if expr in refs else expr.map_children(lambda child: _over_outputs(child, refs))


def _outputs(
    context: Context, items: Sequence[Item], exprs: Sequence[Expr], own: frozenset[int]
) -> Iterator[Alias | ColumnRef]:
    """Output columns.

    A column of the plan keeps its id at its first use, if it keeps its name. Other items get a new id, also columns of
    an outer query: under their own id they would count as outputs of this plan.
    """
    seen: set[int] = set()
    for item, expr in zip(items, exprs, strict=False):
        if (
            isinstance(expr, ColumnRef)
            and expr.name == item.name
            and expr.column_id in own
            and expr.column_id not in seen
        ):
            seen.add(expr.column_id)
            yield expr
        else:
            yield Alias(expr, next(context.ids), item.name)


def _ref(output: Alias | ColumnRef) -> ColumnRef:
    return output.ref if isinstance(output, Alias) else output
