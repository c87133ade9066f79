"""Types of values, and identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import NullPolicy, ScalarFunction, Varying
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
        usage="typeof(x)",
        doc="the name of the type",
        example="typeof(1)",
        answer="int",
    ),
    ScalarFunction(
        "uuid",
        takes(),
        returns(STRING),
        "CAST(uuid() AS VARCHAR)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="uuid()",
        doc="a random UUID",
        example="uuid()",
        answer=Varying("44dba0f7-b936-46c4-8c0f-f887f721c660", "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ),
)
