"""Opens files with some bytes changed, as a process of its own: `python -m tests.sources.damaged_files parquet 300`.

Prints the seed before each file, and what is no error of the engine; whoever has started it sees where it has died.
"""

from __future__ import annotations

import datetime
import random
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

from sharkpy.base.errors import SharkError
from sharkpy.catalog.model import StorageFormat
from sharkpy.execution.tasks.parquet_scan import parquet_query
from sharkpy.physical.stage_program import FileColumns
from sharkpy.sources.columns_of_files import columns_of_files
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.registry import source
from sharkpy.sources.row_group_statistics import row_group_statistics
from sharkpy.sources.split import Split
from sharkpy.values.types import Schema

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


def originals(kind: str, folder: Path) -> list[bytes]:
    path = folder / "original"
    made = []
    for place in range(4):
        if kind == "orc":
            pa.orc.write_table(TABLE, str(path), compression=("uncompressed", "zlib", "snappy", "zstd")[place])
        elif place < 2:
            pq.write_table(TABLE, path, compression=("none", "snappy")[place], row_group_size=2)
        else:
            pq.write_table(TABLE, path, use_dictionary=False, data_page_version="2.0", store_schema=place == 2)
        made.append(path.read_bytes())
    return made


def damaged(kind: str, files: list[bytes], seed: int) -> bytes:
    choice = random.Random(seed)
    data = bytearray(choice.choice(files))
    footer = int.from_bytes(data[-8:-4], "little") + 8 if kind == "parquet" else 700
    start = max(len(data) - footer, 0) if choice.random() < _FOOTER_SHARE else 0
    for _ in range(choice.choice([1, 1, 2, 3, 8])):
        place = choice.randrange(start, len(data))
        if choice.random() < 0.5:
            data[place] ^= 1 << choice.randrange(8)
        else:
            data[place] = choice.choice([0, 1, 0x7F, 0x80, 0xFF, choice.randrange(256)])
    return bytes(data)


def read(kind: str, path: Path) -> None:
    """Read a file in all ways. SharkError if it is damaged."""
    (file,) = list_data_files(str(path))
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
    ParquetSource().read_coded(split, schema, ReadMetrics())
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
        for seed in range(count):
            print(seed, flush=True)
            path = folder / f"{seed}.{kind}"
            path.write_bytes(damaged(kind, files, seed))
            try:
                read(kind, path)
            except (SharkError, duckdb.IOException, duckdb.InvalidInputException):
                pass
            except Exception as error:
                print(f"{seed}: {type(error).__name__}: {error}", flush=True)
            path.unlink()
    print("all", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
