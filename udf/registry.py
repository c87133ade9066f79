"""The registry: every function by its name, from the tables of the families; aliases beside them."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.types import DataType
from sharkpy.udf.aggregates import AGGREGATES
from sharkpy.udf.collection_functions import COLLECTION_FUNCTIONS
from sharkpy.udf.conditional_functions import CONDITIONAL_FUNCTIONS
from sharkpy.udf.date_functions import DATE_FUNCTIONS
from sharkpy.udf.function import AggregateFunction, ScalarFunction, TableFunction, WindowFunction
from sharkpy.udf.json_functions import JSON_FUNCTIONS
from sharkpy.udf.math_functions import MATH_FUNCTIONS
from sharkpy.udf.misc_functions import MISC_FUNCTIONS
from sharkpy.udf.operators import OPERATORS
from sharkpy.udf.string_functions import STRING_FUNCTIONS
from sharkpy.udf.table_functions import TABLE_FUNCTIONS
from sharkpy.udf.window_functions import WINDOW_FUNCTIONS

ALIASES = {
    "!": "not",
    "~": "bit_not",
    "any": "bool_or",
    "approx_percentile": "percentile_approx",
    "array_agg": "collect_list",
    "array_size": "size",
    "cardinality": "size",
    "ceiling": "ceil",
    "current_schema": "current_database",
    "char_length": "length",
    "character_length": "length",
    "char": "chr",
    "date": "to_date",
    "dayofmonth": "day",
    "every": "bool_and",
    "ifnull": "nvl",
    "isnotnull": "is_not_null",
    "isnull": "is_null",
    "lcase": "lower",
    "mean": "avg",
    "mid": "substr",
    "negative": "negate",
    "now": "current_timestamp",
    "power": "pow",
    "random": "rand",
    "regexp": "rlike",
    "sha": "sha1",
    "signum": "sign",
    "some": "bool_or",
    "std": "stddev_pop",
    "stddev": "stddev_pop",
    "substring": "substr",
    "to_unix_timestamp": "unix_timestamp",
    "ucase": "upper",
    "var": "var_pop",
    "variance": "var_pop",
    "format_string": "printf",
}
"""Other name -> name of the row. Hive's stddev and variance are those of a population."""

_SCALARS: dict[str, ScalarFunction] = {
    row.name: row
    for family in (
        OPERATORS,
        MATH_FUNCTIONS,
        STRING_FUNCTIONS,
        DATE_FUNCTIONS,
        CONDITIONAL_FUNCTIONS,
        COLLECTION_FUNCTIONS,
        JSON_FUNCTIONS,
        MISC_FUNCTIONS,
    )
    for row in family
}
_AGGREGATES: dict[str, AggregateFunction] = {row.name: row for row in AGGREGATES}
_WINDOWS: dict[str, WindowFunction] = {row.name: row for row in WINDOW_FUNCTIONS}
_TABLES: dict[str, TableFunction] = {row.name: row for row in TABLE_FUNCTIONS}


def canonical(name: str) -> str:
    """The row's name for a name or alias, in lower case; names that are unknown come back as they are."""
    lowered = name.lower()
    return ALIASES.get(lowered, lowered)


def scalar(name: str) -> ScalarFunction | None:
    return _SCALARS.get(canonical(name))


def aggregate(name: str) -> AggregateFunction | None:
    return _AGGREGATES.get(canonical(name))


def window(name: str) -> WindowFunction | None:
    return _WINDOWS.get(canonical(name))


def table_function(name: str) -> TableFunction | None:
    return _TABLES.get(canonical(name))


def described(name: str) -> ScalarFunction | AggregateFunction | WindowFunction | TableFunction | None:
    """The row that says what the function is for; None where there is none of that name."""
    return scalar(name) or aggregate(name) or window(name) or table_function(name)


def names() -> tuple[str, ...]:
    """Every function's name and alias, sorted."""
    return tuple(sorted({*_SCALARS, *_AGGREGATES, *_WINDOWS, *_TABLES, *ALIASES}))


def scalar_result(row: ScalarFunction, types: Sequence[DataType], values: Sequence[object]) -> DataType:
    """The result type of a call; `values` has the Python values of literal arguments and None for the others."""
    return row.literal_result(types, values) if row.literal_result is not None else row.result(types)


def table_columns(
    row: TableFunction, types: Sequence[DataType], values: Sequence[object]
) -> Sequence[tuple[str, DataType]]:
    """Names and types of a generator's columns; `values` as in `scalar_result`."""
    return row.literal_columns(types, values) if row.literal_columns is not None else row.columns(types)
