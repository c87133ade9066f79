"""Arithmetic of numbers, times and intervals, and bits of integers.

Integers wrap on overflow. Their `lowering` computes in the next wider type and keeps the low bits. `unchecked` is
DuckDB's own operator in the result's storage, for callers that know that no value exceeds it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import InternalError
from sharkpy.udf import decimals
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.duckdb_sql import duckdb_type, is_nonzero_constant
from sharkpy.udf.function import Lowering, ScalarFunction
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, converts, same_as
from sharkpy.values.common_types import as_decimal, common_type
from sharkpy.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    NULL,
    TIMESTAMP,
    DataType,
    DecimalType,
    StructType,
    is_interval,
    is_numeric,
    is_string,
)


def common_numbers(types: Types) -> Types | None:
    """Return both operand types in the type of the operation. DECIMALs keep their own precision."""
    if len(types) != 2:
        return None
    left, right = (DOUBLE if is_string(dtype) else dtype for dtype in types)
    left, right = (right if left == NULL else left), (left if right == NULL else right)
    if left == NULL:
        return (DOUBLE, DOUBLE)
    if not (is_numeric(left) and is_numeric(right)):
        return None
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        decimal_left, decimal_right = as_decimal(left), as_decimal(right)
        return (decimal_left, decimal_right) if decimal_left and decimal_right else (DOUBLE, DOUBLE)
    target = common_type(left, right)
    return (target, target) if target else None


def both_decimal(left: DataType, right: DataType) -> bool:
    return isinstance(left, DecimalType) and isinstance(right, DecimalType)


def _sum_operands(types: Types) -> Types | None:
    """Numbers, or a time and an interval, or two intervals of one kind."""
    if len(types) == 2:
        left, right = types
        if is_interval(left) and left == right:
            return types
        if is_interval(right) and (is_string(left) or left in (DATE, TIMESTAMP)):
            return (TIMESTAMP if is_string(left) else left, right)
    return common_numbers(types)


def _add_operands(types: Types) -> Types | None:
    if len(types) == 2 and is_interval(types[0]) and not is_interval(types[1]):
        swapped = _sum_operands((types[1], types[0]))
        return None if swapped is None else (swapped[1], swapped[0])
    return _sum_operands(types)


def _subtract_operands(types: Types) -> Types | None:
    if len(types) == 2 and types[0] in (DATE, TIMESTAMP) and types[1] in (DATE, TIMESTAMP):
        return types if types[0] == types[1] else (TIMESTAMP, TIMESTAMP)
    return _sum_operands(types)


def _sum_type(types: Types) -> DataType:
    left, right = types
    if is_interval(left) and is_interval(right):
        return left
    if left in (DATE, TIMESTAMP) and right in (DATE, TIMESTAMP):
        return INTERVAL_DAY_TIME
    if is_interval(left):
        return _sum_type((right, left))
    if is_interval(right):
        return DATE if (left, right) == (DATE, INTERVAL_YEAR_MONTH) else TIMESTAMP
    if isinstance(left, DecimalType) and isinstance(right, DecimalType):
        return decimals.add_type(left, right)
    return left


def _multiply_type(types: Types) -> DataType:
    left, right = types
    return decimals.multiply_type(left, right) if both_decimal(left, right) else left  # type: ignore[arg-type]


def _divide_operands(types: Types) -> Types | None:
    taken = common_numbers(types)
    if taken is None or isinstance(taken[0], DecimalType):
        return taken
    return (DOUBLE, DOUBLE)


def _divide_type(types: Types) -> DataType:
    left, right = types
    return decimals.divide_type(left, right) if both_decimal(left, right) else DOUBLE  # type: ignore[arg-type]


def _mod_type(types: Types) -> DataType:
    left, right = types
    return decimals.remainder_type(left, right) if both_decimal(left, right) else left  # type: ignore[arg-type]


def _interval(sql: str, dtype: DataType) -> str:
    return f"to_months({sql})" if dtype == INTERVAL_YEAR_MONTH else f"to_microseconds({sql})"


def _sum_lowering(operator: str) -> Lowering:
    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        left, right = types
        if is_interval(left) and not is_interval(right):
            return lower((args[1], args[0]), (right, left), result)
        if result == INTERVAL_DAY_TIME and not is_interval(left):
            return _time_difference(args, left)
        if is_interval(right) and not is_interval(left):
            shifted = f"{args[0]} {operator} {_interval(args[1], right)}"
            return f"CAST({shifted} AS DATE)" if result == DATE else f"({shifted})"
        if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
            return decimals.add(operator, args[0], args[1], left, right, result)
        return _integer_operation(operator, args, result)

    return lower


def _time_difference(args: Sequence[str], dtype: DataType) -> str:
    if dtype == DATE:
        return f"(CAST({args[0]} - {args[1]} AS BIGINT) * 86400000000)"
    return f"(epoch_us({args[0]}) - epoch_us({args[1]}))"


def _integer_operation(operator: str, args: Sequence[str], result: DataType) -> str:
    if is_interval(result):
        return f"CAST(({args[0]} {operator} {args[1]}) AS {duckdb_type(result)})"
    if result not in INTEGER_TYPES:
        return f"({args[0]} {operator} {args[1]})"
    name = "HUGEINT" if result == BIGINT else "BIGINT"
    return wrap_integer(f"(CAST({args[0]} AS {name}) {operator} CAST({args[1]} AS {name}))", result)


def _sum_unchecked(operator: str) -> Lowering:
    checked = _sum_lowering(operator)

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if is_numeric(types[0]) and is_numeric(types[1]):
            return f"({args[0]} {operator} {args[1]})"
        return checked(args, types, result) if callable(checked) else checked

    return lower


def _multiply(args: Sequence[str], types: Types, result: DataType) -> str:
    left, right = types
    if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
        return decimals.multiply(args[0], args[1], left, right, result)
    return _integer_operation("*", args, result)


def _divide(args: Sequence[str], types: Types, result: DataType) -> str:
    left, right = types
    if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
        return decimals.divide(args[0], args[1], left, right, result)
    if is_interval(left):
        return f"CAST(round({args[0]} / nullif({args[1]}, 0)) AS {duckdb_type(result)})"
    divisor = args[1] if is_nonzero_constant(args[1]) else f"nullif({args[1]}, 0)"
    return f"({args[0]} / {divisor})"


def _parts_type(types: Types) -> DataType:
    scale = types[0].scale if isinstance(types[0], DecimalType) else 0
    return StructType(("whole", "fraction"), (DecimalType(38, 0), DecimalType(38, scale)))


def _decimal_parts(args: Sequence[str], types: Types, result: DataType) -> str:
    match types[0], result:
        case DecimalType(_, scale), StructType(_, (whole, fraction)):
            kept = f"trunc({args[0]})" if scale else args[0]
            parts = f"whole := CAST({kept} AS {duckdb_type(whole)}), "
            parts += f"fraction := CAST({f'{args[0]} - {kept}' if scale else '0'} AS {duckdb_type(fraction)})"
            return f"CASE WHEN {args[0]} IS NOT NULL THEN struct_pack({parts}) END"
    raise InternalError(f"{types[0]} is not a DECIMAL")


def _mod(args: Sequence[str], types: Types, result: DataType) -> str:
    left, right = types
    if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
        return decimals.remainder(args[0], args[1], left, right, result)
    if result in (FLOAT, DOUBLE):
        return f"({args[0]} % nullif({args[1]}, 0))"
    if is_nonzero_constant(args[1]) and not args[1].startswith("CAST(-"):
        return f"({args[0]} % {args[1]})"
    wide = "HUGEINT" if result == BIGINT else "BIGINT"
    return f"CAST(CAST({args[0]} AS {wide}) % {args[1]} AS {duckdb_type(result)})"


def _div(args: Sequence[str], types: Types, result: DataType) -> str:
    if isinstance(types[0], DecimalType):
        return f"TRY_CAST({decimals.kernel('div', args[0], args[1], DecimalType(38, 0))} AS BIGINT)"
    if result == BIGINT and types[0] in (FLOAT, DOUBLE):
        return f"shark_double_to_bigint({args[0]} / nullif({args[1]}, 0))"
    if is_nonzero_constant(args[1]) and not args[1].startswith("CAST(-"):
        return f"CAST({args[0]} // {args[1]} AS BIGINT)"
    if types[0] != BIGINT:
        return f"(CAST({args[0]} AS BIGINT) // {args[1]})"
    return f"shark_wrap_bigint(CAST({args[0]} AS HUGEINT) // {args[1]})"


def _negate(args: Sequence[str], _types: Types, result: DataType) -> str:
    if result in INTEGER_TYPES:
        return wrap_integer(f"(-CAST({args[0]} AS {'HUGEINT' if result == BIGINT else 'BIGINT'}))", result)
    return f"(-{args[0]})"


def _negatable(types: Types) -> Types | None:
    if len(types) != 1:
        return None
    if is_interval(types[0]) or is_numeric(types[0]):
        return types
    return (DOUBLE,) if converts(types[0], DOUBLE) else None


ARITHMETIC = (
    Page("a {} b", "the sum; also of a time and an interval", "1 + 2 -> 3", name="add").scalar(
        _add_operands, _sum_type, _sum_lowering("+"), aliases=("+",), is_listed=False, unchecked=_sum_unchecked("+")
    ),
    Page(
        "a {} b", "the difference; also of a time and an interval, or of two times", "1 - 2 -> -1", name="subtract"
    ).scalar(
        _subtract_operands,
        _sum_type,
        _sum_lowering("-"),
        aliases=("-",),
        is_listed=False,
        unchecked=_sum_unchecked("-"),
    ),
    Page("a {} b", "the product", "2 * 3 -> 6", name="multiply").scalar(
        common_numbers, _multiply_type, _multiply, aliases=("*",), is_listed=False, unchecked="({0} * {1})"
    ),
    Page("a {} b", "the quotient, as DOUBLE or DECIMAL; NULL by zero", "1 / 2 -> 0.5", name="divide").scalar(
        _divide_operands, _divide_type, _divide, aliases=("/",), is_listed=False
    ),
    Page(
        "decimal_parts(decimal)",
        "the digits before and after the point, by which DECIMALs compare that no common DECIMAL holds",
        "decimal_parts(1.5).whole -> 1",
    ).scalar(
        lambda types: types if len(types) == 1 and isinstance(types[0], DecimalType) else None,
        _parts_type,
        _decimal_parts,
        is_listed=False,
    ),
    Page("a % b", "the remainder, with the sign of a", "7 % 3 -> 1", name="mod").scalar(
        common_numbers, _mod_type, _mod, aliases=("%",)
    ),
    Page("a DIV b", "the integer part of a / b", "7 DIV 2 -> 3", name="div").scalar(common_numbers, BIGINT, _div),
    Page("- x", "with the other sign", "-(5) -> -5", name="negate").scalar(
        _negatable, same_as(0), _negate, aliases=("negative",), is_listed=False, unchecked="(-{0})"
    ),
    Page("positive(x)", "as it is", "positive(5) -> 5").scalar(_negatable, same_as(0), "{0}"),
)


def _bits(types: Types) -> Types | None:
    target = common_numbers(types)
    return target if target is not None and target[0] in INTEGER_TYPES else None


def _one_integer(types: Types) -> Types | None:
    return types if len(types) == 1 and types[0] in INTEGER_TYPES else None


def _shift(name: str, operator: str, *, answer: str) -> ScalarFunction:
    """Java's shifts. The distance is taken modulo the width. Integers are INT or BIGINT."""

    def arguments(types: Types) -> Types | None:
        if len(types) != 2 or types[0] not in INTEGER_TYPES or not converts(types[1], INT):
            return None
        return (BIGINT if types[0] == BIGINT else INT, INT)

    def lower(args: Sequence[str], _types: Types, result: DataType) -> str:
        width, mask = (64, 2**64 - 1) if result == BIGINT else (32, 2**32 - 1)
        distance = f"({args[1]} & {width - 1})"
        if operator == "<<":
            power = f"CAST(2 ** {distance} AS HUGEINT)"
            return wrap_integer(f"CAST((CAST({args[0]} AS HUGEINT) * {power}) & {mask} AS HUGEINT)", result)
        if operator == ">>":
            return f"({args[0]} >> {distance})"
        return wrap_integer(f"((CAST({args[0]} AS HUGEINT) & {mask}) >> {distance})", result)

    return Page(f"{name}(n, bits)", f"n {operator} bits, in two's complement", f"{name}(8, 1) -> {answer}").scalar(
        arguments, same_as(0), lower, aliases=(operator,)
    )


BITS = (
    Page("a {} b", "bits that are in both", "5 & 3 -> 1", name="bit_and").scalar(
        _bits, same_as(0), "({0} & {1})", aliases=("&",), is_listed=False
    ),
    Page("a {} b", "bits that are in either", "5 | 3 -> 7", name="bit_or").scalar(
        _bits, same_as(0), "({0} | {1})", aliases=("|",), is_listed=False
    ),
    Page("a {} b", "bits that are in only one of them", "5 ^ 3 -> 6", name="bit_xor").scalar(
        _bits, same_as(0), "xor({0}, {1})", aliases=("^",), is_listed=False
    ),
    Page("{} n", "every bit changed", "~5 -> -6", name="bit_not").scalar(
        _one_integer, same_as(0), "(~{0})", aliases=("~",), is_listed=False
    ),
    _shift("shiftleft", "<<", answer="16"),
    _shift("shiftright", ">>", answer="4"),
    _shift("shiftrightunsigned", ">>>", answer="4"),
)
