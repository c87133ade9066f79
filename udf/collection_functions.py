"""Arrays, maps and structs: constructors, access, search, order."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import BindError, InternalError, did_you_mean
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.ordering import flagged_keys, list_extreme, sorted_list
from sharkpy.udf.signatures import (
    Types,
    all_common,
    anything,
    common,
    converts,
    element_type,
    first_of,
    kind_of,
    returns,
    same_as,
)
from sharkpy.udf.types_duckdb import duckdb_type, quote_identifier
from sharkpy.values.types import (
    BOOLEAN,
    DATE,
    INT,
    INTEGER_TYPES,
    INTERVAL_YEAR_MONTH,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    MapType,
    StructType,
    common_type,
    is_interval,
    is_string,
)


def _array(args: Sequence[str], _types: Types, result: DataType) -> str:
    return f"CAST([{', '.join(args)}] AS {duckdb_type(result)})"


def _array_type(types: Types) -> DataType:
    return ArrayType(types[0] if types else STRING)


def _map_arguments(types: Types) -> Types | None:
    if len(types) % 2:
        return None
    if not types:
        return ()
    key, value = common(types[::2]), common(types[1::2])
    return None if key is None or value is None else [key, value] * (len(types) // 2)


def _map_type(types: Types) -> DataType:
    return MapType(types[0], types[1]) if types else MapType(STRING, STRING)


def _map(args: Sequence[str], _types: Types, result: DataType) -> str:
    """A later entry with the same key wins; entries with a NULL key are left out."""
    if not args:
        return f"CAST(MAP([], []) AS {duckdb_type(result)})"
    keys = args[::2]
    if len(keys) == len(set(keys)) and all(_is_constant(key) for key in keys):
        return f"CAST(MAP([{', '.join(keys)}], [{', '.join(args[1::2])}]) AS {duckdb_type(result)})"
    entries = ", ".join(f"struct_pack(k := {args[i]}, v := {args[i + 1]})" for i in range(0, len(args), 2))
    return f"CAST({map_of_entries(f'[{entries}]')} AS {duckdb_type(result)})"


def map_of_entries(entries: str) -> str:
    """A map of LIST(STRUCT(k, v)) in which the last entry of each key counts."""
    keys = f"list_transform({entries}, lambda entry: entry.k)"
    kept = f"list_filter({entries}, lambda one, pos: one.k IS NOT NULL AND NOT list_contains({keys}[pos + 1:], one.k))"
    return f"map_from_entries({kept})"


def _is_constant(sql: str) -> bool:
    return string_value(sql) is not None or sql.isdigit()


def _struct_type(types: Types) -> DataType:
    return StructType(tuple(f"col{index}" for index in range(1, len(types) + 1)), tuple(types))


def _struct(args: Sequence[str], _types: Types, result: DataType) -> str:
    if not isinstance(result, StructType):
        raise InternalError(f"struct of type {result}")
    fields = (f"{quote_identifier(name)} := {arg}" for name, arg in zip(result.names, args, strict=True))
    return f"struct_pack({', '.join(fields)})"


def _named_struct_arguments(types: Types) -> Types | None:
    if not types or len(types) % 2 or not all(converts(dtype, STRING) for dtype in types[::2]):
        return None
    return types


def _named_struct_type(_types: Types) -> DataType:
    raise InternalError("the type of named_struct needs its names: literal_result")


def _named_struct_literal_type(types: Types, values: Sequence[object]) -> DataType:
    names = values[::2]
    if not all(isinstance(name, str) for name in names):
        raise BindError("named_struct: its names must be constant strings")
    return StructType(tuple(str(name).lower() for name in names), tuple(types[1::2]))


def _named_struct(args: Sequence[str], types: Types, result: DataType) -> str:
    return _struct(args[1::2], types[1::2], result)


def _size_arguments(types: Types) -> Types | None:
    return types if len(types) == 1 and (isinstance(types[0], (ArrayType, MapType)) or types[0] == NULL) else None


def _size(args: Sequence[str], types: Types, _result: DataType) -> str:
    function = "cardinality" if isinstance(types[0], MapType) else "len"
    return f"coalesce(CAST({function}({args[0]}) AS INTEGER), -1)"


def _array_and_element(types: Types) -> Types | None:
    if len(types) != 2 or not isinstance(types[0], ArrayType):
        return None
    target = common_type(types[0].element, types[1])
    return None if target is None else (ArrayType(target), target)


def _two_arrays(types: Types) -> Types | None:
    return all_common(2, 2)(types) if all(isinstance(dtype, ArrayType) for dtype in types) else None


def _slice(args: Sequence[str], _types: Types, _result: DataType) -> str:
    start = f"CASE WHEN {args[1]} < 0 THEN len({args[0]}) + {args[1]} + 1 ELSE {args[1]} END"
    return (
        f"CASE WHEN {args[2]} >= 0 AND {args[1]} <> 0 THEN list_slice({args[0]}, {start}, {start} + {args[2]} - 1) END"
    )


def _entries_type(types: Types) -> DataType:
    mapping = types[0]
    if not isinstance(mapping, MapType):
        raise InternalError(f"map_entries of {mapping}")
    return ArrayType(StructType(("key", "value"), (mapping.key, mapping.value)))


def _key_type(types: Types) -> DataType:
    return ArrayType(types[0].key) if isinstance(types[0], MapType) else ArrayType(NULL)


def _value_type(types: Types) -> DataType:
    return ArrayType(types[0].value) if isinstance(types[0], MapType) else ArrayType(NULL)


def _sort_array(args: Sequence[str], types: Types, _result: DataType) -> str:
    ascending = sorted_list(args[0], element_type(types[0]), ascending=True, nulls_first=True)
    if len(args) == 1:
        return ascending
    descending = sorted_list(args[0], element_type(types[0]), ascending=False, nulls_first=False)
    return f"CASE WHEN {args[1]} THEN {ascending} ELSE {descending} END"


def _list_extreme(function: str) -> Lowering:
    return lambda args, types, _result: list_extreme(function, args[0], element_type(types[0]))


def _sort_array_by_arguments(types: Types) -> Types | None:
    match types:
        case [ArrayType(StructType()), _, *_] if all(is_string(name) for name in types[1:]):
            return types
    return None


def _sort_fields(values: Sequence[object]) -> tuple[list[str], str]:
    """The fields and the order that the arguments behind the array name."""
    words = [str(value).strip().lower() for value in values]
    order = words.pop() if len(words) > 1 and words[-1] in ("asc", "desc") else "asc"
    return words, order


def _sort_array_by_type(types: Types, values: Sequence[object]) -> DataType:
    if not all(isinstance(value, str) for value in values[1:]):
        raise BindError("sort_array_by: its fields and order must be constant strings")
    struct = element_type(types[0])
    names = struct.names if isinstance(struct, StructType) else ()
    for word in _sort_fields(values[1:])[0]:
        if word not in names:
            raise BindError(f'sort_array_by: no field "{word}" in {struct}', hint=did_you_mean(word, names))
    return types[0]


def _sort_array_by(args: Sequence[str], types: Types, _result: DataType) -> str:
    """By an array of keys and positions."""
    words, order = _sort_fields([string_value(arg) for arg in args[1:]])
    struct = element_type(types[0])
    dtypes = dict(zip(struct.names, struct.types, strict=True)) if isinstance(struct, StructType) else {}
    keys = flagged_keys((f"struct_extract(item, {quote_string(word)})", dtypes[word]) for word in words)
    place = "place" if order == "asc" else "-place"
    packed = f"list_transform({args[0]}, lambda item, place: struct_pack(key := row({keys}), place := {place}))"
    sorted_keys = f"list_sort({packed}, '{order.upper()}', 'NULLS FIRST')"
    return f"list_transform({sorted_keys}, lambda key: {args[0]}[abs(key.place)])"


def _array_join(args: Sequence[str], types: Types, _result: DataType) -> str:
    texts = lower_cast(args[0], types[0], ArrayType(STRING))
    if len(args) == 3:
        texts = f"list_transform({texts}, lambda joined: coalesce(joined, {args[2]}))"
    else:
        texts = f"list_filter({texts}, lambda joined: joined IS NOT NULL)"
    return f"array_to_string({texts}, {args[1]})"


def _time_sequence_arguments(types: Types) -> Types | None:
    """Two times of one kind and an interval; without one, days."""
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
    """Each a number of months behind the first: the 31st of January, the last of February, the 31st of March."""
    counts = f"range(abs(datediff('month', {first}, {last})) // abs({months}) + 1)"
    times = f"list_transform({counts}, lambda step: {first} + to_months(CAST(step * {months} AS INTEGER)))"
    return f"list_filter({times}, lambda time: CASE WHEN {months} > 0 THEN time <= {last} ELSE time >= {last} END)"


def _towards(args: Sequence[str], series: str) -> str:
    """The series, or an error where its step leads away from its end."""
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


def _flatten_type(types: Types) -> DataType:
    return element_type(types[0])


def _nested_array(types: Types) -> Types | None:
    return types if len(types) == 1 and isinstance(element_type(types[0]), ArrayType) else None


_ARRAY = kind_of(ArrayType)
_MAP = kind_of(MapType)

COLLECTION_FUNCTIONS = (
    ScalarFunction(
        "array",
        lambda types: all_common()(types) if types else (),
        _array_type,
        _array,
        NullPolicy.CUSTOM,
        usage="array(x, …)",
        doc="array of its arguments",
        example="array(1, 2, 3)",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "map",
        _map_arguments,
        _map_type,
        _map,
        NullPolicy.CUSTOM,
        usage="map(key, value, …)",
        doc="map of keys and values",
        example="map('a', 1)",
        answer='{"a":1}',
    ),
    ScalarFunction(
        "struct",
        anything(1),
        _struct_type,
        _struct,
        NullPolicy.CUSTOM,
        usage="struct(x, …)",
        doc="struct with fields col1, col2 …",
        example="struct(1, 'a')",
        answer='{"col1":1,"col2":"a"}',
    ),
    ScalarFunction(
        "named_struct",
        _named_struct_arguments,
        _named_struct_type,
        _named_struct,
        NullPolicy.CUSTOM,
        usage="named_struct(name, x, …)",
        doc="struct of names and values",
        example="named_struct('a', 1, 'b', 'x')",
        answer='{"a":1,"b":"x"}',
        literal_result=_named_struct_literal_type,
    ),
    ScalarFunction(
        "size",
        _size_arguments,
        returns(INT),
        _size,
        NullPolicy.CUSTOM,
        usage="size(array), size(map)",
        doc="number of elements; -1 for NULL",
        example="size(array(1, 2))",
        answer="2",
        aliases=("array_size", "cardinality"),
    ),
    ScalarFunction(
        "array_contains",
        _array_and_element,
        returns(BOOLEAN),
        "CASE WHEN {0} IS NULL THEN false ELSE coalesce(list_contains({0}, {1}), false) END",
        NullPolicy.CUSTOM,
        usage="array_contains(array, x)",
        doc="whether an element is equal",
        example="array_contains(array(1, 2), 2)",
        answer="true",
    ),
    ScalarFunction(
        "array_position",
        _array_and_element,
        returns(INT),
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN CAST(coalesce(list_position({0}, {1}), 0) AS INTEGER) END",
        NullPolicy.CUSTOM,
        usage="array_position(array, x)",
        doc="position from 1; 0 where absent",
        example="array_position(array(3, 2), 2)",
        answer="2",
    ),
    ScalarFunction(
        "sort_array",
        kind_of(ArrayType, then=(BOOLEAN,), optional=1),
        same_as(0),
        _sort_array,
        usage="sort_array(array[, ascending])",
        doc="elements in order, NULL first where ascending",
        example="sort_array(array(3, 1, 2))",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "sort_array_by",
        _sort_array_by_arguments,
        same_as(0),
        _sort_array_by,
        usage="sort_array_by(array of structs, field, …[, 'ASC' | 'DESC'])",
        doc="structs in the order of fields, 'ASC' or 'DESC' behind them",
        example="sort_array_by(array(named_struct('a', 2), named_struct('a', 1)), 'a')",
        answer='[{"a":1},{"a":2}]',
        literal_result=_sort_array_by_type,
    ),
    ScalarFunction(
        "array_distinct",
        _ARRAY,
        same_as(0),
        "shark_array_distinct({0})",
        usage="array_distinct(array)",
        doc="elements once each, in order",
        example="array_distinct(array(1, 2, 1))",
        answer="[1,2]",
    ),
    ScalarFunction(
        "array_max",
        _ARRAY,
        lambda t: element_type(t[0]),
        _list_extreme("max"),
        usage="array_max(array)",
        doc="greatest element",
        example="array_max(array(1, 3))",
        answer="3",
    ),
    ScalarFunction(
        "array_min",
        _ARRAY,
        lambda t: element_type(t[0]),
        _list_extreme("min"),
        usage="array_min(array)",
        doc="least element",
        example="array_min(array(1, 3))",
        answer="1",
    ),
    ScalarFunction(
        "array_remove",
        _array_and_element,
        same_as(0),
        "CASE WHEN {1} IS NOT NULL THEN list_filter({0}, lambda element: element IS DISTINCT FROM {1}) END",
        usage="array_remove(array, x)",
        doc="without elements that are equal",
        example="array_remove(array(1, 2), 2)",
        answer="[1]",
    ),
    ScalarFunction(
        "array_append",
        _array_and_element,
        same_as(0),
        "CASE WHEN {0} IS NOT NULL THEN list_append({0}, {1}) END",
        NullPolicy.CUSTOM,
        usage="array_append(array, x)",
        doc="with an element more",
        example="array_append(array(1), 2)",
        answer="[1,2]",
    ),
    ScalarFunction(
        "array_union",
        _two_arrays,
        same_as(0),
        "shark_array_distinct(list_concat({0}, {1}))",
        usage="array_union(a, b)",
        doc="elements of either, once each",
        example="array_union(array(1, 2), array(2, 3))",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "array_intersect",
        _two_arrays,
        same_as(0),
        "shark_array_distinct(list_filter({0}, lambda one: shark_has({1}, one)))",
        usage="array_intersect(a, b)",
        doc="elements of both, once each",
        example="array_intersect(array(1, 2), array(2, 3))",
        answer="[2]",
    ),
    ScalarFunction(
        "array_except",
        _two_arrays,
        same_as(0),
        "shark_array_distinct(list_filter({0}, lambda one: NOT shark_has({1}, one)))",
        usage="array_except(a, b)",
        doc="elements of the first only, once each",
        example="array_except(array(1, 2), array(2, 3))",
        answer="[1]",
    ),
    ScalarFunction(
        "arrays_overlap",
        _two_arrays,
        returns(BOOLEAN),
        "list_has_any({0}, {1})",
        usage="arrays_overlap(a, b)",
        doc="whether they share an element",
        example="arrays_overlap(array(1, 2), array(2, 3))",
        answer="true",
    ),
    ScalarFunction(
        "array_join",
        kind_of(ArrayType, then=(STRING, STRING), optional=1),
        returns(STRING),
        _array_join,
        usage="array_join(array, delimiter[, text for NULL])",
        doc="elements as one text",
        example="array_join(array('a', 'b'), ',')",
        answer="a,b",
    ),
    ScalarFunction(
        "array_repeat",
        lambda types: (types[0], INT) if len(types) == 2 and converts(types[1], INT) else None,
        lambda types: ArrayType(types[0]),
        "list_transform(generate_series(1, {1}), lambda unused: {0})",
        NullPolicy.CUSTOM,
        usage="array_repeat(x, n)",
        doc="an element so many times",
        example="array_repeat('a', 2)",
        answer='["a","a"]',
    ),
    ScalarFunction(
        "slice",
        kind_of(ArrayType, then=(INT, INT)),
        same_as(0),
        _slice,
        usage="slice(array, start, length)",
        doc="so many elements from a position",
        example="slice(array(1, 2, 3), 2, 2)",
        answer="[2,3]",
    ),
    ScalarFunction(
        "array_reverse",
        _ARRAY,
        same_as(0),
        "list_reverse({0})",
        usage="array_reverse(array)",
        doc="elements backwards",
        example="array_reverse(array(1, 2))",
        answer="[2,1]",
    ),
    ScalarFunction(
        "flatten",
        _nested_array,
        _flatten_type,
        "CASE WHEN len({0}) = list_count({0}) THEN flatten({0}) END",
        NullPolicy.CUSTOM,
        usage="flatten(array)",
        doc="one array of the arrays' elements; NULL where one of them is NULL",
        example="flatten(array(array(1), array(2)))",
        answer="[1,2]",
    ),
    ScalarFunction(
        "sequence",
        first_of(_sequence_arguments, _time_sequence_arguments),
        lambda types: ArrayType(types[0]),
        _sequence,
        usage="sequence(start, end[, step])",
        doc="integers, days or times from one to another",
        example="sequence(1, 3)",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "map_keys",
        _MAP,
        _key_type,
        "map_keys({0})",
        usage="map_keys(map)",
        doc="the keys",
        example="map_keys(map('a', 1))",
        answer='["a"]',
    ),
    ScalarFunction(
        "map_values",
        _MAP,
        _value_type,
        "map_values({0})",
        usage="map_values(map)",
        doc="the values",
        example="map_values(map('a', 1))",
        answer="[1]",
    ),
    ScalarFunction(
        "map_entries",
        _MAP,
        _entries_type,
        "map_entries({0})",
        usage="map_entries(map)",
        doc="structs of key and value",
        example="map_entries(map('a', 1))",
        answer='[{"key":"a","value":1}]',
    ),
    ScalarFunction(
        "map_contains_key",
        lambda types: (
            (types[0], types[0].key)
            if len(types) == 2 and isinstance(types[0], MapType) and converts(types[1], types[0].key)
            else None
        ),
        returns(BOOLEAN),
        "list_contains(map_keys({0}), {1})",
        usage="map_contains_key(map, key)",
        doc="whether the map has the key",
        example="map_contains_key(map('a', 1), 'a')",
        answer="true",
    ),
    ScalarFunction(
        "map_from_arrays",
        lambda types: types if len(types) == 2 and all(isinstance(t, ArrayType) for t in types) else None,
        lambda types: MapType(element_type(types[0]), element_type(types[1])),
        "map({0}, {1})",
        usage="map_from_arrays(keys, values)",
        doc="map of an array of keys and one of values",
        example="map_from_arrays(array('a'), array(1))",
        answer='{"a":1}',
    ),
    ScalarFunction(
        "map_concat",
        lambda types: all_common(1)(types) if all(isinstance(t, MapType) for t in types) else None,
        same_as(0),
        "map_concat({args})",
        usage="map_concat(map, …)",
        doc="maps joined; the last entry of a key counts",
        example="map_concat(map('a', 1), map('b', 2))",
        answer='{"a":1,"b":2}',
    ),
)
