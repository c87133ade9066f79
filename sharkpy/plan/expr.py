"""Bound expressions: typed, with names resolved to column ids and all implicit casts explicit.

A column is identified only by its `column_id`, which is unique in a statement. So a rule may move an expression to any
node whose children produce its columns. Expressions that hold a plan are in `subquery.py`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import ClassVar

from sharkpy.base.records import dataclass
from sharkpy.base.tree import TreeNode
from sharkpy.plan.arrow_data import ConstantSet
from sharkpy.udf.aggregate_states import AggregateForm
from sharkpy.udf.user.function import shown_call, shown_name
from sharkpy.values.types import BOOLEAN, INTERVAL_YEAR_MONTH, DataType, StringType

PythonValue = (
    None | bool | int | float | str | bytes | Decimal | datetime.date | datetime.datetime | list | dict | tuple  # type: ignore[type-arg]
)


class Expr(TreeNode["Expr"]):
    """A value per row. Every expression has a `dtype`. `str()` returns its label, which is used everywhere."""

    __slots__ = ()
    family: ClassVar[type]

    @property
    def dtype(self) -> DataType:
        raise AttributeError(f"{type(self).__name__} has no type")


Expr.family = Expr


@dataclass(frozen=True, slots=True)
class ColumnRef(Expr):
    """The column `column_id`. `name` is only for people."""

    column_id: int
    name: str
    dtype: DataType

    def holding(self, expr: Expr) -> Alias:
        """Return an expression under this column's id and name."""
        return Alias(expr, self.column_id, self.name)

    def __str__(self) -> str:
        return f"{self.name}#{self.column_id}"


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant as its Python value: date, datetime without a zone, Decimal; intervals as int (see types)."""

    value: PythonValue
    dtype: DataType

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return repr(self.value)
        return "NULL" if self.value is None else str(self.value)

    def __hash__(self) -> int:
        return hash((str(self.value), self.dtype))


TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


@dataclass(frozen=True, slots=True)
class Alias(Expr):
    """`expr` under a new column id, as projections and aggregates output it."""

    expr: Expr
    column_id: int
    name: str

    @property
    def dtype(self) -> DataType:
        return self.expr.dtype

    @property
    def ref(self) -> ColumnRef:
        return ColumnRef(self.column_id, self.name, self.expr.dtype)

    def __str__(self) -> str:
        return f"{self.expr} AS {self.name}#{self.column_id}"


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """CAST with Hive's rules: a value that does not fit becomes NULL (integers wrap)."""

    expr: Expr
    dtype: DataType

    def __str__(self) -> str:
        return f"cast({self.expr} as {self.dtype})"


_INFIX = {
    "and": "AND",
    "or": "OR",
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq_null_safe": "<=>",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "mod": "%",
    "like": "LIKE",
    "rlike": "RLIKE",
}


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A scalar function or operator of the registry, by its canonical name. Arguments are already cast.

    Operators are functions: eq ne lt le gt ge eq_null_safe and or not add subtract multiply divide mod div negate like
    rlike in(value, item…) between is_null is_not_null concat case_when(cond, value, …, else) element_at(array|map, key)
    field(struct, literal name).
    """

    function: str
    args: tuple[Expr, ...]
    dtype: DataType

    def __str__(self) -> str:
        if self.function in _INFIX and len(self.args) == 2:
            return f"({self.args[0]} {_INFIX[self.function]} {self.args[1]})"
        return shown_call(self.function, ", ".join(map(str, self.args)))


@dataclass(frozen=True, slots=True)
class InSet(Expr):
    """`value IN (constants)` over many constants of the value's type, under three-valued logic; see `membership`.

    `is_in_call`: it is in a place that allows no query, such as the body of a Lambda.
    """

    value: Expr
    constants: ConstantSet
    is_in_call: bool = False

    @property
    def dtype(self) -> DataType:
        return BOOLEAN

    def __str__(self) -> str:
        return f"({self.value} IN {self.constants})"


@dataclass(frozen=True, slots=True)
class LambdaVariable(Expr):
    """A variable of an enclosing Lambda. It is not a column, so it is not among the columns that an expression uses.

    `is_index`: it counts the items from 0.
    """

    variable_id: int
    name: str
    dtype: DataType
    is_index: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Lambda(Expr):
    """`(x, y) -> body`, an argument of a higher-order function. Its type is the type of the body."""

    variables: tuple[LambdaVariable, ...]
    body: Expr

    @property
    def dtype(self) -> DataType:
        return self.body.dtype

    def __str__(self) -> str:
        names = ", ".join(map(str, self.variables))
        return f"{f'({names})' if len(self.variables) > 1 else names} -> {self.body}"


@dataclass(frozen=True, slots=True)
class AggregateCall(Expr):
    """An aggregate function over the rows of a group. `count()` without arguments counts rows.

    With a `form`, the call builds or reads states of the form's function. Then `function` is the form's name.
    """

    function: str
    args: tuple[Expr, ...]
    dtype: DataType
    distinct: bool = False
    filter: Expr | None = None
    form: AggregateForm | None = None

    @property
    def base(self) -> str:
        """The registry key of the computed function, for any form."""
        return self.function if self.form is None else self.form.function

    def __str__(self) -> str:
        distinct = "DISTINCT " if self.distinct else ""
        where = f" FILTER (WHERE {self.filter})" if self.filter else ""
        return f"{shown_name(self.function)}({distinct}{', '.join(map(str, self.args)) or '*'}){where}"


@dataclass(frozen=True, slots=True)
class SortKey(Expr):
    """One key of an ordering. Hive's default: ascending with nulls first, descending with nulls last."""

    expr: Expr
    ascending: bool = True
    nulls_first: bool = True

    @property
    def dtype(self) -> DataType:
        return self.expr.dtype

    def __str__(self) -> str:
        nulls = "" if self.nulls_first == self.ascending else f" NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"{self.expr} {'ASC' if self.ascending else 'DESC'}{nulls}"


@dataclass(frozen=True, slots=True)
class FrameInterval:
    """The distance of a RANGE frame's bound in time: months, or microseconds, by the type of the interval."""

    amount: int
    dtype: DataType

    def __lt__(self, other: int) -> bool:
        return self.amount < other

    def __abs__(self) -> FrameInterval:
        return FrameInterval(abs(self.amount), self.dtype)

    def __str__(self) -> str:
        return f"INTERVAL {self.amount} {'MONTH' if self.dtype == INTERVAL_YEAR_MONTH else 'MICROSECOND'}"


FrameBound = int | float | Decimal | FrameInterval | None


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """ROWS, RANGE or GROUPS between two bounds. A bound is an offset (negative: preceding) or None (unbounded)."""

    unit: str
    start: FrameBound
    end: FrameBound

    @property
    def has_distance(self) -> bool:
        """Whether the bounds are computed by adding a distance to the ordering key or subtracting it."""
        return self.unit == "RANGE" and any(bound is not None and bound != 0 for bound in (self.start, self.end))

    def __str__(self) -> str:
        def bound(offset: FrameBound, unbounded: str) -> str:
            if offset is None:
                return f"UNBOUNDED {unbounded}"
            if offset == 0:
                return "CURRENT ROW"
            return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"

        return f"{self.unit} BETWEEN {bound(self.start, 'PRECEDING')} AND {bound(self.end, 'FOLLOWING')}"


@dataclass(frozen=True, slots=True)
class WindowCall(Expr):
    """A window function (rank, lead and so on) or aggregate over a window. `frame` None is the default frame."""

    function: str
    args: tuple[Expr, ...]
    partition_by: tuple[Expr, ...]
    order_by: tuple[SortKey, ...]
    frame: WindowFrame | None
    dtype: DataType
    distinct: bool = False
    ignore_nulls: bool = False

    def __str__(self) -> str:
        parts = []
        if self.partition_by:
            parts.append(f"PARTITION BY {', '.join(map(str, self.partition_by))}")
        if self.order_by:
            parts.append(f"ORDER BY {', '.join(map(str, self.order_by))}")
        if self.frame:
            parts.append(str(self.frame))
        return f"{shown_name(self.function)}({', '.join(map(str, self.args))}) OVER ({' '.join(parts)})"


_BALANCED_FROM = 16
"""Number of terms from which a conjunction becomes a balanced tree, so that no phase recurses once per term."""


def conjuncts(predicate: Expr | None) -> tuple[Expr, ...]:
    """Return the terms of a conjunction; none for None and TRUE."""
    match predicate:
        case None | Literal(True):
            return ()
        case Call("and", args):
            return tuple(term for arg in args for term in conjuncts(arg))
    return (predicate,)


def conjunction(terms: Iterable[Expr]) -> Expr | None:
    """Join the terms by AND, in order. Return None without terms. Many terms form a balanced tree."""
    return _joined("and", list(terms))


def disjunction(terms: Iterable[Expr]) -> Expr | None:
    """Join the terms by OR, as `conjunction` joins them by AND."""
    return _joined("or", list(terms))


def _joined(function: str, terms: list[Expr]) -> Expr | None:
    if len(terms) <= 1:
        return terms[0] if terms else None
    middle = (len(terms) + 1) // 2 if len(terms) >= _BALANCED_FROM else len(terms) - 1
    sides = (_joined(function, terms[:middle]), _joined(function, terms[middle:]))
    return Call(function, tuple(side for side in sides if side is not None), BOOLEAN)


_SET_FROM = 1_000
"""Number of items from which IN uses a set: DuckDB's planning time grows with the square of their number."""


def membership(value: Expr, items: Sequence[Expr]) -> Expr:
    """Return `value IN (items)` for items of one type. Many constants become an InSet."""
    if len(items) >= _SET_FROM and all(isinstance(item, Literal) for item in items):
        constants = ConstantSet.of_values(value.dtype, [item.value for item in items if isinstance(item, Literal)])
        if constants is not None:
            return InSet(value, constants)
    return Call("in", (value, *items), BOOLEAN)


def is_true(predicate: Expr | None) -> bool:
    """Return whether `predicate` is TRUE or None, which means TRUE."""
    return predicate is None or (isinstance(predicate, Literal) and predicate.value is True)


def string_literal(value: str) -> Literal:
    return Literal(value, StringType())
