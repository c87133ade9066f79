"""The registry: all functions by name, from the tables of the families."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from sharkpy.udf.aggregates import AGGREGATES
from sharkpy.udf.arithmetic_operators import ARITHMETIC, BITS
from sharkpy.udf.array_functions import ARRAY_FUNCTIONS, ARRAY_ORDER_FUNCTIONS, ARRAY_SET_FUNCTIONS
from sharkpy.udf.conditions import CONDITIONAL_FUNCTIONS, CONDITIONS, QUANTIFIED_COMPARISONS
from sharkpy.udf.date_functions import DATE_FUNCTIONS
from sharkpy.udf.format_functions import CONVERSION_FUNCTIONS, FORMAT_FUNCTIONS
from sharkpy.udf.function import (
    AggregateFunction,
    Function,
    RelationFunction,
    ScalarFunction,
    TableFunction,
    WindowFunction,
)
from sharkpy.udf.hash_functions import HASH_FUNCTIONS
from sharkpy.udf.higher_order_functions import HIGHER_ORDER_FUNCTIONS
from sharkpy.udf.json_functions import JSON_FUNCTIONS, TO_JSON_FUNCTIONS
from sharkpy.udf.map_functions import MAP_FUNCTIONS
from sharkpy.udf.masking import MASK_FUNCTIONS
from sharkpy.udf.math_functions import ELEMENTARY_FUNCTIONS, MATH_FUNCTIONS, RANDOM_FUNCTIONS
from sharkpy.udf.nested_values import ACCESS, STRUCT_FUNCTIONS
from sharkpy.udf.pattern_functions import PATTERN_TESTS, REGEXP_FUNCTIONS
from sharkpy.udf.rounding_functions import ROUNDING_FUNCTIONS
from sharkpy.udf.sketch_functions import (
    DISTINCT_SKETCH_FUNCTIONS,
    FREQUENCY_SKETCH_FUNCTIONS,
    FREQUENCY_SKETCH_TABLES,
    QUANTILE_SKETCH_FUNCTIONS,
)
from sharkpy.udf.spark_collection_functions import SEQUENCE_FUNCTIONS, SPARK_COLLECTION_FUNCTIONS
from sharkpy.udf.spark_functions import SPARK_NUMBER_FUNCTIONS, SPARK_STRING_FUNCTIONS, SPARK_TIME_FUNCTIONS
from sharkpy.udf.special_forms import FILE_READERS, RELATION_FUNCTIONS, SESSION_FUNCTIONS, SPECIAL_FORMS, SpecialForm
from sharkpy.udf.string_functions import STRING_FUNCTIONS, STRING_SEARCH_FUNCTIONS
from sharkpy.udf.table_functions import TABLE_FUNCTIONS
from sharkpy.udf.time_units import DATE_PART_FUNCTIONS, DATE_TRUNCATION_FUNCTIONS, TIME_UNIT_FUNCTIONS
from sharkpy.udf.time_window_functions import TIME_WINDOW_FUNCTIONS, TIME_WINDOW_TABLES
from sharkpy.udf.unavailable_functions import OF_OTHERS, REFUSED
from sharkpy.udf.url_functions import URL_FUNCTIONS
from sharkpy.udf.user.function import find as find_user_function
from sharkpy.udf.window_functions import WINDOW_FUNCTIONS
from sharkpy.udf.xpath import XML_FUNCTIONS
from sharkpy.values.types import DataType

Row = TypeVar("Row", ScalarFunction, AggregateFunction, TableFunction, RelationFunction)

_SCALARS: dict[str, ScalarFunction] = {
    row.name: row
    for family in (
        ARITHMETIC,
        CONDITIONS,
        QUANTIFIED_COMPARISONS,
        PATTERN_TESTS,
        ACCESS,
        BITS,
        MATH_FUNCTIONS,
        ELEMENTARY_FUNCTIONS,
        ROUNDING_FUNCTIONS,
        STRING_FUNCTIONS,
        STRING_SEARCH_FUNCTIONS,
        REGEXP_FUNCTIONS,
        DATE_FUNCTIONS,
        DATE_PART_FUNCTIONS,
        DATE_TRUNCATION_FUNCTIONS,
        CONDITIONAL_FUNCTIONS,
        ARRAY_FUNCTIONS,
        ARRAY_ORDER_FUNCTIONS,
        ARRAY_SET_FUNCTIONS,
        SEQUENCE_FUNCTIONS,
        MAP_FUNCTIONS,
        STRUCT_FUNCTIONS,
        JSON_FUNCTIONS,
        TO_JSON_FUNCTIONS,
        URL_FUNCTIONS,
        XML_FUNCTIONS,
        FORMAT_FUNCTIONS,
        CONVERSION_FUNCTIONS,
        HASH_FUNCTIONS,
        MASK_FUNCTIONS,
        SESSION_FUNCTIONS,
        SPARK_NUMBER_FUNCTIONS,
        SPARK_STRING_FUNCTIONS,
        SPARK_TIME_FUNCTIONS,
        SPARK_COLLECTION_FUNCTIONS,
        TIME_UNIT_FUNCTIONS,
        TIME_WINDOW_FUNCTIONS,
        HIGHER_ORDER_FUNCTIONS,
        RANDOM_FUNCTIONS,
        DISTINCT_SKETCH_FUNCTIONS,
        QUANTILE_SKETCH_FUNCTIONS,
        FREQUENCY_SKETCH_FUNCTIONS,
    )
    for row in family
}
_AGGREGATES: dict[str, AggregateFunction] = {row.name: row for row in AGGREGATES}
_WINDOWS: dict[str, WindowFunction] = {row.name: row for row in WINDOW_FUNCTIONS}
_TABLES: dict[str, TableFunction] = {
    row.name: row for row in (*TABLE_FUNCTIONS, *TIME_WINDOW_TABLES, *FREQUENCY_SKETCH_TABLES)
}
_RELATIONS: dict[str, RelationFunction] = {row.name: row for row in RELATION_FUNCTIONS}
_FORMS: dict[str, SpecialForm] = {row.name: row for row in (*SPECIAL_FORMS, *FILE_READERS)}


def built_in() -> Iterator[Function]:
    """Yield the rows of all kinds."""
    for rows in (_SCALARS, _AGGREGATES, _WINDOWS, _TABLES, _RELATIONS, _FORMS):
        yield from rows.values()


ALIASES = {alias: row.name for row in built_in() for alias in row.aliases}
"""Alias or sign -> name of the row."""
_UNLISTED = frozenset(row.name for row in built_in() if not row.is_listed)


def canonical(name: str) -> str:
    """Return the row's name for a name or alias, in lower case. Unknown names are returned in lower case."""
    lowered = name.lower()
    return ALIASES.get(lowered, lowered)


def scalar(name: str) -> ScalarFunction | None:
    return _SCALARS.get(canonical(name)) or _user_row(name, ScalarFunction)


def aggregate(name: str) -> AggregateFunction | None:
    return _AGGREGATES.get(canonical(name)) or _user_row(name, AggregateFunction)


def aggregate_of(name: str, types: Sequence[DataType]) -> AggregateFunction | None:
    """Return the row that computes an aggregate of arguments of these types."""
    row = aggregate(name)
    variant = row.variant(types) if row is not None and row.variant is not None else None
    return variant or row


def window(name: str) -> WindowFunction | None:
    return _WINDOWS.get(canonical(name))


def table_function(name: str) -> TableFunction | None:
    return _TABLES.get(canonical(name)) or _user_row(name, TableFunction)


def relation_function(name: str) -> RelationFunction | None:
    """Return the function of whole tables, for GENERATE."""
    return _RELATIONS.get(canonical(name)) or _user_row(name, RelationFunction)


def relation_functions() -> tuple[str, ...]:
    """Return the sorted names of the built-in functions of whole tables."""
    return tuple(sorted(_RELATIONS))


def _user_row(key: str, kind: type[Row]) -> Row | None:
    """Return the row of the user function with a key."""
    function = find_user_function(key)
    return function.row if function is not None and isinstance(function.row, kind) else None


def special_form(name: str) -> SpecialForm | None:
    """Return the manual page of a call without a row of types and SQL."""
    return _FORMS.get(name.lower())


def described(name: str) -> Function | None:
    """Return the row that describes the function, or None if there is none of that name."""
    return scalar(name) or aggregate(name) or window(name) or table_function(name) or relation_function(name)


def refused(name: str) -> str | None:
    """Return why a function of Hive or another system is not available, or None for other names."""
    return (REFUSED | OF_OTHERS).get(name.lower())


def names() -> tuple[str, ...]:
    """Return the sorted names and aliases of all functions."""
    return tuple(sorted({*_SCALARS, *_AGGREGATES, *_WINDOWS, *_TABLES, *ALIASES}))


def written_names() -> list[str]:
    """Return the sorted names and aliases of the functions that queries use, without names that only the
    engine uses.
    """
    return [name for name in names() if name not in _UNLISTED]


def listed() -> frozenset[str]:
    """Return the names that SHOW FUNCTIONS lists: functions that queries use, and known unavailable ones."""
    return frozenset(names()) - _UNLISTED | _FORMS.keys() | REFUSED.keys() | _RELATIONS.keys()


def synonyms(name: str) -> tuple[str, ...]:
    """Return the function's other names, sorted, as SHOW FUNCTIONS lists them."""
    row = canonical(name)
    same = {row, *(alias for alias, target in ALIASES.items() if target == row)}
    return tuple(sorted(same - _UNLISTED - {name.lower()}))
