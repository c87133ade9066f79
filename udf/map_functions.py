"""Maps: construction, keys and values, lookup and concatenation."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import InternalError
from sharkpy.udf.duckdb_sql import duckdb_type, string_value
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import (
    Types,
    all_common,
    common,
    converts,
    element_type,
    kind_of,
    same_as,
)
from sharkpy.values.types import (
    BOOLEAN,
    NULL,
    STRING,
    ArrayType,
    DataType,
    MapType,
    StructType,
)


def key_type(dtype: DataType) -> DataType:
    """Return the type of a map's keys; a map cannot hold keys of type void."""
    return STRING if dtype == NULL else dtype


def _map_arguments(types: Types) -> Types | None:
    if len(types) % 2:
        return None
    if not types:
        return ()
    key, value = common(types[::2]), common(types[1::2])
    return None if key is None or value is None else [key_type(key), value] * (len(types) // 2)


def _keys_and_values(types: Types) -> Types | None:
    match types:
        case [ArrayType(key), ArrayType() as values]:
            return (ArrayType(key_type(key)), values)
    return None


def _map_type(types: Types) -> DataType:
    return MapType(types[0], types[1]) if types else MapType(STRING, STRING)


def _map(args: Sequence[str], _types: Types, result: DataType) -> str:
    """Lower map(…): a later entry with the same key wins, and entries with a NULL key are left out."""
    if not args:
        return f"CAST(MAP([], []) AS {duckdb_type(result)})"
    keys = args[::2]
    if len(keys) == len(set(keys)) and all(_is_constant(key) for key in keys):
        return f"CAST(MAP([{', '.join(keys)}], [{', '.join(args[1::2])}]) AS {duckdb_type(result)})"
    entries = ", ".join(f"struct_pack(k := {args[i]}, v := {args[i + 1]})" for i in range(0, len(args), 2))
    return f"CAST({map_of_entries(f'[{entries}]')} AS {duckdb_type(result)})"


def map_of_entries(entries: str) -> str:
    """Return SQL of a map of LIST(STRUCT(k, v)); the last entry of each key wins."""
    return f"map_from_entries(shark_last_entries({entries}))"


def _is_constant(sql: str) -> bool:
    return string_value(sql) is not None or sql.isdigit()


def _entries_type(types: Types) -> DataType:
    mapping = types[0]
    if not isinstance(mapping, MapType):
        raise InternalError(f"map_entries of {mapping}")
    return ArrayType(StructType(("key", "value"), (mapping.key, mapping.value)))


def _key_type(types: Types) -> DataType:
    return ArrayType(types[0].key) if isinstance(types[0], MapType) else ArrayType(NULL)


def _value_type(types: Types) -> DataType:
    return ArrayType(types[0].value) if isinstance(types[0], MapType) else ArrayType(NULL)


MAP_FUNCTIONS = (
    Page("map(key, value, …)", "map of keys and values", "map('a', 1) -> {\"a\":1}").scalar(
        _map_arguments, _map_type, _map, NullPolicy.CUSTOM
    ),
    Page("map_keys(map)", "the keys", "map_keys(map('a', 1)) -> [\"a\"]").scalar(
        kind_of(MapType), _key_type, "map_keys({0})"
    ),
    Page("map_values(map)", "the values", "map_values(map('a', 1)) -> [1]").scalar(
        kind_of(MapType), _value_type, "map_values({0})"
    ),
    Page(
        "map_entries(map)", "structs of key and value", 'map_entries(map(\'a\', 1)) -> [{"key":"a","value":1}]'
    ).scalar(kind_of(MapType), _entries_type, "map_entries({0})"),
    Page(
        "map_contains_key(map, key)", "whether the map has the key", "map_contains_key(map('a', 1), 'a') -> true"
    ).scalar(
        lambda types: (
            (types[0], types[0].key)
            if len(types) == 2 and isinstance(types[0], MapType) and converts(types[1], types[0].key)
            else None
        ),
        BOOLEAN,
        "list_contains(map_keys({0}), {1})",
    ),
    Page(
        "map_from_arrays(keys, values)",
        "map of an array of keys and one of values",
        "map_from_arrays(array('a'), array(1)) -> {\"a\":1}",
    ).scalar(_keys_and_values, lambda types: MapType(element_type(types[0]), element_type(types[1])), "map({0}, {1})"),
    Page(
        "map_concat(map, …)",
        "maps joined; the last entry of a key counts",
        "map_concat(map('a', 1), map('b', 2)) -> {\"a\":1,\"b\":2}",
    ).scalar(
        lambda types: all_common(1)(types) if all(isinstance(t, MapType) for t in types) else None,
        same_as(0),
        "map_concat({args})",
    ),
)
