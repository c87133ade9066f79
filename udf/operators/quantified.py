"""Comparisons of a value with the rows of a query, which are given as a struct of facts."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.signatures import Types, returns
from sharkpy.values.types import BOOLEAN, DataType, StructType

FACTS = ("num_rows", "num_values", "least", "greatest")
"""Fields of the struct. `num_values` counts the rows that are not NULL."""


def _arguments(types: Types) -> Types | None:
    if len(types) != 2 or not isinstance(types[1], StructType) or types[1].names != FACTS:
        return None
    return types if types[1].types[2] == types[0] else None


def _lowering(is_true: str) -> Lowering:
    """True for some value. Otherwise unknown if there are NULLs, else false, also without rows."""

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        value, facts = args
        fields = {name: f"struct_extract({facts}, '{name}')" for name in FACTS}
        some = is_true.format(value, **fields)
        rows, values = fields["num_rows"], fields["num_values"]
        return f"CASE WHEN {rows} = 0 THEN false WHEN {some} THEN true WHEN {values} < {rows} THEN NULL ELSE {some} END"

    return lower


def _any(name: str, sign: str, is_true: str) -> ScalarFunction:
    return ScalarFunction(
        f"{name}_any",
        _arguments,
        returns(BOOLEAN),
        _lowering(is_true),
        NullPolicy.CUSTOM,
        usage=f"{name}_any(x, facts)",
        doc=f"whether x {sign} some row of a query that has the facts",
        example=f"{name}_any(2, named_struct('num_rows', 3L, 'num_values', 2L, 'least', 1, 'greatest', 3))",
        answer="true",
        is_listed=False,
    )


QUANTIFIED_COMPARISONS = (
    _any("lt", "<", "({0} < {greatest})"),
    _any("le", "<=", "({0} <= {greatest})"),
    _any("gt", ">", "({0} > {least})"),
    _any("ge", ">=", "({0} >= {least})"),
    _any("ne", "<>", "({0} <> {least} OR {0} <> {greatest})"),
)
