"""Keys of the objects of a JSON file, with types for their values."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

import duckdb
import pyarrow as pa

from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import LineLayout, line_chunks, line_splits
from sharkpy.sources.line_source import encoding_of
from sharkpy.sources.source import Properties
from sharkpy.sources.text_format import header_and_footer
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, STRING, DataType

MOST_KEYS = 1000
"""Most unknown keys of a file; the rest of the file is ignored after that."""
_SPLIT_BYTES = 1 << 26
_TYPES: dict[str, DataType] = {"BOOLEAN": BOOLEAN, "UBIGINT": BIGINT, "BIGINT": BIGINT, "DOUBLE": DOUBLE}
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
    layout, encoding = LineLayout(b"\n", *header_and_footer(properties)), encoding_of(properties) or "utf-8"
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
            dtype = _TYPES.get(kind, STRING)
            found[name] = common_type(found.get(name, dtype), dtype)


def common_type(one: DataType, other: DataType) -> DataType:
    """Type that holds the values of both."""
    if one == other:
        return one
    return DOUBLE if {one, other} == {BIGINT, DOUBLE} else STRING
