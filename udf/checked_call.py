"""Calls of scalar functions with a check of the result's size before the result is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.udf.batch_size import LOOKED_AT
from sharkpy.udf.duckdb_sql import integer_value, quote_string
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.lower import lower_scalar
from sharkpy.udf.size_rules import (
    CARRIERS,
    COVERING,
    GUESSED,
    ITEM_OF,
    MOST_STEPS,
    SIZE_RULES,
    WORK_RULES,
    SizeRule,
    largest_argument,
)
from sharkpy.udf.value_limit import SMALL_BYTES
from sharkpy.udf.value_size import COLUMN, Extent, Sized, has_extent, leaf_extent
from sharkpy.values.types import DataType

_MOST_GUESSES = 2


def lower_checked(row: ScalarFunction, args: Sequence[Sized], result: DataType) -> Sized:
    """Return SQL of a call, which raises an error if the result is too large or too much work, and the
    result's extent.
    """
    is_checked = row.name in WORK_RULES or row.name in SIZE_RULES
    hidden = [index for index, arg in enumerate(args) if is_checked and _is_hidden(arg)]
    if hidden:
        return _bound(row, args, hidden, result)
    if row.name in WORK_RULES:
        args = [_with_work_check(row, args), *args[1:]]
    if not has_extent(result):
        return Sized(_lowered(row, args, result), result)
    if row.name in ITEM_OF:
        return _item_of(row, args, result)
    rule = SIZE_RULES.get(row.name)
    if rule is not None:
        return _checked(row, rule, args, result)
    is_known = all(arg.extent is not None for arg in args if has_extent(arg.dtype))
    extent = _guessed(row, args, largest_argument(args)) if is_known else None
    return Sized(_lowered(row, args, result), result, _carried(extent))


def _lowered(row: ScalarFunction, args: Sequence[Sized], result: DataType) -> str:
    return lower_scalar(row, [arg.sql for arg in args], [arg.dtype for arg in args], result)


def _guessed(row: ScalarFunction, args: Sequence[Sized], extent: Extent) -> Extent:
    within = max((arg.extent.guesses for arg in args if arg.extent is not None), default=0)
    return replace(extent, guesses=within + (extent.grows and row.name in GUESSED))


def _carried(extent: Extent | None) -> Extent | None:
    """Return the extent for callers: None if its SQL would make theirs too long, or its bound is too inexact."""
    is_kept = extent is not None and not extent.is_long and extent.guesses <= _MOST_GUESSES
    return replace(extent, grows=False) if extent is not None and is_kept else None


def _item_of(row: ScalarFunction, args: Sequence[Sized], result: DataType) -> Sized:
    """Size of an item. An item of a column is measured itself. An item of another value has at most the value's
    content.
    """
    sql = _lowered(row, args, result)
    if row.name == "aggregate" or args[0].extent is None:
        return Sized(sql, result)
    is_column = "(" not in args[0].sql and all(arg.is_repeatable for arg in args)
    return Sized(sql, result, _carried(leaf_extent(sql, result) if is_column else replace(args[0].extent, exact="")))


def _checked(row: ScalarFunction, rule: SizeRule, args: Sequence[Sized], result: DataType) -> Sized:
    extent = _guessed(row, args, rule(args))
    if rule in COVERING and extent.grows:
        args = [replace(arg, sql=arg.unchecked) if arg.unchecked and _is_varying(arg) else arg for arg in args]
    unchecked = _lowered(row, args, result)
    checked = extent.checked(result)
    if not extent.grows or (not checked.content.terms and checked.content.fixed <= SMALL_BYTES):
        return Sized(unchecked, result, _carried(extent))
    return Sized(_with_check(row, checked, args, result), result, _carried(extent), unchecked)


def _is_varying(arg: Sized) -> bool:
    """Return whether DuckDB must read rows to compute an argument, so that it runs after the check of the call."""
    return bool(COLUMN.search(arg.sql))


def _with_check(row: ScalarFunction, extent: Extent, args: Sequence[Sized], result: DataType) -> str:
    """Return the call with the check in the argument that carries it.

    DuckDB computes constants from the inside, whatever condition surrounds them.
    """
    carrier = CARRIERS.get(row.name)
    if carrier is None:
        return with_size_check(row.name, extent, _lowered(row, args, result))
    carried = [
        replace(arg, sql=with_size_check(row.name, extent, arg.sql)) if at == carrier else arg
        for at, arg in enumerate(args)
    ]
    return _lowered(row, carried, result)


def with_size_check(name: str, extent: Extent, sql: str) -> str:
    """Return `sql`, or an error if the extent exceeds the limit."""
    size = extent.content.sql
    is_near = bool(extent.exact) or not extent.guesses
    # Bounds that may be too inexact do not refuse a batch of rows.
    test = f"{size} > least({LOOKED_AT}, shark_value_limit())" if is_near else f"{size} > shark_value_limit()"
    if extent.exact:
        size = f"least({size}, {extent.exact})"
    # DuckDB computes THEN only for rows that need it: without large values the kernel is not called.
    is_refused = f"CASE WHEN {test} THEN shark_too_large({quote_string(name)}, {size}) ELSE false END"
    return f"CASE WHEN {is_refused} THEN NULL ELSE {sql} END"


def _with_work_check(row: ScalarFunction, args: Sequence[Sized]) -> Sized:
    """Return the first argument, or an error if the call would take too many steps."""
    work = WORK_RULES[row.name](args)
    if not work.terms and work.fixed <= MOST_STEPS:
        return args[0]
    error = f"shark_too_much({quote_string(row.name)}, {work.sql})"
    return replace(args[0], sql=f"CASE WHEN {work.sql} > {MOST_STEPS} THEN {error} ELSE {args[0].sql} END")


def _is_hidden(arg: Sized) -> bool:
    """Return whether the size of an argument is unknown before it is computed, and computing it twice is too
    expensive.
    """
    if arg.sql.startswith("lambda "):
        return False
    if has_extent(arg.dtype):
        return arg.extent is None
    return not (integer_value(arg.sql) is not None or arg.is_repeatable)


def _bound(row: ScalarFunction, args: Sequence[Sized], hidden: Sequence[int], result: DataType) -> Sized:
    """Return the call with the hidden arguments computed first, as fields of a variable."""
    fields = ", ".join(f"a{index} := {args[index].sql}" for index in hidden)
    name = f"let{len(fields)}"
    given = list(args)
    for index in hidden:
        sql, dtype = f"{name}.a{index}", args[index].dtype
        given[index] = Sized(sql, dtype, leaf_extent(sql, dtype) if has_extent(dtype) else None)
    body = lower_checked(row, given, result)
    return Sized(f"list_transform([struct_pack({fields})], lambda {name}: {body.sql})[1]", result)
