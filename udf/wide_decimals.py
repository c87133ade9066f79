"""sum and avg of DECIMALs whose sums may exceed 38 digits. They are NULL then, as in DECIMAL arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sharkpy.udf import decimals
from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import BIGINT, DataType, DecimalType

SAFE_PRECISION = 28
"""DECIMALs of this precision leave ten digits for the number of rows: their sums fit."""
_SMALL_DIGITS = 26
"""Values with up to this number of digits are summed directly, larger ones in parts."""
_LOW_DIGITS = 14
_WHOLE = DecimalType(38, 0)


def is_wide(types: Types) -> bool:
    return isinstance(types[0], DecimalType) and types[0].precision > SAFE_PRECISION


def fits_small_sum(magnitude: int) -> bool:
    """Return whether a sum of `magnitude` units of the last digit fits the first state, which many tasks add up."""
    return len(str(magnitude)) <= _SMALL_DIGITS + 9


def _scale(types: Types) -> int:
    return types[0].scale if isinstance(types[0], DecimalType) else 0


def _is_small(value: str, scale: int) -> str:
    limit = f"CAST('{Decimal(10**_SMALL_DIGITS).scaleb(-scale):f}' AS DECIMAL(38,{scale}))"
    return f"{value} BETWEEN -{limit} AND {limit}"


def _small(args: Sequence[str], types: Types, _result: DataType) -> str:
    small = f"CASE WHEN {_is_small(args[0], _scale(types))} THEN {args[0]} END"
    return f"CAST(sum({DISTINCT}{small}){OVER} AS DECIMAL(38,{_scale(types)}))"


def _part(digits: str) -> Lowering:
    """Return the sum of a part of each large value. `digits` is SQL over its integer part, in {0}."""

    def partial(args: Sequence[str], types: Types, _result: DataType) -> str:
        whole = digits.format(f"CAST({f'trunc({args[0]})' if _scale(types) else args[0]} AS HUGEINT)")
        return f"CAST(sum({DISTINCT}{_if_large(args[0], types, whole)}){OVER} AS DECIMAL(38,0))"

    return partial


def _fraction(args: Sequence[str], types: Types, _result: DataType) -> str:
    scale = _scale(types)
    value = f"CAST({args[0]} - trunc({args[0]}) AS DECIMAL({scale + 1},{scale}))" if scale else "0"
    return f"CAST(sum({DISTINCT}{_if_large(args[0], types, value)}){OVER} AS DECIMAL(38,{scale}))"


def _if_large(value: str, types: Types, part: str) -> str:
    return f"CASE WHEN NOT ({_is_small(value, _scale(types))}) THEN {part} END"


def _total(states: Sequence[str]) -> str:
    """Return text of the sum of all parts, with any number of digits."""
    high = _arithmetic(f"CAST({states[1]} AS VARCHAR)", "*", f"'1{'0' * _LOW_DIGITS}'", 0)
    whole = _arithmetic(high, "+", f"CAST({states[2]} AS VARCHAR)", 0)
    large = _arithmetic(whole, "+", f"CAST({states[3]} AS VARCHAR)", 38)
    return _arithmetic(large, "+", f"CAST(coalesce({states[0]}, 0) AS VARCHAR)", 38)


def _arithmetic(left: str, operator: str, right: str, scale: int) -> str:
    return f"shark_decimal_arithmetic({left}, '{operator}', {right}, 90, {scale})"


def _sum_finish(states: Sequence[str], _types: Types, result: DataType) -> str:
    scale = result.scale if isinstance(result, DecimalType) else 0
    text = f"shark_decimal_arithmetic({_total(states)}, '+', '0', 38, {scale})"
    return f"CASE WHEN {states[1]} IS NULL THEN {states[0]} ELSE CAST({text} AS {duckdb_type(result)}) END"


def _average_finish(states: Sequence[str], _types: Types, result: DataType) -> str:
    if not isinstance(result, DecimalType):
        return "NULL"
    total = f"CASE WHEN {states[1]} IS NULL THEN CAST({states[0]} AS VARCHAR) ELSE {_total(states)} END"
    return decimals.kernel("/", total, states[4], result)


_PARTS: tuple[Lowering, ...] = (
    _small,
    _part(f"{{0}} // CAST(1{'0' * _LOW_DIGITS} AS HUGEINT)"),
    _part(f"{{0}} % CAST(1{'0' * _LOW_DIGITS} AS HUGEINT)"),
    _fraction,
)
_MERGES = ("sum({0})", "sum({1})", "sum({2})", "sum({3})")


def _states(types: Types) -> tuple[DataType, ...]:
    same = DecimalType(38, _scale(types))
    return (same, _WHOLE, _WHOLE, same)


def _complete(finish: Lowering, partials: tuple[Lowering, ...]) -> Lowering:
    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        states = [
            partial.format(*args, distinct=DISTINCT, over=OVER)
            if isinstance(partial, str)
            else partial(args, types, result)
            for partial in partials
        ]
        return finish.format(*states) if isinstance(finish, str) else finish(states, types, result)

    return lower


def wide_sum(row: AggregateFunction) -> AggregateFunction:
    """Return the variant of the row of sum."""
    return AggregateFunction(
        row.name,
        row.arguments,
        row.result,
        _complete(_sum_finish, _PARTS),
        _PARTS,
        _states,
        _MERGES,
        _sum_finish,
    )


def wide_average(row: AggregateFunction) -> AggregateFunction:
    """Return the variant of the row of avg."""
    partials = (*_PARTS, "count({distinct}{0}){over}")
    return AggregateFunction(
        row.name,
        row.arguments,
        row.result,
        _complete(_average_finish, partials),
        partials,
        lambda types: (*_states(types), BIGINT),
        (*_MERGES, "CAST(sum({4}) AS BIGINT)"),
        _average_finish,
    )
