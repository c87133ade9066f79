"""Random numbers and identifiers, different for each row."""

from __future__ import annotations

from sharkpy.udf.function import NullPolicy, ScalarFunction, Varying
from sharkpy.udf.signatures import returns, takes
from sharkpy.values.types import BIGINT, DOUBLE, STRING

RANDOM_FUNCTIONS = (
    ScalarFunction(
        "rand",
        takes(BIGINT, optional=1),
        returns(DOUBLE),
        lambda _args, _types, _result: "random()",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="rand([seed])",
        doc="a random number from 0 to 1",
        example="rand()",
        answer=Varying("0.4104024892485749", r"\d\.\d+(E-\d+)?"),
        aliases=("random",),
    ),
    ScalarFunction(
        "randn",
        takes(BIGINT, optional=1),
        returns(DOUBLE),
        lambda _args, _types, _result: "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="randn([seed])",
        doc="a random number of the standard normal distribution",
        example="randn()",
        answer=Varying("-0.7024745320451669", r"-?\d\.\d+(E-\d+)?"),
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
