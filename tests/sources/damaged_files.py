"""Opens files with some bytes changed, as a process of its own: `python -m tests.sources.damaged_files parquet 300`.

The program prints the seed before each file, and each error that is not the engine's, so that its caller sees at which
file it died.
"""

from __future__ import annotations

import datetime
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

from sharkpy.base.errors import SharkError
from sharkpy.catalog.hive_formats import COLUMNAR, LAZY_BINARY, LAZY_BINARY_COLUMNAR, LAZY_SIMPLE, SERDE_KEY
from sharkpy.catalog.model import StorageFormat
from sharkpy.execution.tasks.parquet_scan import parquet_query
from sharkpy.physical.stage_program import FileColumns
from sharkpy.sources.formats import source
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, OUTPUT_TYPE
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.parquet_footer import row_group_statistics
from sharkpy.sources.source import Properties, ReadMetrics, Split
from sharkpy.sources.undeclared_columns import columns_of_files
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema

TABLE = pa.table(
    {
        "i": pa.array([1, 2, None, 4], pa.int32()),
        "s": ["a", "bb", None, "dddd"],
        "d": [1.5, float("nan"), 2.5, None],
        "t": [datetime.datetime(2020, 1, 1)] * 4,
        "n": [Decimal("1.50")] * 4,
        "b": [b"x", b"yy", None, b"z"],
        "a": [[1, 2], [], None, [3]],
        "m": pa.array([[("k", 1)], [], None, [("z", 2)]], pa.map_(pa.string(), pa.int64())),
        "r": [{"x": 1, "y": "p"}, None, {"x": None, "y": "q"}, {"x": 3, "y": None}],
    }
)
_FOOTER_SHARE = 0.75
_FOOTER_BYTES = {"parquet": 8, "orc": 700}
HADOOP = ("rcfile", "sequencefile")
"""Formats whose readers are the engine's own. Their files do not tell the columns."""
HADOOP_SCHEMA = Schema(
    tuple(
        Field(name, parse_type(text))
        for name, text in (
            *(
                ("i", "int"),
                ("s", "string"),
                ("d", "double"),
                ("t", "timestamp"),
                ("n", "decimal(10,2)"),
                ("b", "binary"),
            ),
            *(("a", "array<int>"), ("m", "map<string,bigint>"), ("r", "struct<x:int,y:array<string>>"), ("w", "date")),
        )
    )
)
_MOST_SECONDS = 10.0
_MOST_MEMORY = 512 << 20
"""Bytes that damaged files of some kB may take of a process."""


def originals(kind: str, folder: Path) -> list[tuple[bytes, Properties]]:
    """Whole files, with the properties of their tables."""
    path = folder / "original"
    if kind in HADOOP:
        return list(_hadoop_files(kind, path))
    made = []
    for place in range(4):
        if kind == "orc":
            pa.orc.write_table(TABLE, str(path), compression=("uncompressed", "zlib", "snappy", "zstd")[place])
        elif place < 2:
            pq.write_table(TABLE, path, compression=("none", "snappy")[place], row_group_size=2)
        else:
            pq.write_table(TABLE, path, use_dictionary=False, data_page_version="2.0", store_schema=place == 2)
        made.append((path.read_bytes(), ()))
    return made


def _hadoop_files(kind: str, path: Path) -> Iterator[tuple[bytes, Properties]]:
    columns = TABLE.drop_columns(["r"]).to_pydict()
    columns["r"] = [{"x": 1, "y": ["p", None]}, None, {"x": None, "y": []}, {"x": 3, "y": None}]
    columns["w"] = [datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1), None]
    batch = pa.RecordBatch.from_pydict(columns, arrow_schema(HADOOP_SCHEMA))
    serdes = (COLUMNAR, LAZY_BINARY_COLUMNAR) if kind == "rcfile" else (LAZY_SIMPLE, LAZY_BINARY)
    codecs: list[Properties] = [
        (),
        (),
        *(((OUTPUT_CODEC, name),) for name in ("DefaultCodec", "SnappyCodec", "Lz4Codec")),
    ]
    if kind == "sequencefile":
        codecs.append(((OUTPUT_CODEC, "GzipCodec"), (OUTPUT_TYPE, "BLOCK")))
    for serde in serdes:
        for codec in codecs:
            properties = ((SERDE_KEY, serde), *codec)
            source(kind).write([batch, batch.slice(1, 2)], HADOOP_SCHEMA, properties, str(path))
            yield path.read_bytes(), properties


def damaged(kind: str, files: list[tuple[bytes, Properties]], seed: int) -> tuple[bytes, Properties]:
    choice = random.Random(seed)
    original, properties = choice.choice(files)
    data = bytearray(original)
    footer = _FOOTER_BYTES.get(kind, len(data))
    if kind == "parquet":
        footer += int.from_bytes(data[-8:-4], "little")
    start = max(len(data) - footer, 0) if choice.random() < _FOOTER_SHARE else 0
    for _ in range(choice.choice([1, 1, 2, 3, 8])):
        place = choice.randrange(start, len(data))
        if choice.random() < 0.5:
            data[place] ^= 1 << choice.randrange(8)
        else:
            data[place] = choice.choice([0, 1, 0x7F, 0x80, 0x88, 0xFF, choice.randrange(256)])
    return bytes(data), properties


def read(kind: str, path: Path, properties: Properties) -> None:
    """Read a file in all ways. SharkError if it is damaged."""
    (file,) = list_data_files(str(path))
    if kind in HADOOP:
        for names in (HADOOP_SCHEMA.names, ()):
            for split in source(kind).splits([file], HADOOP_SCHEMA, properties, 300):
                for batch in source(kind).read(split, HADOOP_SCHEMA, names):
                    batch.validate(full=True)
        return
    schema = columns_of_files([file], StorageFormat(kind, ()))
    splits = source(kind).splits([file], schema, (), 1 << 20)
    for split in splits:
        for _ in source(kind).read(split, schema, schema.names):
            pass
        if kind == "parquet":
            _read_parquet(split, schema)
    if kind == "parquet":
        _read_by_duckdb(splits, schema)


def _read_parquet(split: Split, schema: Schema) -> None:
    for _ in ParquetSource().read_coded(split, schema, ReadMetrics()):
        pass
    if split.plain is not None:
        row_group_statistics(split, schema.select([name for name, _ in split.plain.column_bytes]))


def _read_by_duckdb(splits: list[Split], schema: Schema) -> None:
    names = tuple(
        name for name in schema.names if splits and splits[0].plain and name in dict(splits[0].plain.column_bytes)
    )
    query = parquet_query(FileColumns("in0", schema, names, names), splits) if names else None
    if query is not None:
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(query).fetchall()


def main(kind: str, count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = originals(kind, folder)
        for data, properties in files:
            (folder / f"whole.{kind}").write_bytes(data)
            read(kind, folder / f"whole.{kind}", properties)
        (folder / f"whole.{kind}").unlink()
        memory = _peak_memory()
        for seed in range(count):
            print(seed, flush=True)
            path = folder / f"{seed}.{kind}"
            data, properties = damaged(kind, files, seed)
            path.write_bytes(data)
            began = time.process_time()
            try:
                read(kind, path, properties)
            except (SharkError, duckdb.IOException, duckdb.InvalidInputException):
                pass
            except Exception as error:
                print(f"{seed}: {type(error).__name__}: {error}", flush=True)
            if kind in HADOOP and time.process_time() - began > _MOST_SECONDS:
                print(f"{seed}: takes {time.process_time() - began:.1f} s", flush=True)
            path.unlink()
        if kind in HADOOP and _peak_memory() - memory > _MOST_MEMORY:
            print(f"all: take {_peak_memory() - memory:,} bytes", flush=True)
    print("all", flush=True)


def _peak_memory() -> int:
    """Most bytes that the process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
