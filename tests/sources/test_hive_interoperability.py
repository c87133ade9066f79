"""Interoperability with Hive's own classes (in Spark): their files are read here, and files written here by them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sharkpy.catalog.hive_formats import COLUMNAR, LAZY_BINARY, SERDE_KEY
from sharkpy.sources.formats import file_suffix, source
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, OUTPUT_TYPE
from sharkpy.sources.layout import list_data_files
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema
from tests.sources.hive_classes_job import COLUMNS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CODEC = "org.apache.hadoop.io.compress"


def _compressed(codec: str, kind: str = "RECORD") -> dict[str, str]:
    return {"hive.exec.compress.output": "true", OUTPUT_CODEC: f"{CODEC}.{codec}", OUTPUT_TYPE: kind}


COLUMNAR_CLAUSE = f"ROW FORMAT SERDE '{COLUMNAR}' STORED AS RCFILE"
BINARY_CLAUSE = f"ROW FORMAT SERDE '{LAZY_BINARY}' STORED AS SEQUENCEFILE"
TABLES: dict[str, tuple[str, tuple[tuple[str, str], ...], str, dict[str, str]]] = {
    "text": ("text", (), "STORED AS TEXTFILE", {}),
    "text_deflate": ("text", (), "STORED AS TEXTFILE", _compressed("DefaultCodec")),
    "text_gzip": ("text", (), "STORED AS TEXTFILE", _compressed("GzipCodec")),
    "text_bzip2": ("text", (), "STORED AS TEXTFILE", _compressed("BZip2Codec")),
    "text_snappy": ("text", (), "STORED AS TEXTFILE", _compressed("SnappyCodec")),
    "text_lz4": ("text", (), "STORED AS TEXTFILE", _compressed("Lz4Codec")),
    "sequence": ("sequencefile", (), "STORED AS SEQUENCEFILE", {}),
    "sequence_records": ("sequencefile", (), "STORED AS SEQUENCEFILE", _compressed("DefaultCodec")),
    "sequence_blocks": ("sequencefile", (), "STORED AS SEQUENCEFILE", _compressed("BZip2Codec", "BLOCK")),
    "sequence_snappy": ("sequencefile", (), "STORED AS SEQUENCEFILE", _compressed("SnappyCodec", "BLOCK")),
    "sequence_binary": ("sequencefile", ((SERDE_KEY, LAZY_BINARY),), BINARY_CLAUSE, {}),
    "rc": ("rcfile", (), "STORED AS RCFILE", {}),
    "rc_text": ("rcfile", ((SERDE_KEY, COLUMNAR),), COLUMNAR_CLAUSE, {}),
    "rc_deflate": ("rcfile", (), "STORED AS RCFILE", _compressed("DefaultCodec")),
    "rc_gzip": ("rcfile", ((SERDE_KEY, COLUMNAR),), COLUMNAR_CLAUSE, _compressed("GzipCodec")),
    "avro": ("avro", (), "STORED AS AVRO", {}),
}
"""Format, properties, clauses and settings of each table."""


def _schema() -> Schema:
    pairs = (column.strip().split(" ", 1) for column in COLUMNS.split(", "))
    return Schema(tuple(Field(name, parse_type(dtype)) for name, dtype in pairs))


def _read(name: str, folder: Path) -> list[dict[str, Any]]:
    format_name, properties, _, _ = TABLES[name]
    reader, schema = source(format_name), _schema()
    splits = reader.splits(list_data_files(str(folder)), schema, properties, 64)
    batches = [batch for split in splits for batch in reader.read(split, schema, schema.names)]
    return sorted(pa.Table.from_batches(batches, arrow_schema(schema)).to_pylist(), key=lambda row: str(row["i"]))


def _write(name: str, folder: Path, rows: list[dict[str, Any]]) -> None:
    format_name, properties, _, settings = TABLES[name]
    written = (*properties, *((key, value) for key, value in settings.items() if key in (OUTPUT_CODEC, OUTPUT_TYPE)))
    folder.mkdir(parents=True)
    path = folder / f"part-0{file_suffix(format_name, written)}"
    schema = _schema()
    source(format_name).write([pa.RecordBatch.from_pylist(rows, arrow_schema(schema))], schema, written, str(path))


def _run_job(folder: Path) -> None:
    job = Path(__file__).parent / "hive_classes_job.py"
    environment = {**os.environ, "TZ": "UTC"}
    done = subprocess.run(
        [sys.executable, str(job), str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder after two runs: the first writes files known to be right, the second reads the files written of them
    here.
    """
    folder = tmp_path_factory.mktemp("hive")
    rows = _rows()
    for name in TABLES:
        _write(name, folder / "ours" / name, rows)
    (folder / "tables.json").write_text(json.dumps([[name, table[2], table[3]] for name, table in TABLES.items()]))
    _run_job(folder)
    return folder


def _rows() -> list[dict[str, Any]]:
    """Rows of the job."""
    import datetime
    from decimal import Decimal

    first = (1, 10**10, -5, -300, 1.5, -2.25, True, "h\u00e9llo", "abc", b"xyz", Decimal("12.345"))
    last = (-1, -1, 0, 0, 0.0, 0.0, False, "", "v", b"q", Decimal("-0.500"))
    moment = datetime.datetime(2024, 2, 29, 12, 34, 56, 789000)
    before = datetime.datetime(1969, 12, 31, 23, 59, 59)
    rows = [
        (*first, moment.date(), moment, [1, None, -70000], [("k", 1.5)], {"x": 7, "y": ["p", "q"]}),
        (*last, before.date(), before, [], [], {"x": None, "y": None}),
        (None,) * 16,
    ]
    return sorted((dict(zip(_schema().names, row, strict=True)) for row in rows), key=lambda row: str(row["i"]))


@pytest.mark.parametrize("name", TABLES)
def test_theirs_are_read_here(name: str, folder: Path) -> None:
    assert _read(name, folder / "theirs" / name) == _rows()


@pytest.mark.parametrize("name", TABLES)
def test_ours_are_read_by_them(name: str, folder: Path) -> None:
    expected = json.loads((folder / "read" / "expected.json").read_text())
    assert json.loads((folder / "read" / f"{name}.json").read_text()) == expected
