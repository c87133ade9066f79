"""Comparison, logic and CASE."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.signatures import Types, comparable, converts, returns, takes
from sharkpy.values.types import BOOLEAN, DataType, common_type


def _comparison(name: str, operator: str, doc: str, example: str) -> ScalarFunction:
    lowering = f"({{0}} {operator} {{1}})"
    return ScalarFunction(name, comparable(2, 2), returns(BOOLEAN), lowering, doc=doc, example=example)


def _connective(name: str) -> ScalarFunction:
    word, takes_any = name.upper(), takes(BOOLEAN, BOOLEAN, repeat=True)
    doc = "true where both are" if name == "and" else "true where one of both is"
    example = f"true {word} false"
    return ScalarFunction(name, takes_any, returns(BOOLEAN), _infix(word), NullPolicy.CUSTOM, doc=doc, example=example)


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
    _comparison("eq", "=", "whether a equals b", "1 = 1"),
    _comparison("ne", "<>", "whether a and b differ", "1 <> 2"),
    _comparison("lt", "<", "whether a is less than b", "1 < 2"),
    _comparison("le", "<=", "whether a is at most b", "1 <= 2"),
    _comparison("gt", ">", "whether a is greater than b", "2 > 1"),
    _comparison("ge", ">=", "whether a is at least b", "2 >= 1"),
    ScalarFunction(
        "eq_null_safe",
        comparable(2, 2),
        returns(BOOLEAN),
        "({0} IS NOT DISTINCT FROM {1})",
        NullPolicy.CUSTOM,
        doc="whether a equals b, NULL being equal to NULL alone",
        example="NULL <=> NULL",
    ),
    _connective("and"),
    _connective("or"),
    ScalarFunction(
        "not",
        takes(BOOLEAN),
        returns(BOOLEAN),
        "(NOT {0})",
        doc="false for true and true for false",
        example="NOT true",
    ),
    ScalarFunction(
        "in",
        comparable(2),
        returns(BOOLEAN),
        lambda args, _types, _result: f"({args[0]} IN ({', '.join(args[1:])}))",
        NullPolicy.CUSTOM,
        doc="whether a value equals one of several",
        example="2 IN (1, 2)",
    ),
    ScalarFunction(
        "between",
        comparable(3, 3),
        returns(BOOLEAN),
        "({0} BETWEEN {1} AND {2})",
        NullPolicy.CUSTOM,
        doc="whether a value is at least low and at most high",
        example="2 BETWEEN 1 AND 3",
    ),
    ScalarFunction(
        "is_null",
        lambda types: types if len(types) == 1 else None,
        returns(BOOLEAN),
        "({0} IS NULL)",
        NullPolicy.CUSTOM,
        doc="whether a is NULL",
        example="1 IS NULL",
    ),
    ScalarFunction(
        "is_not_null",
        lambda types: types if len(types) == 1 else None,
        returns(BOOLEAN),
        "({0} IS NOT NULL)",
        NullPolicy.CUSTOM,
        doc="whether a is not NULL",
        example="1 IS NOT NULL",
    ),
    ScalarFunction(
        "case_when",
        _case_when_arguments,
        lambda types: types[-1],
        _case_when,
        NullPolicy.CUSTOM,
        doc="the value behind the first condition that is true, or that equals x",
        example="CASE WHEN 1 = 1 THEN 'a' ELSE 'b' END",
    ),
)
