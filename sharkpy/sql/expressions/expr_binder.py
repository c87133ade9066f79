"""Binder of sqlglot expressions: a table of node types, each with its function in a bind_* module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from sqlglot import exp

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import TypeMismatchError
from sharkpy.base.records import dataclass
from sharkpy.plan.expr import Expr
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import (
    aggregate_clauses,
    bind_function,
    bind_literal,
    bind_name,
    bind_subquery,
    bind_window,
    operators,
)
from sharkpy.sql.expressions.coercion import as_boolean
from sharkpy.sql.scope import Scope

MAX_DEPTH = 400
"""Maximum nesting of operators in an expression. It limits the recursion of every later phase."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Clause of an expression, and whether it may have aggregates and window functions."""

    name: str
    aggregates: bool = False
    windows: bool = False


SELECT = Clause("SELECT", aggregates=True, windows=True)
WHERE = Clause("WHERE")
JOIN_ON = Clause("JOIN ON")
GROUP_BY = Clause("GROUP BY")
HAVING = Clause("HAVING", aggregates=True)
LAMBDA = Clause("a function in an argument")
QUALIFY = Clause("QUALIFY", aggregates=True, windows=True)
ORDER_BY = Clause("ORDER BY", aggregates=True, windows=True)
LATERAL_VIEW = Clause("LATERAL VIEW")
VALUES = Clause("VALUES")
FILTER = Clause("FILTER")
AGGREGATE = Clause("an aggregate function")
WINDOW = Clause("a window function", aggregates=True)
GENERATE = Clause("an argument of GENERATE")


@dataclass(frozen=True, slots=True)
class ExprBinder:
    """Binder of the expressions of one clause over one scope.

    `aliases` are the select items by name, None for a name of several items. ORDER BY looks a name up in them first,
    GROUP BY and HAVING last.
    """

    context: Context
    scope: Scope
    clause: Clause
    aliases: Mapping[str, Expr | None] = field(default_factory=dict)
    aliases_first: bool = False
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    variables: Mapping[str, Expr] = field(default_factory=dict)
    """Variables of the lambdas around the expression: `x` in `x -> x + 1`."""
    depth: int = 0
    num_functions: int = 0
    """Number of lambdas around the expression."""

    def within(self, clause: Clause) -> ExprBinder:
        """Return a binder for the inside of an aggregate or window function, in which names refer to columns."""
        return replace(self, clause=clause, aliases={}, aliases_first=False)

    def deeper(self) -> ExprBinder:
        """Return a binder one level deeper.

        It is made for every node, and `replace` would take several times as long.
        """
        return ExprBinder(
            self.context,
            self.scope,
            self.clause,
            self.aliases,
            self.aliases_first,
            self.windows,
            self.variables,
            self.depth + 1,
            self.num_functions,
        )

    def bind(self, node: exp.Expr) -> Expr:
        check_cancelled()
        if not self.context.budget.take():
            raise self.context.too_large(node)
        handler = _HANDLERS.get(type(node))
        if handler is None:
            construct, hint = _FOREIGN.get(type(node)) or (node.key.upper().replace("_", " "), None)
            error = self.context.unsupported(construct, node)
            error.hint = hint
            raise error
        if self.depth > MAX_DEPTH:
            message = f"the expression is nested more than {MAX_DEPTH} levels deep"
            raise self.context.error(message, node, sqlstate="54001")
        if type(node) is exp.Paren:
            return self.bind(node.this)
        if type(node) in _LEAVES or node.args.get("this") is None:
            return handler(self, node)
        return handler(self.deeper(), node)

    def predicate(self, node: exp.Expr) -> Expr:
        """Bind an expression as a BOOLEAN."""
        return self.boolean(self.bind(node), node)

    def boolean(self, expr: Expr, node: exp.Expr) -> Expr:
        predicate = as_boolean(expr)
        if predicate is None:
            message = f"{self.clause.name} needs a boolean, and {expr} is {expr.dtype}"
            raise self.context.error(message, node, TypeMismatchError)
        return predicate


_LEAVES = frozenset((exp.Literal, exp.Column))
_FOREIGN: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Star: (
        "* within an expression",
        "write it in a select list, in count(*) or among the arguments of a function",
    ),
    exp.Array: ("[…] without something before it", "write a name as `…`, an array as array(…)"),
    exp.Any: (
        "a comparison with ANY (subquery)",
        "write it on the right of a comparison, before a query in parentheses",
    ),
    exp.All: (
        "a comparison with ALL (subquery)",
        "write it on the right of a comparison, before a query in parentheses",
    ),
    exp.Alias: ("a name after an argument", "only the fields of struct(x AS name) have names"),
    exp.Order: ("ORDER BY within a call", "sort_array(collect_list(x)) has an order"),
}
"""Constructs of other systems: their names in errors, and a hint that says what to write instead."""

Handler = Callable[[ExprBinder, exp.Expr], Expr]

_HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Column: bind_name.bind_column,
    exp.Dot: bind_name.bind_dot,
    exp.Bracket: bind_name.bind_bracket,
    exp.Literal: bind_literal.bind_literal,
    exp.HexString: bind_literal.bind_bytes,
    exp.Null: bind_literal.bind_null,
    exp.Boolean: bind_literal.bind_boolean,
    exp.Interval: bind_literal.bind_interval,
    exp.Neg: bind_literal.bind_negation,
    exp.Cast: bind_literal.bind_cast,
    exp.And: operators.bind_connective,
    exp.Or: operators.bind_connective,
    exp.Not: operators.bind_not,
    exp.EQ: operators.bind_comparison,
    exp.NEQ: operators.bind_comparison,
    exp.LT: operators.bind_comparison,
    exp.LTE: operators.bind_comparison,
    exp.GT: operators.bind_comparison,
    exp.GTE: operators.bind_comparison,
    exp.NullSafeEQ: operators.bind_comparison,
    exp.NullSafeNEQ: operators.bind_distinct_from,
    exp.Between: operators.bind_between,
    exp.In: operators.bind_in,
    exp.Is: operators.bind_is,
    exp.Like: operators.bind_like,
    exp.RegexpLike: operators.bind_like,
    exp.Escape: operators.bind_escape,
    exp.Case: operators.bind_case,
    exp.Add: operators.bind_arithmetic,
    exp.Sub: operators.bind_arithmetic,
    exp.Mul: operators.bind_arithmetic,
    exp.Div: operators.bind_arithmetic,
    exp.IntDiv: operators.bind_arithmetic,
    exp.Mod: operators.bind_arithmetic,
    exp.BitwiseAnd: operators.bind_arithmetic,
    exp.BitwiseOr: operators.bind_arithmetic,
    exp.BitwiseXor: operators.bind_arithmetic,
    exp.BitwiseNot: operators.bind_bitwise_not,
    exp.DPipe: operators.bind_concat,
    exp.Concat: operators.bind_adjacent_strings,
    exp.Anonymous: bind_function.bind_function,
    exp.Extract: bind_function.bind_extract,
    exp.CurrentDate: bind_function.bind_no_paren,
    exp.CurrentTimestamp: bind_function.bind_no_paren,
    exp.CurrentUser: bind_function.bind_no_paren,
    exp.Filter: bind_function.bind_filter,
    exp.IgnoreNulls: aggregate_clauses.bind_null_treatment,
    exp.RespectNulls: aggregate_clauses.bind_null_treatment,
    exp.WithinGroup: aggregate_clauses.bind_within_group,
    exp.Window: bind_window.bind_window,
    exp.Exists: bind_subquery.bind_exists,
    exp.Subquery: bind_subquery.bind_scalar,
    exp.Select: bind_subquery.bind_scalar,
}
