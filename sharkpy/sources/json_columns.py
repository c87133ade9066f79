"""Inferred columns of JSON files: the keys of their objects, with types for all values."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SourceError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.sources.duckdb_files import interrupted_with_statement
from sharkpy.sources.json_source import objects_of
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import LineLayout, line_chunks, line_splits
from sharkpy.sources.source import Properties
from sharkpy.sources.text_files import line_encoding
from sharkpy.sources.text_format import header_and_footer
from sharkpy.values.type_parser import MOST_LEVELS
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, STRING, ArrayType, DataType, DecimalType, StructType

Structure: TypeAlias = "str | list[Structure] | dict[str, Structure]"
"""Structure of JSON values, as in DuckDB: the name of a type, the structure of an array's items, or of each key."""
# A text has the structure VARCHAR; the structure JSON means values of several kinds.
_STRUCTURE = """
SELECT json_group_structure(CAST(line AS JSON)), coalesce(bool_or(regexp_matches(line, '[0-9]{19}')), false)
FROM lines
WHERE CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' END
"""
_MIXED, _NOTHING, _LARGE = "JSON", "NULL", "LARGE"
_NUMBERS = ("UBIGINT", "BIGINT", "HUGEINT", _LARGE, "DOUBLE")
"""A type can hold the values of the types before it. DuckDB's HUGEINT are signed numbers."""
_TYPES: dict[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "UBIGINT": BIGINT,
    "BIGINT": BIGINT,
    "HUGEINT": BIGINT,
    _LARGE: DecimalType(20, 0),
    "DOUBLE": DOUBLE,
}
"""All other structures are STRING, also values of several kinds, and only NULLs."""


def json_columns(files: Sequence[DataFile], properties: Properties) -> list[tuple[str, DataType]]:
    """Keys, in lower case, and types of all objects in some files, ignoring rows that are not objects.

    Texts stay texts, even if they look like times. SourceError if no object has a key.
    """
    found = _of_all(_structures(files, properties))
    if files and not isinstance(found, dict) and _are_empty(files, properties):
        # As in DuckDB: rows without a value, or no rows.
        return [("json", STRING)]
    if not isinstance(found, dict) or not found:
        raise SourceError("the columns of JSON files are not known: they have no object", sqlstate="42000")
    return [(key, _type(structure)) for key, structure in found.items()]


def _are_empty(files: Sequence[DataFile], properties: Properties) -> bool:
    """True if there are no rows, or only objects without keys."""
    return all(b"".join(row.split()) in (b"", b"{}") for _, rows in objects_of(files, properties) for row in rows)


def _structures(files: Sequence[DataFile], properties: Properties) -> Iterator[Structure]:
    """Structure of the objects in each piece of the files."""
    with duckdb.connect(config={"threads": 1}) as connection, interrupted_with_statement(connection):
        for path, rows in objects_of(files, properties):
            check_cancelled()
            try:
                yield _structure(connection, [row.decode("utf-8", "replace") for row in rows])
            except (duckdb.Error, ValueError) as error:
                check_cancelled()
                reason = str(error).splitlines()[0]
                raise SourceError(f'the columns of "{path}" are not clear: {reason}') from None


def _structure(connection: duckdb.DuckDBPyConnection, lines: list[str]) -> Structure:
    for line in lines:
        # DuckDB infers a structure recursively on the stack of this thread.
        check_json_nesting(line)
    connection.register("lines", pa.table({"line": pa.array(lines, pa.string())}))
    ((structure, has_long),) = connection.execute(_STRUCTURE).fetchall()
    found = _lowered(json.loads(structure or "null"))
    if not isinstance(found, dict):
        return _NOTHING
    return _merged(found, _of_all(map(_large_numbers, lines))) if has_long else found


def _large_numbers(line: str) -> Structure:
    """Structure of an object with types only for integers that do not fit into BIGINT."""
    try:
        value = json.loads(line)
    except ValueError:
        return _NOTHING
    return _large(value) if isinstance(value, dict) else _NOTHING


def _large(value: Any) -> Structure:
    if isinstance(value, dict):
        return _lowered({key: _large(one) for key, one in value.items()})
    if isinstance(value, list):
        return [_of_all(map(_large, value))]
    # Larger integers, of more than 64 bits, are DOUBLE.
    return _LARGE if isinstance(value, int) and 1 << 63 <= value < 1 << 64 else _NOTHING


def _lowered(structure: Structure) -> Structure:
    """Structure with its keys in lower case; keys that differ only by case are merged."""
    if isinstance(structure, list):
        return [_lowered(one) for one in structure]
    if not isinstance(structure, dict):
        return structure
    found: dict[str, Structure] = {}
    for key, one in structure.items():
        name = key.lower()
        found[name] = _merged(found.get(name, _NOTHING), _lowered(one))
    return found


def _of_all(structures: Iterable[Structure]) -> Structure:
    found: Structure = _NOTHING
    for one in structures:
        found = _merged(found, one)
    return found


def _merged(one: Structure, other: Structure) -> Structure:
    """Structure that holds the values of both."""
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


def _type(structure: Structure, level: int = 1) -> DataType:
    if level < MOST_LEVELS and isinstance(structure, list):
        return ArrayType(_type(structure[0], level + 1))
    if level < MOST_LEVELS and isinstance(structure, dict) and structure:
        return StructType(tuple(structure), tuple(_type(one, level + 1) for one in structure.values()))
    return _TYPES.get(structure, STRING) if isinstance(structure, str) else STRING


MOST_KEYS = 1000
"""Most unknown keys of a file; the rest of the file is ignored after that."""
_SPLIT_BYTES = 1 << 26
_TYPES_OF_VALUES: dict[str, DataType] = {"BOOLEAN": BOOLEAN, "UBIGINT": BIGINT, "BIGINT": BIGINT, "DOUBLE": DOUBLE}
_LINES = "SELECT line, place FROM lines WHERE CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' END"
_KEYS = f"SELECT DISTINCT json_keys(line) FROM ({_LINES})"
# Integers too large for BIGINT are kept exactly as texts.
_VALUES = f"""
SELECT lower(e.key), CASE WHEN e.type = 'UBIGINT' AND try_cast(e.atom AS BIGINT) IS NULL THEN 'VARCHAR' ELSE e.type END
FROM ({_LINES}) AS l, json_each(l.line) AS e
WHERE e.type <> 'NULL'
GROUP BY ALL ORDER BY min((l.place, e.id))
"""


def key_types(file: DataFile, known: Collection[str], properties: Properties) -> dict[str, DataType]:
    """Types of the keys that are not `known`, in lower case, from all values of a file that are not null.

    Lines that are not objects have no keys.
    """
    layout, encoding = LineLayout(b"\n", *header_and_footer(properties)), line_encoding(properties) or "utf-8"
    found: dict[str, DataType] = {}
    with duckdb.connect(config={"threads": 1}) as connection:
        for split in line_splits([file], "json", properties, _SPLIT_BYTES, layout):
            for chunk in line_chunks(split, layout):
                _add(connection, chunk.decode(encoding, "replace"), known, found)
                if len(found) > MOST_KEYS:
                    return dict(islice(found.items(), MOST_KEYS + 1))
    return found


def _add(connection: duckdb.DuckDBPyConnection, text: str, known: Collection[str], found: dict[str, DataType]) -> None:
    texts = text.split("\n")
    lines = pa.table({"line": pa.array(texts, pa.string()), "place": range(len(texts))})
    connection.register("lines", lines)
    objects = connection.execute(_KEYS).fetchall()
    if all(key.lower() in known for (keys,) in objects for key in keys):
        return
    for name, kind in connection.execute(_VALUES).fetchall():
        if name not in known:
            dtype = _TYPES_OF_VALUES.get(kind, STRING)
            found[name] = common_type(found.get(name, dtype), dtype)


def common_type(one: DataType, other: DataType) -> DataType:
    """Type that holds the values of both."""
    if one == other:
        return one
    return DOUBLE if {one, other} == {BIGINT, DOUBLE} else STRING
