"""compute_stats: the statistics that ANALYZE … FOR COLUMNS gathers for a column, as a struct per family of types."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import OVER, render
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types
from sharkpy.udf.sketch_functions import distinct_sketch_state
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER_TYPES,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    StructType,
    is_numeric,
    is_string,
)


def _family(dtype: DataType) -> str | None:
    if dtype in INTEGER_TYPES:
        return "Long"
    if isinstance(dtype, DecimalType):
        return "Decimal"
    names = {BOOLEAN: "Boolean", BINARY: "Binary", DATE: "Date", TIMESTAMP: "Timestamp"}
    return names.get(dtype) or ("Double" if is_numeric(dtype) else "String" if is_string(dtype) else None)


def _arguments(types: Types) -> Types | None:
    """A column, and Hive's method to count distinct values (a name or a number of bit vectors), which is ignored."""
    return types if 1 <= len(types) <= 3 and _family(types[0]) else None


def _result(types: Types) -> StructType:
    dtype, family = types[0], _family(types[0])
    values: tuple[tuple[str, DataType], ...]
    match family:
        case "Boolean":
            values = (("counttrues", BIGINT), ("countfalses", BIGINT))
        case "String" | "Binary":
            values = (("maxlength", BIGINT), ("avglength", DOUBLE))
        case _:
            wide = BIGINT if family == "Long" else DOUBLE if family == "Double" else dtype
            values = (("min", wide), ("max", wide))
    distinct = () if family in ("Boolean", "Binary") else (("numdistinctvalues", BIGINT), ("ndvbitvector", BINARY))
    fields = (("columntype", STRING), *values, ("countnulls", BIGINT), *distinct)
    return StructType(tuple(name for name, _ in fields), tuple(kind for _, kind in fields))


def _variant(types: Types) -> AggregateFunction:
    dtype, family = types[0], _family(types[0])
    struct = _result(types)
    kinds = dict(zip(struct.names, struct.types, strict=True))
    state_types: tuple[DataType, DataType] = (BIGINT, BIGINT)
    match family:
        case "Boolean":
            first, second = f"count(CASE WHEN {{0}} THEN 1 END){OVER}", f"count(CASE WHEN NOT {{0}} THEN 1 END){OVER}"
            merged = ("CAST(sum({0}) AS BIGINT)", "CAST(sum({1}) AS BIGINT)")
        case "String" | "Binary":
            length = "strlen({0})" if family == "String" else "octet_length({0})"
            first, second = f"CAST(max({length}){OVER} AS BIGINT)", f"CAST(sum({length}){OVER} AS BIGINT)"
            merged = ("max({0})", "CAST(sum({1}) AS BIGINT)")
        case _:
            kind = kinds["min"]
            first, second = (f"CAST({name}({{0}}){OVER} AS {duckdb_type(kind)})" for name in ("min", "max"))
            merged, state_types = ("min({0})", "max({1})"), (kind, kind)
    with_sketch = "ndvbitvector" in kinds

    def partial(template: str) -> Lowering:
        return lambda args, _types, _result: template.format(args[0])

    def sketch(args: Sequence[str], _types: Types, _result: DataType) -> str:
        return distinct_sketch_state("hll", args[0], dtype)

    partials: tuple[Lowering, ...] = (
        partial(first),
        partial(second),
        partial(f"count(CASE WHEN {{0}} IS NULL THEN 1 END){OVER}"),
        partial(f"count({{0}}){OVER}"),
        *((sketch,) if with_sketch else ()),
    )

    def finish(states: Sequence[str], _types: Types, _result: DataType) -> str:
        values = [states[0], states[1]]
        if "avglength" in kinds:
            average = f"CAST({states[1]} AS DOUBLE) / nullif({states[3]}, 0)"
            values = [f"coalesce({states[0]}, 0)", f"coalesce({average}, 0.0)"]
        parts = [f"'{family}'", *values, states[2]]
        if with_sketch:
            parts += [
                f"coalesce(CAST(round(shark_hll_estimate(shark_hll_union([{states[4]}]))) AS BIGINT), 0)",
                states[4],
            ]
        fields = ", ".join(f'"{name}" := {part}' for name, part in zip(struct.names, parts, strict=True))
        return f"struct_pack({fields})"

    def complete(args: Sequence[str], given: Types, result: DataType) -> str:
        return finish([render(one, args, given, result) for one in partials], given, result)

    return AggregateFunction(
        "compute_stats",
        _arguments,
        _result,
        complete,
        partials,
        lambda _types: (*state_types, BIGINT, BIGINT, *((BINARY,) if with_sketch else ())),
        (
            *merged,
            "CAST(sum({2}) AS BIGINT)",
            "CAST(sum({3}) AS BIGINT)",
            *(("shark_hll_union(list({4}))",) if with_sketch else ()),
        ),
        finish,
        ignores_distinct=True,
        usage="compute_stats(x[, sketch[, bits]])",
        example="compute_stats(x, 'hll').numdistinctvalues",
        answer="2",
    )


COMPUTE_STATS = Page(
    "compute_stats(x[, sketch[, bits]])",
    "statistics of a column: extremes or lengths, NULLs, distinct values and their HyperLogLog sketch",
    "compute_stats(x, 'hll').numdistinctvalues -> 2",
).aggregate(_arguments, _result, "NULL", ignores_distinct=True, variant=_variant)
