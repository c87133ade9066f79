"""Columns of files of JSON objects that nobody has described: their keys, with the types that all values have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

import duckdb

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SourceError
from sharkpy.base.json_nesting import check_json_nesting
from sharkpy.sources.interrupted_queries import interrupted_with_statement
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import LineLayout, line_chunks, line_splits
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, STRING, ArrayType, DataType, DecimalType, StructType

Structure: TypeAlias = "str | list[Structure] | dict[str, Structure]"
"""Of JSON values, as DuckDB has it: the name of a type, the one structure of an array's items, or that of each key."""
_SPLIT_BYTES = 1 << 26
_LINES = "(SELECT unnest(string_split(?, chr(10))) AS line)"
_OBJECTS = f"{_LINES} AS lines WHERE CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' END"
_STRUCTURE = (
    f"SELECT json_group_structure(line), coalesce(bool_or(regexp_matches(line, '[0-9]{{19}}')), false) FROM {_OBJECTS}"
)
_LARGE = f"""
SELECT DISTINCT lower(e.key) FROM (SELECT line FROM {_OBJECTS}) AS l, json_each(l.line) AS e
WHERE e.type = 'UBIGINT' AND try_cast(e.atom AS BIGINT) IS NULL
"""
_NUMBERS = ("UBIGINT", "BIGINT", "HUGEINT", "DOUBLE")
"""A type takes in the values of those before it."""
_MIXED, _NOTHING, _LARGE_NUMBER = "JSON", "NULL", "HUGEINT"
_TYPES: dict[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "UBIGINT": BIGINT,
    "BIGINT": BIGINT,
    _LARGE_NUMBER: DecimalType(20, 0),
    "DOUBLE": DOUBLE,
}
"""Others are STRING, as are values of several kinds, and what is NULL everywhere."""


def json_columns(files: Sequence[DataFile]) -> list[tuple[str, DataType]]:
    """Keys, in lower case, and types of all objects in some files, one a line; lines that are no objects tell nothing.
    Texts stay texts, though they look like times. SourceError where no object tells a column.
    """
    found = reduce(_merged, _structures(files), _NOTHING)
    if not isinstance(found, dict) or not found:
        raise SourceError("the columns of JSON files are not known: they have no object", sqlstate="42000")
    return [(key, _type(structure)) for key, structure in found.items()]


def _structures(files: Sequence[DataFile]) -> Iterator[Structure]:
    """The structure of the objects of each piece of the files that has some."""
    layout = LineLayout()
    with duckdb.connect(config={"threads": 1}) as connection, interrupted_with_statement(connection):
        for split in line_splits(files, "json", (), _SPLIT_BYTES, layout):
            for chunk in line_chunks(split, layout):
                check_cancelled()
                try:
                    yield _structure(connection, chunk.decode("utf-8", "replace"))
                except (duckdb.Error, ValueError) as error:
                    check_cancelled()
                    reason = str(error).splitlines()[0]
                    raise SourceError(f'the columns of "{split.path}" are not clear: {reason}') from None


def _structure(connection: duckdb.DuckDBPyConnection, text: str) -> Structure:
    row = connection.execute(_STRUCTURE, [text]).fetchone()
    if row is None or row[0] is None:
        return _NOTHING
    check_json_nesting(row[0])
    found = _lowered(json.loads(row[0]))
    if isinstance(found, dict) and row[1]:
        large = {key for (key,) in connection.execute(_LARGE, [text]).fetchall()}
        found |= {key: _merged(found[key], _LARGE_NUMBER) for key in large if key in found}
    return found


def _lowered(structure: Structure) -> Structure:
    """The structure with its keys in lower case: of those that differ by case alone there is one."""
    if isinstance(structure, list):
        return [_lowered(one) for one in structure]
    if not isinstance(structure, dict):
        return structure
    return reduce(_with_keys, ({key.lower(): _lowered(one)} for key, one in structure.items()), {})


def _merged(one: Structure, other: Structure) -> Structure:
    """Structure that takes the values of both in."""
    if other in (one, _NOTHING):
        return one
    if one == _NOTHING:
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        return _with_keys(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0])]
    if one in _NUMBERS and other in _NUMBERS:
        return max(str(one), str(other), key=_NUMBERS.index)
    return _MIXED


def _with_keys(one: Mapping[str, Structure], other: Mapping[str, Structure]) -> dict[str, Structure]:
    return {**one, **{key: _merged(one.get(key, _NOTHING), structure) for key, structure in other.items()}}


def _type(structure: Structure) -> DataType:
    if isinstance(structure, list):
        return ArrayType(_type(structure[0]))
    if isinstance(structure, dict) and structure:
        return StructType(tuple(structure), tuple(map(_type, structure.values())))
    return _TYPES.get(structure, STRING) if isinstance(structure, str) else STRING
