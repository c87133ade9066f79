"""Types of values, and identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string
from sharkpy.udf.signatures import Types, anything, returns, takes
from sharkpy.values.types import (
    STRING,
    DataType,
)


def _typeof(_args: Sequence[str], types: Types, _result: DataType) -> str:
    return quote_string(str(types[0]))


MISC_FUNCTIONS = (
    ScalarFunction(
        "typeof",
        anything(1, 1),
        returns(STRING),
        _typeof,
        NullPolicy.CUSTOM,
        doc="the name of the type",
        example="typeof(1)",
    ),
    ScalarFunction(
        "uuid",
        takes(),
        returns(STRING),
        "CAST(uuid() AS VARCHAR)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        doc="a random UUID",
        example="length(uuid())",
    ),
)
