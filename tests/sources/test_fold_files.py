"""Small files folded into one have the same rows in the same order, or are left alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.model import StorageFormat
from sharkpy.sources.fold_files import fold_files, is_foldable
from sharkpy.sources.formats import source
from sharkpy.sources.layout import DataFile
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema

SCHEMA = Schema((Field("a", parse_type("int")), Field("s", parse_type("string")), Field("t", parse_type("timestamp"))))
TEXT = StorageFormat("text", (("field.delim", ","),))
PARQUET = StorageFormat("parquet")


def rows(path: Path, storage: StorageFormat) -> list[dict[str, object]]:
    status = path.stat()
    reader = source(storage.name)
    splits = reader.splits(
        [DataFile(str(path), status.st_size, status.st_mtime_ns)], SCHEMA, storage.properties, 1 << 30
    )
    read = [batch for split in splits for batch in reader.read(split, SCHEMA, SCHEMA.names)]
    return [row for batch in read for row in batch.to_pylist()]


def written(folder: Path, parts: list[list[int]], storage: StorageFormat) -> list[str]:
    paths = []
    for number, part in enumerate(parts):
        paths.append(str(folder / f"in-{number}{'.txt' if storage.name == 'text' else '.parquet'}"))
        texts = [None if value % 3 == 0 else f"x{value}" for value in part]
        times = [None if value % 5 == 0 else value * 1_000_000 for value in part]
        arrays = [pa.array(part, pa.int32()), pa.array(texts, pa.string()), pa.array(times, pa.timestamp("us"))]
        batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(SCHEMA))
        source(storage.name).write([batch], SCHEMA, storage.properties, paths[-1])
    return paths


@pytest.mark.parametrize("storage", [TEXT, PARQUET])
@settings(max_examples=30, deadline=None)
@given(parts=st.lists(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=20), min_size=1, max_size=5))
def test_rows_stay(tmp_path_factory: pytest.TempPathFactory, storage: StorageFormat, parts: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("fold")
    paths = written(folder, parts, storage)
    (folder / "out").mkdir()
    assert is_foldable(storage)
    assert fold_files(paths, SCHEMA, storage, str(folder / "out"))
    (folded,) = (folder / "out").iterdir()
    assert rows(folded, storage) == [row for path in paths for row in rows(Path(path), storage)]


def test_a_last_line_without_an_end(tmp_path: Path) -> None:
    for name, text in (("a", "1,x"), ("b", ""), ("c", "2,y\r"), ("d", "3,z")):
        (tmp_path / f"{name}.txt").write_text(text, newline="")
    (tmp_path / "out").mkdir()
    paths = [str(tmp_path / f"{name}.txt") for name in "abcd"]
    assert fold_files(paths, SCHEMA, TEXT, str(tmp_path / "out"))
    (folded,) = (tmp_path / "out").iterdir()
    assert [row["a"] for row in rows(folded, TEXT)] == [1, 2, 3]


def test_what_could_lose_something_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    paths = written(tmp_path, [[1], [2]], PARQUET)
    wider = pq.read_table(paths[1]).append_column("more", pa.array(["kept"]))
    pq.write_table(wider, paths[1])
    assert not fold_files(paths, SCHEMA, PARQUET, str(tmp_path / "out"))
    (tmp_path / "a.txt.gz").write_bytes(b"")
    (tmp_path / "b.txt").write_bytes(b"1,x\n")
    (tmp_path / "c.txt").write_bytes(b"\xef\xbb\xbf2,y\n")
    assert not fold_files([str(tmp_path / "a.txt.gz")], SCHEMA, TEXT, str(tmp_path / "out"))
    assert not fold_files([str(tmp_path / "b.txt"), str(tmp_path / "c.txt")], SCHEMA, TEXT, str(tmp_path / "out"))
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    "storage",
    [
        StorageFormat("orc"),
        StorageFormat("avro"),
        StorageFormat("text", (("skip.header.line.count", "1"),)),
        StorageFormat(CSV),
    ],
)
def test_formats_that_stay(tmp_path: Path, storage: StorageFormat) -> None:
    assert not is_foldable(storage)
    assert not fold_files([], SCHEMA, storage, str(tmp_path))
