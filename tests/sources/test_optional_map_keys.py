"""Maps of Parquet files whose keys are optional, as Presto writes them and Arrow does not open them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

import sharkpy
from sharkpy.sources.parquet_footer import _list_of, _message, _of

I32, I64, TEXT = TType.I32, TType.I64, "BINARY"
_MAP = 1
ELEMENT = _message(
    "SchemaElement",
    (1, I32, "type"),
    (3, I32, "repetition"),
    (4, TType.STRING, "name", TEXT),
    (5, I32, "children"),
    (6, I32, "converted"),
)
META = _message(
    "ColumnMetaData",
    (1, I32, "type"),
    (2, TType.LIST, "encodings", (I32, None, False)),
    (3, TType.LIST, "path", (TType.STRING, TEXT, False)),
    (4, I32, "codec"),
    *((number, I64, f"figure{number}") for number in (5, 6, 7, 9, 11)),
)
CHUNK = _message("ColumnChunk", (2, I64, "offset"), (3, TType.STRUCT, "meta", _of(META)))
GROUP = _message("RowGroup", (1, TType.LIST, "columns", _list_of(CHUNK)), (2, I64, "size"), (3, I64, "rows"))
FILE = _message(
    "FileMetaData",
    (1, I32, "version"),
    (2, TType.LIST, "schema", _list_of(ELEMENT)),
    (3, I64, "rows"),
    (4, TType.LIST, "groups", _list_of(GROUP)),
)


def with_optional_keys(data: bytes) -> bytes:
    """A file whose column `m` is a list of structs, as one whose `m` is a map: the levels of both are the same."""
    size = int.from_bytes(data[-8:-4], "little")
    footer, reader = FILE(), TCompactProtocolAccelerated(TMemoryBuffer(data[-8 - size : -8]), fallback=False)
    reader._fast_decode(footer, reader, _of(FILE))
    by_name: dict[bytes, Any] = {element.name: element for element in footer.schema}
    by_name[b"m"].converted = _MAP
    by_name[b"list"].name, by_name[b"list"].children = b"key_value", 2
    footer.schema = [element for element in footer.schema if element.name != b"element"]
    for group in footer.groups:
        for chunk in group.columns:
            if chunk.meta.path[0] == b"m":
                chunk.meta.path = [b"m", b"key_value", chunk.meta.path[-1]]
    buffer = TMemoryBuffer()
    writer = TCompactProtocolAccelerated(buffer, fallback=False)
    buffer.write(writer._fast_encode(footer, _of(FILE)))
    changed = buffer.getvalue()
    return data[: -8 - size] + changed + len(changed).to_bytes(4, "little") + b"PAR1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    entry = pa.struct([("key", pa.string()), ("value", pa.int32())])
    kind: Any = pa.list_(pa.field("element", entry, nullable=False))
    rows = [[{"key": "a", "value": 1}, {"key": "b", "value": None}], None, [], [{"key": "c", "value": 3}]]
    table = pa.table({"m": pa.array(rows, kind), "k": [1, 2, 3, 4]})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=2, store_schema=False)
    (tmp_path / "f.parquet").write_bytes(with_optional_keys((tmp_path / "f.parquet").read_bytes()))
    return tmp_path / "f.parquet"


def test_they_are_read(path: Path, tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid, match="Map keys"):
        pq.ParquetFile(path)
    with sharkpy.connect("local[2]", tmp_path / "warehouse") as context:
        answer = [({"a": 1, "b": None}, 1), (None, 2), ({}, 3), ({"c": 3}, 4)]
        assert context.sql(f"SELECT m, k FROM '{path}'").fetchall() == answer
        assert context.sql(f"SELECT count(*), sum(k), max(m['c']) FROM '{path}' WHERE k > 1").fetchall() == [(3, 9, 3)]
        columns = "m MAP<STRING, BIGINT>, k BIGINT, other STRING"
        context.sql(f"CREATE EXTERNAL TABLE presto ({columns}) STORED AS PARQUET LOCATION '{path}'")
        assert context.sql("SELECT * FROM presto").fetchall() == [(*row, None) for row in answer]
