"""Predicates that pruning understands. Values are Python values of the logical type of the other side."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar.bounds import Bounds, ByteBounds, Mask, NumberBounds
from sharkpy.columnar.domain import Domain, DomainValue, domain_of, to_domain
from sharkpy.columnar.monotone import Monotone, monotone
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsTable
from sharkpy.values import types as t

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
NEGATED: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A monotone function of a column in place of a column; see the table in `sharkpy.columnar.monotone`.

    `argument` is the target type of "cast", the length of "substr" (from 1), the unit of "date_trunc". With a function
    that is not in the table, the predicate is unknown.
    """

    function_name: str
    column: str
    argument: object = None


@dataclass(frozen=True, slots=True)
class Compare:
    column: str | Mapped
    op: Operator
    value: object


@dataclass(frozen=True, slots=True)
class InSet:
    """column IN (values). With None among the values, a miss is NULL."""

    column: str | Mapped
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class LikePrefix:
    """Exactly `column LIKE 'prefix%'`, with a literal prefix."""

    column: str | Mapped
    prefix: str


@dataclass(frozen=True, slots=True)
class IsNull:
    column: str | Mapped


@dataclass(frozen=True, slots=True)
class IsNotNull:
    column: str | Mapped


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    operand: Predicate


@dataclass(frozen=True, slots=True)
class Unknown:
    """A predicate that pruning does not understand."""


Predicate = Compare | InSet | LikePrefix | IsNull | IsNotNull | And | Or | Not | Unknown


# With more values in all sets together, only bounds are used.
_MAX_SET_VALUES = 200_000
_MAX_SINGLE_TESTS = 64

_OPERATORS: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Per block: whether the predicate may be true, and whether it may be false, for some row."""

    may_be_true: Mask
    may_be_false: Mask


@dataclass(frozen=True, slots=True)
class _Operand:
    """A column, or a monotone function of one."""

    column: ColumnTable
    dtype: t.DataType
    bounds: Bounds
    function: Monotone | None

    @property
    def live(self) -> Mask:
        live: Mask = self.column.valid_counts > 0
        return live

    def sets_values(self) -> list[DomainValue] | None:
        """Return the values of the column's distinct sets, after the function, or None if the sets cannot be used."""
        values = self.column.sets.values
        if not values or len(values) > _MAX_SET_VALUES:
            return None
        return list(values) if self.function is None else _map_values(self.function, values)


def prune(stats: StatisticsTable, predicate: Predicate) -> Mask:
    """Return the blocks in which the predicate may be true for some row. A block with a matching row is never
    dropped.
    """
    return _evaluate(stats, predicate).may_be_true & (stats.rows > 0)


def _evaluate(stats: StatisticsTable, predicate: Predicate) -> Verdict:
    match predicate:
        case And(operands):
            return _fold(stats, operands, np.logical_and, np.logical_or)
        case Or(operands):
            return _fold(stats, operands, np.logical_or, np.logical_and)
        case Not(operand):
            inner = _evaluate(stats, operand)
            return Verdict(inner.may_be_false, inner.may_be_true)
        case IsNull(str(name)):
            column = stats.columns[name]
            return Verdict(column.null_counts > 0, column.valid_counts > 0)
        case IsNotNull(str(name)):
            column = stats.columns[name]
            return Verdict(column.valid_counts > 0, column.null_counts > 0)
        case Compare(column, op, value):
            return _compare(stats, column, op, value)
        case InSet(column, values):
            return _in_set(stats, column, values)
        case LikePrefix(column, prefix):
            return _like_prefix(stats, column, prefix)
    return _unknown(stats)


def _unknown(stats: StatisticsTable) -> Verdict:
    everything = np.ones(len(stats), np.bool_)
    return Verdict(everything, everything)


def _fold(stats: StatisticsTable, operands: tuple[Predicate, ...], true: np.ufunc, false: np.ufunc) -> Verdict:
    if not operands:
        empty = np.zeros(len(stats), np.bool_)
        return Verdict(~empty, empty) if true is np.logical_and else Verdict(empty, ~empty)
    verdicts = [_evaluate(stats, operand) for operand in operands]
    return Verdict(
        true.reduce([verdict.may_be_true for verdict in verdicts]),
        false.reduce([verdict.may_be_false for verdict in verdicts]),
    )


def _operand(stats: StatisticsTable, column: str | Mapped) -> _Operand | None:
    name = column.column if isinstance(column, Mapped) else column
    table = stats.columns[name]
    if table.bounds is None:
        return None
    if isinstance(column, str):
        return _Operand(table, table.dtype, table.bounds, None)
    function = monotone(column.function_name, table.dtype, column.argument)
    if function is None:
        return None
    return _Operand(table, function.dtype, function.apply(table.bounds), function)


def operand_bounds(stats: StatisticsTable, column: str | Mapped) -> tuple[ColumnTable, t.DataType, Bounds] | None:
    """Return a column's statistics with the type and bounds of the operand, or None if it has no bounds."""
    operand = _operand(stats, column)
    return None if operand is None else (operand.column, operand.dtype, operand.bounds)


def _map_values(function: Monotone, values: tuple[DomainValue, ...]) -> list[DomainValue] | None:
    if not function.exact:
        return None
    if isinstance(values[0], bytes):
        return [_cut(value, function.characters) for value in values if isinstance(value, bytes)]
    mapped, inside = function.lower(np.array(values))
    return mapped.tolist() if inside.all() else None


def _cut(value: bytes, characters: int | None) -> bytes:
    text = value.decode("utf-8", "surrogateescape")
    return value if characters is None else text[:characters].encode("utf-8", "surrogateescape")


def _verdict(operand: _Operand, true: Mask, false: Mask, test: Callable[[DomainValue], bool] | None) -> Verdict:
    """Refine the verdict of the bounds by the distinct sets, for blocks that have valid values."""
    if test is not None and (values := operand.sets_values()) is not None:
        marks = np.fromiter((test(value) for value in values), np.bool_, len(values))
        nan = operand.column.has_nan
        true = true & (operand.column.sets.refine(marks, true) | nan)
        false = false & (operand.column.sets.refine(~marks, false) | nan)
    live = operand.live
    return Verdict(true & live, false & live)


def _compare(stats: StatisticsTable, column: str | Mapped, op: Operator, value: object) -> Verdict:
    if value is None:
        never = np.zeros(len(stats), np.bool_)
        return Verdict(never, never)
    if (operand := _operand(stats, column)) is None or (bound := to_domain(value, operand.dtype)) is None:
        return _unknown(stats)
    if isinstance(bound, float) and math.isnan(bound):
        return _unknown(stats)
    test = _OPERATORS[op]
    true, false = _may(operand.bounds, op, bound), _may(operand.bounds, NEGATED[op], bound)
    wants_sets = op in ("=", "<>")
    return _verdict(operand, true, false, (lambda item: test(item, bound)) if wants_sets else None)


def _may(bounds: Bounds, op: Operator, value: DomainValue | Fraction) -> Mask:
    match bounds, value:
        case (ByteBounds(), bytes()) | (NumberBounds(), int() | float() | Fraction()):
            pass
        case _:
            return np.ones(len(bounds.unknown), np.bool_)
    match op:
        case "=":
            return bounds.may_eq(value)  # type: ignore[arg-type]
        case "<>":
            return bounds.may_ne(value)  # type: ignore[arg-type]
        case "<":
            return bounds.may_lt(value)  # type: ignore[arg-type]
        case "<=":
            return bounds.may_le(value)  # type: ignore[arg-type]
        case ">":
            return bounds.may_gt(value)  # type: ignore[arg-type]
        case ">=":
            return bounds.may_ge(value)  # type: ignore[arg-type]


def _in_set(stats: StatisticsTable, column: str | Mapped, values: tuple[object, ...]) -> Verdict:
    if (operand := _operand(stats, column)) is None:
        return _unknown(stats)
    known = [to_domain(value, operand.dtype) for value in values if value is not None]
    if any(value is None or (isinstance(value, float) and math.isnan(value)) for value in known):
        return _unknown(stats)
    wanted = {value for value in known if value is not None and not isinstance(value, Fraction)}
    true, false = _may_be_in(operand.bounds, wanted)
    verdict = _verdict(operand, true, false, lambda item: item in wanted)
    if None in values:
        return Verdict(verdict.may_be_true, np.zeros(len(stats), np.bool_))
    return verdict


def _may_be_in(bounds: Bounds, wanted: set[DomainValue]) -> tuple[Mask, Mask]:
    everything = np.ones(len(bounds.unknown), np.bool_)
    if not wanted:
        return np.zeros(len(everything), np.bool_), everything
    if isinstance(bounds, NumberBounds):
        limits = np.iinfo(np.int64)
        if bounds.low.dtype == np.int64:
            wanted = {value for value in wanted if limits.min <= value <= limits.max}  # type: ignore[operator]
        ordered = np.array(sorted(wanted), bounds.low.dtype)
        return bounds.may_be_in(ordered), bounds.may_not_be_in(ordered)
    texts = [value for value in wanted if isinstance(value, bytes)]
    if len(texts) > _MAX_SINGLE_TESTS:
        return bounds.may_ge(min(texts)) & bounds.may_le(max(texts)), everything
    return np.logical_or.reduce([bounds.may_eq(text) for text in texts]), everything


def _like_prefix(stats: StatisticsTable, column: str | Mapped, prefix: str) -> Verdict:
    operand = _operand(stats, column)
    if operand is None or domain_of(operand.dtype) is not Domain.BYTES or not isinstance(operand.bounds, ByteBounds):
        return _unknown(stats)
    head = prefix.encode("utf-8", "surrogatepass")
    true, false = operand.bounds.may_start_with(head), operand.bounds.may_not_start_with(head)
    return _verdict(operand, true, false, lambda item: isinstance(item, bytes) and item.startswith(head))
