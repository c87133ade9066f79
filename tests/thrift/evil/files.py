"""Files that hold, break or fill the process that reads them; {files} in a statement is the folder that has them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.thrift.evil.evil import LIMIT, TOO_COMPLEX, TOO_LARGE, Answer, Evil

_UNREADABLE = ("58030", "54000", "54011", *LIMIT)
_NO_COLUMNS = ("42000",)
_N = {"name": "n", "type": "long"}
_SYNC = b"0123456789abcdef"
_HUGE = 1 << 41


def write_files(folder: Path) -> None:
    folder.mkdir()
    for name, content in _CONTENTS.items():
        (folder / name).write_bytes(content)


def _number(value: int) -> bytes:
    rest, made = value << 1, bytearray()
    while rest > 0x7F:
        made.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*made, rest))


def _avro(fields: list[object], records: bytes, count: int = 1) -> bytes:
    schema = json.dumps({"type": "record", "name": "r", "fields": fields}).encode()
    head = b"Obj\x01" + _number(1) + _number(11) + b"avro.schema" + _number(len(schema)) + schema + _number(0)
    return head + _SYNC + _number(count) + _number(len(records)) + records + _SYNC


def _array(items: object) -> dict[str, object]:
    return {"name": "x", "type": {"type": "array", "items": items}}


def _doubling() -> str:
    fields: list[object] = [{"name": "f0", "type": {"type": "record", "name": "t0", "fields": [_N]}}]
    for level in range(1, 40):
        inner = [{"name": name, "type": f"t{level - 1}"} for name in "ab"]
        fields.append({"name": f"f{level}", "type": {"type": "record", "name": f"t{level}", "fields": inner}})
    return json.dumps({"type": "record", "name": "r", "fields": fields})


_NULLS = _number(7) + _number(_HUGE) + _number(0)
_CONTENTS = {
    "nulls.avro": _avro([_N, _array("null")], _NULLS),
    "nested.avro": _avro(
        [_N, _array({"type": "array", "items": "null"})], _number(7) + _number(1) + _NULLS[1:] + _number(0)
    ),
    "nothing.avro": _avro([], b"", _HUGE),
    "ints.avro": _avro([_N, _array("int")], _number(7) + _number(30_000_000) + b"\0" * 30_000_001),
    "decimal.avro": _avro(
        [{"name": "x", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0}}],
        _number(4_000_000) + b"\x11" * 4_000_000,
    ),
    "line.csv": b"x" * (30 << 20),
    "fields.csv": b"1," * (2 << 20),
    "quote.csv": b'a,b\n1,"2\n' + b"3,4\n" * (4 << 20),
    "object.json": b"{" + b",".join(b'"k%d":1' % one for one in range(1_000_000)) + b"}\n",
    "array.json": b'{"a":[' + b"1," * 10_000_000 + b"1]}\n",
}
_ARRAYS = ("nulls.avro", "nested.avro", "ints.avro")
_SHORT = ("nulls.avro", "fields.csv")

FILES = (
    *(
        Evil(
            f"file: {name}",
            f"SELECT {'max(size(x))' if name in _ARRAYS else 'count(*)'} FROM '{{files}}/{name}'",
            _NO_COLUMNS if name == "nothing.avro" else Answer(*_UNREADABLE),
            name in _SHORT,
        )
        for name in _CONTENTS
    ),
    Evil("file: nulls.avro, skipped", "SELECT sum(n) FROM '{files}/nulls.avro'", _UNREADABLE),
    Evil("file: decimal.avro, its value", "SELECT max(x) FROM '{files}/decimal.avro'", _UNREADABLE),
    Evil(
        "a schema that doubles",
        f"CREATE TABLE doubles STORED AS AVRO TBLPROPERTIES ('avro.schema.literal'='{_doubling()}')",
        (*TOO_COMPLEX, *TOO_LARGE),
        True,
    ),
    *(
        Evil(
            f"a large array written as {form}",
            f"INSERT OVERWRITE DIRECTORY '{{files}}/{form}' STORED AS {form} SELECT sequence(1, 3000000) AS x",
            Answer(*_UNREADABLE, *TOO_LARGE, "53200"),
        )
        for form in ("AVRO", "TEXTFILE", "JSONFILE")
    ),
)
