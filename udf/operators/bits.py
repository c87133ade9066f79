"""Bits of integers."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.operators.operands import numbers
from sharkpy.udf.signatures import Types, converts, same_as
from sharkpy.values.types import BIGINT, INT, INTEGER_TYPES, DataType


def _bits(types: Types) -> Types | None:
    target = numbers(types)
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

    return ScalarFunction(
        name,
        arguments,
        same_as(0),
        lower,
        usage=f"{name}(n, bits)",
        doc=f"n {operator} bits, in two's complement",
        example=f"{name}(8, 1)",
        answer=answer,
        aliases=(operator,),
    )


BITS = (
    ScalarFunction(
        "bit_and",
        _bits,
        same_as(0),
        "({0} & {1})",
        usage="a {} b",
        doc="bits that are in both",
        example="5 & 3",
        answer="1",
        aliases=("&",),
        is_listed=False,
    ),
    ScalarFunction(
        "bit_or",
        _bits,
        same_as(0),
        "({0} | {1})",
        usage="a {} b",
        doc="bits that are in either",
        example="5 | 3",
        answer="7",
        aliases=("|",),
        is_listed=False,
    ),
    ScalarFunction(
        "bit_xor",
        _bits,
        same_as(0),
        "xor({0}, {1})",
        usage="a {} b",
        doc="bits that are in only one of them",
        example="5 ^ 3",
        answer="6",
        aliases=("^",),
        is_listed=False,
    ),
    ScalarFunction(
        "bit_not",
        _one_integer,
        same_as(0),
        "(~{0})",
        usage="{} n",
        doc="every bit changed",
        example="~5",
        answer="-6",
        aliases=("~",),
        is_listed=False,
    ),
    _shift("shiftleft", "<<", answer="16"),
    _shift("shiftright", ">>", answer="4"),
    _shift("shiftrightunsigned", ">>>", answer="4"),
)
