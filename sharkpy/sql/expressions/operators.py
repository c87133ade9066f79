"""Operators: connectives, comparisons, IN, BETWEEN, CASE, arithmetic, LIKE and RLIKE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import SharkError, TypeMismatchError
from sharkpy.plan.expr import Call, Expr, Literal, membership, string_literal
from sharkpy.sql.expressions import bind_subquery
from sharkpy.sql.expressions.arithmetic import (
    BALANCED_FROM,
    MOST_LEVELS,
    MOST_OPERATORS,
    balance_chains,
    day_arithmetic,
    interval_arithmetic,
)
from sharkpy.sql.expressions.bind_function import call_scalar
from sharkpy.sql.expressions.bind_subquery import bind_quantified, quantified_query
from sharkpy.sql.expressions.coercion import cast, comparable, unify, with_minimal_literals
from sharkpy.sql.expressions.literal_lists import in_integer_list, literals_of_list
from sharkpy.sql.grammar.literal_parser import LiteralList
from sharkpy.values.types import BOOLEAN, NULL, STRING, MapType, is_interval, is_nested, is_string

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe",
}
_ORDERED = {"lt": "lt", "le": "lt", "gt": "gt", "ge": "gt"}
"""Comparison of tuples -> comparison of all their pairs but the last."""
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "div",
    exp.Mod: "mod",
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseXor: "bit_xor",
}


def bind_connective(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind AND and OR. A chain of them does not recurse."""
    kind = type(node)
    operands: list[exp.Expr] = []
    current = node
    while type(current) is kind:
        operands.append(current.expression)
        current = current.this
    operands.append(current)
    terms = [binder.predicate(operand) for operand in reversed(operands)]
    return connect("and" if kind is exp.And else "or", terms)


def connect(function: str, terms: Sequence[Expr]) -> Expr:
    """Join `terms` with `function`, "and" or "or"."""
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) + 1) // 2 if len(terms) >= BALANCED_FROM else len(terms) - 1
    left, right = connect(function, terms[:middle]), connect(function, terms[middle:])
    return Call(function, (left, right), BOOLEAN)


def negate(expr: Expr) -> Expr:
    return Call("not", (expr,), BOOLEAN)


def bind_not(binder: ExprBinder, node: exp.Expr) -> Expr:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        return Call("is_not_null", (binder.bind(node.this.this),), BOOLEAN)
    return negate(binder.predicate(node.this))


def bind_comparison(binder: ExprBinder, node: exp.Expr) -> Expr:
    function = _COMPARISONS[type(node)]
    if (quantified := quantified_query(node.expression)) is not None:
        return bind_quantified(binder, function, node, *quantified)
    if isinstance(node.this, exp.Tuple) or isinstance(node.expression, exp.Tuple):
        return _compare_tuples(binder, function, node)
    return compare(binder, function, (binder.bind(node.this), binder.bind(node.expression)), node)


def _compare_tuples(binder: ExprBinder, function: str, node: exp.Expr) -> Expr:
    """Compare tuples. (a, b) = (c, d) compares each pair. (a, b) < (c, d) compares the first pair that differs."""
    pairs = _tuple_pairs(binder, node.this, node.expression, node)
    if function in _ORDERED:
        return _order_tuples(binder, function, pairs, node)
    one = "eq" if function == "ne" else function
    equal = connect("and", [compare(binder, one, pair, node) for pair in pairs])
    return negate(equal) if function == "ne" else equal


def _tuple_pairs(binder: ExprBinder, left: exp.Expr, right: exp.Expr, node: exp.Expr) -> list[tuple[Expr, Expr]]:
    sides = [side.expressions if isinstance(side, exp.Tuple) else [] for side in (left, right)]
    if len(sides[0]) != len(sides[1]):
        message = f"a tuple of {max(map(len, sides))} values cannot be compared with one of {min(map(len, sides)) or 1}"
        raise binder.context.error(message, node, TypeMismatchError)
    return [(binder.bind(one), binder.bind(other)) for one, other in zip(*sides, strict=True)]


def _order_tuples(binder: ExprBinder, function: str, pairs: Sequence[tuple[Expr, Expr]], node: exp.Expr) -> Expr:
    """Order tuples: a < c OR (a = c AND b < d), under three-valued logic."""
    result = compare(binder, function, pairs[-1], node)
    for pair in reversed(pairs[:-1]):
        rest = connect("and", [compare(binder, "eq", pair, node), result])
        result = connect("or", [compare(binder, _ORDERED[function], pair, node), rest])
    return result


def compare(binder: ExprBinder, function: str, operands: Sequence[Expr], node: exp.Expr) -> Expr:
    """Return a comparison, IN or BETWEEN, with its operands cast to their common type."""
    cast_operands = comparable(operands)
    if cast_operands is None or isinstance(cast_operands[0].dtype, MapType):
        types = " and ".join(dict.fromkeys(str(operand.dtype) for operand in operands))
        raise binder.context.error(f"{types} cannot be compared", node, TypeMismatchError)
    if any(is_nested(operand.dtype) for operand in operands) and function not in ("eq", "ne", "eq_null_safe", "in"):
        raise binder.context.error(f"{cast_operands[0].dtype} has no order", node, TypeMismatchError)
    if function == "in":
        return membership(cast_operands[0], cast_operands[1:])
    return Call(function, cast_operands, BOOLEAN)


def bind_distinct_from(binder: ExprBinder, node: exp.Expr) -> Expr:
    return negate(compare(binder, "eq_null_safe", (binder.bind(node.this), binder.bind(node.expression)), node))


def bind_between(binder: ExprBinder, node: exp.Expr) -> Expr:
    if isinstance(node.this, exp.Tuple):
        low, high = (_tuple_pairs(binder, node.this, node.args[key], node) for key in ("low", "high"))
        return connect("and", [_order_tuples(binder, "ge", low, node), _order_tuples(binder, "le", high, node)])
    operands = tuple(binder.bind(node.args[key]) for key in ("this", "low", "high"))
    return compare(binder, "between", operands, node)


def bind_in(binder: ExprBinder, node: exp.Expr) -> Expr:
    if node.args.get("query"):
        return bind_subquery.bind_in_subquery(binder, node)
    binder.context.only(node, "this", "expressions")
    if isinstance(node.this, exp.Tuple):
        return _bind_tuple_in(binder, node)
    value = binder.bind(node.this)
    if isinstance(node.expressions[0], LiteralList):
        if (found := in_integer_list(value, node.expressions[0].name)) is not None:
            return found
        items = literals_of_list(binder.context, node.expressions[0])
    else:
        items = list(map(binder.bind, node.expressions))
    texts = [item for item in items if is_string(item.dtype)]
    others = [item for item in items if not is_string(item.dtype) and item.dtype != NULL]
    if not texts or not others or is_nested(value.dtype):
        return compare(binder, "in", [value, *items], node)
    # Each item is compared as with `=`: 'b' IN ('b', 1) is true.
    nulls = [item for item in items if item.dtype == NULL]
    return connect("or", [compare(binder, "in", [value, *group, *nulls], node) for group in (texts, others)])


def _bind_tuple_in(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind (a, b) IN ((1, 2), (3, 4)) as a disjunction of conjunctions."""
    left = [binder.bind(item) for item in node.this.expressions]
    choices = []
    for item in node.expressions:
        if not isinstance(item, exp.Tuple) or len(item.expressions) != len(left):
            raise binder.context.error(f"a tuple of {len(left)} values expected in IN", item, TypeMismatchError)
        right = [binder.bind(value) for value in item.expressions]
        terms = [compare(binder, "eq", pair, item) for pair in zip(left, right, strict=True)]
        choices.append(connect("and", terms))
    return connect("or", choices)


def bind_is(binder: ExprBinder, node: exp.Expr) -> Expr:
    operand = binder.bind(node.this)
    if isinstance(node.expression, exp.Null):
        result: Expr = Call("is_null", (operand,), BOOLEAN)
        return Call("is_not_null", (operand,), BOOLEAN) if node.args.get("negate") else result
    if not isinstance(node.expression, exp.Boolean):
        raise binder.context.unsupported("IS with something else than NULL, TRUE or FALSE", node)
    result = Call(
        "eq_null_safe", (binder.boolean(operand, node), Literal(bool(node.expression.this), BOOLEAN)), BOOLEAN
    )
    return negate(result) if node.args.get("negate") else result


def bind_case(binder: ExprBinder, node: exp.Expr) -> Expr:
    operand = binder.bind(node.this) if node.this is not None else None
    conditions: list[Expr] = []
    values: list[Expr] = []
    for branch in node.args["ifs"]:
        if operand is None:
            conditions.append(binder.predicate(branch.this))
        else:
            conditions.append(compare(binder, "eq", (operand, binder.bind(branch.this)), branch))
        values.append(binder.bind(branch.args["true"]))
    default = node.args.get("default")
    values.append(binder.bind(default) if default is not None else Literal(None, NULL))
    return case_when(binder, conditions, values, node)


def case_when(binder: ExprBinder, conditions: Sequence[Expr], values: Sequence[Expr], node: exp.Expr) -> Expr:
    """Return CASE over conditions. `values` has one more item than `conditions`, the ELSE."""
    unified = unify(with_minimal_literals(values))
    if unified is None:
        types = ", ".join(dict.fromkeys(str(value.dtype) for value in values))
        raise binder.context.error(f"the values of CASE have no common type: {types}", node, TypeMismatchError)
    pairs = [item for pair in zip(conditions, unified, strict=False) for item in pair]
    return Call("case_when", (*pairs, unified[-1]), unified[0].dtype)


def bind_arithmetic(binder: ExprBinder, node: exp.Expr) -> Expr:
    operators: list[exp.Expr] = []
    first = node
    while type(first) in _ARITHMETIC or type(first) is exp.Paren:
        if type(first) is not exp.Paren:
            operators.append(first)
        first = first.this
    if len(operators) > MOST_OPERATORS:
        raise _too_long(binder, node)
    made = binder.bind(first)
    for operator in reversed(operators):
        made = _bind_pair(binder, operator, made, binder.bind(operator.expression))
    if len(operators) < BALANCED_FROM:
        return made
    made, levels = balance_chains(made)
    if levels > MOST_LEVELS:
        raise _too_long(binder, node)
    return made


def _too_long(binder: ExprBinder, node: exp.Expr) -> SharkError:
    message = (
        f"the expression is nested too deeply: a chain has more than {MOST_OPERATORS:,} operators, or more than "
        f"{MOST_LEVELS:,} that are evaluated in order"
    )
    return binder.context.error(message, node, hint="write it as several columns of a subquery", sqlstate="54001")


def _bind_pair(binder: ExprBinder, node: exp.Expr, left: Expr, right: Expr) -> Expr:
    function = _ARITHMETIC[type(node)]
    if is_interval(left.dtype) or is_interval(right.dtype):
        result = interval_arithmetic(function, left, right)
        if result is None:
            message = f"{node.key.upper()} is not defined for {left.dtype} and {right.dtype}"
            raise binder.context.error(message, node, TypeMismatchError)
        return result
    if (shifted := day_arithmetic(function, left, right)) is not None:
        return shifted
    return call_scalar(binder, function, with_minimal_literals((left, right)), node)


def bind_bitwise_not(binder: ExprBinder, node: exp.Expr) -> Expr:
    return call_scalar(binder, "bit_not", (binder.bind(node.this),), node)


def bind_concat(binder: ExprBinder, node: exp.Expr) -> Expr:
    operands: list[exp.Expr] = []
    current = node
    while isinstance(current, exp.DPipe):
        operands.append(current.expression)
        current = current.this
    operands.append(current)
    return call_scalar(binder, "concat", tuple(map(binder.bind, reversed(operands))), node)


def bind_adjacent_strings(_binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind adjacent strings, 'a' 'b', as one string."""
    return Literal("".join(item.this for item in node.expressions), STRING)


_ESCAPE = "\\"
"""Escape character of Hive's LIKE."""
_QUANTIFIERS: dict[type[exp.Expr], str] = {exp.Any: "likeany", exp.All: "likeall"}


def bind_like(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind value [NOT] LIKE | RLIKE pattern, and value [NOT] LIKE ANY | ALL (pattern, …).

    NOT negates the whole predicate.
    """
    binder.context.only(node, "this", "expression", "negate")
    function = "like" if isinstance(node, exp.Like) else "rlike"
    quantifier = _QUANTIFIERS.get(type(node.expression))
    if quantifier is None:
        result = _matches(binder, function, node, binder.bind(node.expression))
    elif function == "rlike":
        raise binder.context.error("RLIKE takes one pattern: ANY and ALL are for LIKE", node.expression)
    else:
        patterns = node.expression.this
        items = patterns.expressions if isinstance(patterns, exp.Tuple) else [patterns]
        if any(isinstance(item.unnest(), exp.Query) for item in items):
            raise binder.context.unsupported("LIKE ANY or ALL of a subquery", node)
        result = _matches(binder, quantifier, node, *map(binder.bind, items))
    return negate(result) if node.args.get("negate") else result


def bind_escape(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind value LIKE 'pattern' ESCAPE 'c'. The pattern is rewritten with Hive's escape, a backslash."""
    like, escape = node.this, node.expression
    if not isinstance(like, exp.Like) or type(like.expression) in _QUANTIFIERS:
        raise binder.context.error("ESCAPE is for LIKE with one pattern", node)
    if not isinstance(escape, exp.Literal) or len(escape.this) != 1:
        raise binder.context.error("ESCAPE takes one character in quotes", node, sqlstate="22019")
    pattern = binder.bind(like.expression)
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise binder.context.unsupported("ESCAPE with a pattern that is not a constant", node)
    result = _matches(binder, "like", like, string_literal(_with_backslashes(binder, pattern.value, escape)))
    return negate(result) if like.args.get("negate") else result


def _with_backslashes(binder: ExprBinder, pattern: str, escape: exp.Expr) -> str:
    pieces: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character != escape.this:
            pieces.append(_ESCAPE * 2 if character == _ESCAPE else character)
            continue
        following = next(characters, "")
        if following not in ("%", "_", escape.this):
            message = f'the escape character "{escape.this}" must be followed by %, _ or itself'
            raise binder.context.error(message, escape, sqlstate="22025")
        pieces.append(f"{_ESCAPE}{following}" if following in ("%", "_", _ESCAPE) else following)
    return "".join(pieces)


def _matches(binder: ExprBinder, function: str, node: exp.Expr, *patterns: Expr) -> Expr:
    operands = (binder.bind(node.this), *patterns)
    for operand in operands:
        if is_nested(operand.dtype):
            message = f"{function.upper()} needs strings, {operand} is {operand.dtype}"
            raise binder.context.error(message, node, TypeMismatchError)
    return Call(function, tuple(cast(operand, STRING) for operand in operands), BOOLEAN)
