"""Comparison, logic and CASE."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.signatures import Types, comparable, converts, returns, takes
from sharkpy.values.common_types import common_type
from sharkpy.values.types import BOOLEAN, DataType


def _comparison(name: str, *signs: str, doc: str, example: str) -> ScalarFunction:
    """A comparison, by the first of the signs in DuckDB. Its example is true."""
    return ScalarFunction(
        name,
        comparable(2, 2),
        returns(BOOLEAN),
        f"({{0}} {signs[0]} {{1}})",
        usage="a {} b",
        doc=doc,
        example=example,
        answer="true",
        aliases=signs,
        is_listed=False,
    )


def _connective(name: str, *, doc: str, answer: str) -> ScalarFunction:
    word = name.upper()
    return ScalarFunction(
        name,
        takes(BOOLEAN, BOOLEAN, repeat=True),
        returns(BOOLEAN),
        _infix(word),
        NullPolicy.CUSTOM,
        usage=f"a {word} b",
        doc=doc,
        example=f"true {word} false",
        answer=answer,
    )


def _infix(operator: str) -> Lowering:
    return lambda args, _types, _result: "(" + f" {operator} ".join(args) + ")"


def _case_when_arguments(types: Types) -> Types | None:
    if len(types) < 3 or len(types) % 2 == 0:
        return None
    target: DataType | None = types[-1]
    for dtype in types[1::2]:
        target = common_type(target, dtype) if target is not None else None
    if target is None or not all(converts(dtype, BOOLEAN) for dtype in types[:-1:2]):
        return None
    return [*([BOOLEAN, target] * (len(types) // 2)), target]


def _case_when(args: Sequence[str], _types: Types, _result: DataType) -> str:
    branches = " ".join(f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
    return f"CASE {branches} ELSE {args[-1]} END"


CONDITIONS = (
    _comparison("eq", "=", "==", doc="whether a equals b", example="1 = 1"),
    _comparison("ne", "<>", "!=", doc="whether a and b differ", example="1 <> 2"),
    _comparison("lt", "<", doc="whether a is less than b", example="1 < 2"),
    _comparison("le", "<=", doc="whether a is at most b", example="1 <= 2"),
    _comparison("gt", ">", doc="whether a is greater than b", example="2 > 1"),
    _comparison("ge", ">=", doc="whether a is at least b", example="2 >= 1"),
    ScalarFunction(
        "eq_null_safe",
        comparable(2, 2),
        returns(BOOLEAN),
        "({0} IS NOT DISTINCT FROM {1})",
        NullPolicy.CUSTOM,
        usage="a {} b",
        doc="whether a equals b; NULL equals only NULL",
        example="NULL <=> NULL",
        answer="true",
        aliases=("<=>",),
        is_listed=False,
    ),
    _connective("and", doc="true if both are true", answer="false"),
    _connective("or", doc="true if at least one of them is true", answer="true"),
    ScalarFunction(
        "not",
        takes(BOOLEAN),
        returns(BOOLEAN),
        "(NOT {0})",
        usage="{} x",
        doc="false for true and true for false",
        example="NOT true",
        answer="false",
        aliases=("!",),
    ),
    ScalarFunction(
        "in",
        comparable(2),
        returns(BOOLEAN),
        lambda args, _types, _result: f"({args[0]} IN ({', '.join(args[1:])}))",
        NullPolicy.CUSTOM,
        usage="x [NOT] IN (a, …)",
        doc="whether a value equals one of several",
        example="2 IN (1, 2)",
        answer="true",
    ),
    ScalarFunction(
        "between",
        comparable(3, 3),
        returns(BOOLEAN),
        "({0} BETWEEN {1} AND {2})",
        NullPolicy.CUSTOM,
        usage="x [NOT] BETWEEN low AND high",
        doc="whether a value is at least low and at most high",
        example="2 BETWEEN 1 AND 3",
        answer="true",
    ),
    ScalarFunction(
        "is_null",
        lambda types: types if len(types) == 1 else None,
        returns(BOOLEAN),
        "({0} IS NULL)",
        NullPolicy.CUSTOM,
        usage="x IS NULL",
        doc="whether a is NULL",
        example="1 IS NULL",
        answer="false",
        aliases=("isnull",),
        is_listed=False,
    ),
    ScalarFunction(
        "is_not_null",
        lambda types: types if len(types) == 1 else None,
        returns(BOOLEAN),
        "({0} IS NOT NULL)",
        NullPolicy.CUSTOM,
        usage="x IS NOT NULL",
        doc="whether a is not NULL",
        example="1 IS NOT NULL",
        answer="true",
        aliases=("isnotnull",),
        is_listed=False,
    ),
    ScalarFunction(
        "case_when",
        _case_when_arguments,
        lambda types: types[-1],
        _case_when,
        NullPolicy.CUSTOM,
        usage="CASE [x] WHEN a THEN b … [ELSE c] END",
        doc="the value of the first condition that is true, or that equals x",
        example="CASE WHEN 1 = 1 THEN 'a' ELSE 'b' END",
        answer="a",
        aliases=("case", "when"),
        is_listed=False,
    ),
)
