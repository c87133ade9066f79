"""Functions of arrays and maps that Spark SQL has and Hive does not, `sequence` among them."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import NullPolicy, Varying
from sharkpy.udf.map_functions import key_type, map_of_entries
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import (
    Types,
    array_and_element,
    converts,
    element_type,
    first_of,
    kind_of,
    same_as,
)
from sharkpy.values.common_types import common_type
from sharkpy.values.types import (
    DATE,
    INT,
    INTEGER_TYPES,
    INTERVAL_YEAR_MONTH,
    NULL,
    TIMESTAMP,
    ArrayType,
    DataType,
    MapType,
    StructType,
    is_interval,
)


def _map_and_key(types: Types) -> Types | None:
    match types:
        case [MapType(key) as mapping, given] if converts(given, key):
            return (mapping, key)
    return None


def _array_insert_arguments(types: Types) -> Types | None:
    match types:
        case [ArrayType(element), index, item] if converts(index, INT) and (target := common_type(element, item)):
            return (ArrayType(target), INT, target)
    return None


def _array_insert(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Return the array with an item before a position from 1, or after one from the end. NULLs fill a gap."""
    array, index, item = args
    nulls = "list_resize([], {})"
    behind = f"list_concat(list_resize({array}, {index} - 1), [{item}], {array}[{index}:])"
    place = f"len({array}) + {index} + 1"
    before = (
        f"CASE WHEN {place} < 0 THEN list_concat([{item}], {nulls.format(f'-({place})')}, {array})"
        f" ELSE list_concat({array}[:{place}], [{item}], {array}[{place} + 1:]) END"
    )
    return f"CASE WHEN {array} IS NULL THEN NULL WHEN {index} > 0 THEN {behind} WHEN {index} < 0 THEN {before} END"


def _arrays(types: Types) -> Types | None:
    """Arrays. A NULL counts as an array."""
    if not types or not all(isinstance(dtype, ArrayType) or dtype == NULL for dtype in types):
        return None
    return [ArrayType(NULL) if dtype == NULL else dtype for dtype in types]


def _zipped_type(types: Types) -> DataType:
    names = tuple(str(index) for index in range(len(types)))
    return ArrayType(StructType(names, tuple(map(element_type, types))))


def _arrays_zip(args: Sequence[str], _types: Types, result: DataType) -> str:
    known = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
    return f"CASE WHEN {known} THEN CAST(list_zip({', '.join(args)}) AS {duckdb_type(result)}) END"


def _entries(types: Types) -> Types | None:
    match types:
        case [ArrayType(StructType(names, [key, value]))]:
            return (ArrayType(StructType(names, (key_type(key), value))),)
    return None


def _entries_type(types: Types) -> DataType:
    struct = element_type(types[0])
    return MapType(*struct.types) if isinstance(struct, StructType) else NULL


def _map_from_entries(args: Sequence[str], types: Types, _result: DataType) -> str:
    struct = element_type(types[0])
    key, value = struct.names if isinstance(struct, StructType) else ("", "")
    fields = f"k := struct_extract(item, '{key}'), v := struct_extract(item, '{value}')"
    return map_of_entries(f"list_transform({args[0]}, lambda item: struct_pack({fields}))")


SPARK_COLLECTION_FUNCTIONS = (
    Page("get(array, index)", "an element by its position from 0; NULL outside", "get(array(1, 2), 1) -> 2").scalar(
        lambda types: (types[0], INT) if len(types) == 2 and isinstance(types[0], ArrayType) else None,
        lambda types: element_type(types[0]),
        "CASE WHEN {1} >= 0 THEN {0}[CAST({1} AS BIGINT) + 1] END",
        NullPolicy.CUSTOM,
    ),
    Page(
        "shuffle(array)",
        "the elements in a random order, another one each time",
        "shuffle(array(1, 2))",
        answer=Varying("[2,1]", r"\[1,2\]|\[2,1\]"),
    ).scalar(
        kind_of(ArrayType),
        same_as(0),
        "list_select({0}, list_grade_up(list_transform({0}, lambda _: random())))",
        is_deterministic=False,
    ),
    Page(
        "try_element_at(array, position), try_element_at(map, key)",
        "an element by its position from 1, from the end if it is negative; NULL if there is none",
        "try_element_at(array(1, 2), -1) -> 2",
    ).scalar(
        first_of(kind_of(ArrayType, then=(INT,)), _map_and_key),
        lambda types: types[0].value if isinstance(types[0], MapType) else element_type(types[0]),
        "{0}[{1}]",
        NullPolicy.CUSTOM,
    ),
    Page("array_prepend(array, x)", "with an element before", "array_prepend(array(2), 1) -> [1,2]").scalar(
        array_and_element, same_as(0), "CASE WHEN {0} IS NOT NULL THEN list_prepend({1}, {0}) END", NullPolicy.CUSTOM
    ),
    Page(
        "array_insert(array, position, x)",
        "with an element at a position from 1, or from the end",
        "array_insert(array(1, 3), 2, 2) -> [1,2,3]",
    ).scalar(_array_insert_arguments, same_as(0), _array_insert, NullPolicy.CUSTOM),
    Page("array_compact(array)", "without NULLs", "array_compact(array(1, NULL)) -> [1]").scalar(
        kind_of(ArrayType), same_as(0), "list_filter({0}, lambda item: item IS NOT NULL)"
    ),
    Page(
        "arrays_zip(array, …)",
        "structs of the elements at each position",
        'arrays_zip(array(1, 2), array(\'a\', \'b\')) -> [{"0":1,"1":"a"},{"0":2,"1":"b"}]',
    ).scalar(_arrays, _zipped_type, _arrays_zip, NullPolicy.CUSTOM),
    Page(
        "map_from_entries(array of structs)",
        "map of an array of keys and values",
        "map_from_entries(array(struct('a', 1))) -> {\"a\":1}",
    ).scalar(_entries, _entries_type, _map_from_entries),
)


def _time_sequence_arguments(types: Types) -> Types | None:
    """Two times of one kind and an interval. Without one, the step is a day."""
    if not 2 <= len(types) <= 3 or types[0] not in (DATE, TIMESTAMP) or types[1] not in (DATE, TIMESTAMP):
        return None
    kind = types[0] if types[0] == types[1] else TIMESTAMP
    return (kind, kind, *types[2:]) if all(map(is_interval, types[2:])) else None


def _time_sequence(args: Sequence[str], types: Types, result: DataType) -> str:
    first, last = (f"CAST({arg} AS TIMESTAMP)" for arg in args[:2])
    if len(args) == 2:
        step = f"to_days(CASE WHEN {args[0]} <= {args[1]} THEN 1 ELSE -1 END)"
        return f"CAST(generate_series({first}, {last}, {step}) AS {duckdb_type(result)})"
    if types[2] == INTERVAL_YEAR_MONTH:
        series = _months_series(first, last, args[2])
    else:
        series = f"generate_series({first}, {last}, to_microseconds({args[2]}))"
    return _towards(args, f"CAST({series} AS {duckdb_type(result)})")


def _months_series(first: str, last: str, months: str) -> str:
    """Times at whole months after the first: the 31st of January, the last of February, the 31st of March."""
    counts = f"range(abs(datediff('month', {first}, {last})) // abs({months}) + 1)"
    times = f"list_transform({counts}, lambda step: {first} + to_months(CAST(step * {months} AS INTEGER)))"
    return f"list_filter({times}, lambda time: CASE WHEN {months} > 0 THEN time <= {last} ELSE time >= {last} END)"


def _towards(args: Sequence[str], series: str) -> str:
    """Return the series, or an error if its step leads away from its end."""
    first, last, step = args
    away = f"({step} >= 0 AND {first} > {last}) OR ({step} <= 0 AND {first} < {last})"
    return (
        f"CASE WHEN {away} THEN error('sequence: its step does not lead from the start to the end') ELSE {series} END"
    )


def _sequence_arguments(types: Types) -> Types | None:
    return (
        [max(types, key=INTEGER_TYPES.index)] * len(types)
        if 2 <= len(types) <= 3 and all(dtype in INTEGER_TYPES for dtype in types)
        else None
    )


def _sequence(args: Sequence[str], types: Types, result: DataType) -> str:
    if types[0] in (DATE, TIMESTAMP):
        return _time_sequence(args, types, result)
    if len(args) == 3:
        by_step = f"CASE WHEN {args[2]} = 0 THEN [{args[0]}] ELSE generate_series({args[0]}, {args[1]}, {args[2]}) END"
        return _towards(args, f"CAST({by_step} AS {duckdb_type(result)})")
    step = f"CASE WHEN {args[0]} <= {args[1]} THEN 1 ELSE -1 END"
    return f"CAST(generate_series({args[0]}, {args[1]}, {step}) AS {duckdb_type(result)})"


SEQUENCE_FUNCTIONS = (
    Page(
        "sequence(start, end[, step])", "integers, days or times from one to another", "sequence(1, 3) -> [1,2,3]"
    ).scalar(first_of(_sequence_arguments, _time_sequence_arguments), lambda types: ArrayType(types[0]), _sequence),
)
