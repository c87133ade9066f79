"""Files of Iceberg that other programs have written: columns by their ids, rows that were deleted, fields that divide
them.
"""

from __future__ import annotations

import datetime
import json
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
)
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType
from pyroaring import BitMap64

import sharkpy
from sharkpy.base.errors import ResourceError, SharkError, SourceError
from sharkpy.sources.lake.deleted_rows import EqualRows, bitmap_positions
from tests.lake.tables import run
from tests.rows import rows


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path_factory.mktemp("warehouse")) as opened:
        yield opened


@pytest.fixture
def other(context: sharkpy.SharkContext, tmp_path: Path) -> Any:
    """A catalog of another program, which the session knows by its settings."""
    run(
        context,
        "SET iceberg.catalog.other.type=sql",
        f"SET iceberg.catalog.other.uri=sqlite:///{tmp_path}/other.sqlite",
        f"SET iceberg.catalog.other.warehouse=file://{tmp_path}/files",
        "DROP TABLE IF EXISTS t",
    )
    made = load_catalog(
        "other", type="sql", uri=f"sqlite:///{tmp_path}/other.sqlite", warehouse=f"file://{tmp_path}/files"
    )
    made.create_namespace("ns")
    yield made
    made.close()


_KNOW = "CREATE EXTERNAL TABLE t STORED BY ICEBERG TBLPROPERTIES ('iceberg.catalog'='other', 'name'='ns.t')"


def test_columns_go_by_their_ids(context: sharkpy.SharkContext, other: Any) -> None:
    point = pa.struct([("x", pa.int32()), ("y", pa.int32())])
    schema = pa.schema(
        [("a", pa.int32()), ("b", pa.string()), ("f", pa.float32()), ("p", point), ("l", pa.list_(point))]
    )
    table = other.create_table("ns.t", schema)
    table.append(
        pa.table({"a": [1], "b": ["one"], "f": [1.5], "p": [{"x": 1, "y": 2}], "l": [[{"x": 3, "y": 4}]]}, schema)
    )
    with table.update_schema() as update:
        update.rename_column("b", "was_b")
        update.update_column("a", LongType())
        update.update_column("f", DoubleType())
        update.rename_column("p.x", "left")
        update.delete_column("p.y")
        update.add_column(("p", "y"), StringType())
        update.rename_column("l.element.y", "down")
        update.move_first("f")
    with table.update_schema() as update:
        update.add_column("b", StringType())
    run(context, _KNOW)
    assert context.catalog.table("default", "t").schema.names == ("f", "a", "was_b", "p", "l", "b")
    expected = [(1.5, 1, "one", {"left": 1, "y": None}, [{"x": 3, "down": 4}], None)]
    assert rows(context, "SELECT * FROM t") == expected
    run(context, "CACHE TABLE t")
    assert rows(context, "SELECT * FROM t") == expected
    run(context, "UNCACHE TABLE t")


def test_specs_change(context: sharkpy.SharkContext, other: Any) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us"))])
    table = other.create_table("ns.t", schema)
    table.append(pa.table({"id": [1], "at": [datetime.datetime(2026, 1, 1)]}, schema))
    with table.update_spec() as update:
        update.add_field("at", DayTransform())
    table.append(pa.table({"id": [2, 3], "at": [datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 3)]}, schema))
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(4))
    table.append(pa.table({"id": [4], "at": [datetime.datetime(2026, 1, 4)]}, schema))
    run(context, _KNOW)
    assert rows(context, "SELECT count(*), max(id) FROM t WHERE at >= '2026-01-02'") == [(3, 4)]
    plan = "\n".join(row[0] for row in rows(context, "EXPLAIN SELECT * FROM t WHERE at = '2026-01-03'"))
    assert "1 of 4 files" in plan
    run(context, "INSERT INTO t SELECT 5, NULL")
    assert rows(context, "SELECT count(*), sum(id) FROM t") == [(5, 15)]
    added = next(task.file for task in table.refresh().scan("id = 5").plan_files())
    bucket = BucketTransform(4).transform(LongType())(5)
    assert (added.spec_id, tuple(added.partition)) == (table.spec().spec_id, (None, bucket))


def test_instants_are_shown_in_utc(context: sharkpy.SharkContext, other: Any) -> None:
    schema = pa.schema([("at", pa.timestamp("us", "UTC"))])
    table = other.create_table("ns.t", schema)
    table.append(pa.table({"at": [datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)]}, schema))
    run(context, _KNOW, "INSERT INTO t VALUES (TIMESTAMP '2026-02-01 00:00:00')")
    assert rows(context, "SELECT at FROM t ORDER BY at") == [
        (datetime.datetime(2026, 1, 1, 12),),
        (datetime.datetime(2026, 2, 1),),
    ]
    read = sorted(table.refresh().scan().to_arrow().column("at").to_pylist())
    assert read[1] == datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)


def test_required_columns_take_no_nulls(context: sharkpy.SharkContext, other: Any) -> None:
    from pyiceberg.schema import Schema

    other.create_table("ns.t", Schema(NestedField(1, "a", LongType(), required=True)))
    run(context, _KNOW, "INSERT INTO t VALUES (1)")
    with pytest.raises(SharkError, match="a"):
        context.sql("INSERT INTO t SELECT CAST(NULL AS BIGINT)").fetchall()
    assert rows(context, "SELECT * FROM t") == [(1,)]


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _AddDeletes(_FastAppendFiles):
    """Snapshot that adds files of deletes, as engines write that merge on read."""

    deletes: tuple[DataFile, ...] = ()

    def _manifests(self) -> list[Any]:
        spec = self._transaction.table_metadata.spec()
        output, number = self.new_manifest_output(), self._snapshot_id
        with _DeletesWriter(spec, self.schema(), output, number, "null") as writer:
            for file in self.deletes:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=number,
                        sequence_number=None,
                        file_sequence_number=None,
                        data_file=file,
                    )
                )
        return [writer.to_manifest_file(), *self._existing_manifests()]


def add_deletes(
    table: Any, path: Path, form: FileFormat, count: int, content: Any, ids: Any = None, place: str = ""
) -> None:
    file = DataFile.from_args(
        content=content,
        file_path=place or f"file://{path}",
        file_format=form,
        partition=Record(*[None] * len(table.spec().fields)),
        record_count=count,
        file_size_in_bytes=path.stat().st_size,
        equality_ids=ids,
        spec_id=table.spec().spec_id,
    )
    file.spec_id = table.spec().spec_id
    transaction = table.transaction()
    made = _AddDeletes(Operation.DELETE, transaction, table.io, uuid.uuid4())
    made.deletes = (file,)
    made.commit()
    transaction.commit_transaction()


def numbers(other: Any, name: str = "ns.t") -> Any:
    schema = pa.schema([("id", pa.int64())])
    table = other.create_table(name, schema)
    for start in (0, 100):
        table.append(pa.table({"id": list(range(start, start + 100))}, schema))
    return table


def test_deletes_by_position(context: sharkpy.SharkContext, other: Any, tmp_path: Path) -> None:
    table = numbers(other)
    run(context, _KNOW, "CACHE TABLE t")
    assert rows(context, "SELECT count(*), sum(id) FROM t") == [(200, sum(range(200)))]
    paths = sorted(task.file.file_path for task in table.scan().plan_files())
    first = {path: pq.read_table(path.removeprefix("file://")).column("id")[0].as_py() for path in paths}
    gone = [(path, pos) for path in paths for pos in (0, 7, 99)]
    target = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])
    pq.write_table(
        pa.table([[path for path, _ in gone], [pos for _, pos in gone]], schema=target), tmp_path / "d.parquet"
    )
    add_deletes(table, tmp_path / "d.parquet", FileFormat.PARQUET, 6, DataFileContent.POSITION_DELETES)
    left = sum(range(200)) - sum(first[path] + pos for path, pos in gone)
    assert rows(context, "SELECT count(*), sum(id) FROM t") == [(194, left)]
    run(context, "UNCACHE TABLE t")
    assert rows(context, "SELECT count(*), sum(id) FROM t") == [(194, left)]
    assert rows(context, "SELECT count(*) FROM t") == [(194,)]
    assert rows(context, "SELECT id FROM t WHERE id IN (0, 1, 107, 108) ORDER BY id") == [(1,), (108,)]
    assert rows(context, "SELECT content, record_count FROM t.files ORDER BY content") == [(0, 100), (0, 100), (1, 6)]
    run(context, "INSERT OVERWRITE t SELECT id FROM t WHERE id < 10")
    assert rows(context, "SELECT count(*) FROM t") == [(8,)]


def puffin(vector: bytes, of: str) -> bytes:
    body = b"\xd1\xd39d" + vector
    blob = len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    facts = {"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1, "offset": 4}
    facts |= {"length": len(blob), "properties": {"referenced-data-file": of, "cardinality": "2"}}
    footer = json.dumps({"blobs": [facts]}).encode()
    return b"PFA1" + blob + b"PFA1" + footer + len(footer).to_bytes(4, "little") + bytes(4) + b"PFA1"


def test_deletion_vectors(context: sharkpy.SharkContext, other: Any, tmp_path: Path) -> None:
    table = numbers(other)
    path = next(iter(table.scan().plan_files())).file.file_path
    low = pq.read_table(path.removeprefix("file://")).column("id")[0].as_py()
    content = puffin(BitMap64([1, 5]).serialize(), path)
    (tmp_path / "d.puffin").write_bytes(content)
    add_deletes(table, tmp_path / "d.puffin", FileFormat.PUFFIN, 2, DataFileContent.POSITION_DELETES)
    run(context, _KNOW)
    assert rows(context, f"SELECT id - {low} FROM t WHERE id BETWEEN {low} AND {low + 6} ORDER BY id") == [
        (0,),
        (2,),
        (3,),
        (4,),
        (6,),
    ]
    assert rows(context, "SELECT count(*) FROM t") == [(198,)]


def test_deletes_by_equality(context: sharkpy.SharkContext, other: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int32()), ("word", pa.string()), ("part", pa.string())])
    table = other.create_table("ns.t", schema)
    words = ["a", "b", None, "a", None, "c"]
    table.append(pa.table({"id": [1, 1, 1, 2, 2, None], "word": words, "part": ["x"] * 6}, schema))
    with table.update_schema() as update:
        update.update_column("id", LongType())
    ids = ({"PARQUET:field_id": "2"}, {"PARQUET:field_id": "1"})
    target = pa.schema([pa.field("word", pa.string(), True, ids[0]), pa.field("id", pa.int64(), True, ids[1])])
    deletes = pa.table({"word": ["a", None, "c", "z", None], "id": [1, 2, None, 2, 2]}, target)
    pq.write_table(deletes, tmp_path / "e.parquet")
    path = tmp_path / "e.parquet"
    add_deletes(table, path, FileFormat.PARQUET, 5, DataFileContent.EQUALITY_DELETES, [2, 1])
    run(context, _KNOW)
    left = [(1, None), (1, "b"), (2, "a")]
    assert rows(context, "SELECT id, word FROM t ORDER BY id, word") == left
    assert rows(context, "SELECT count(*) FROM t") == [(3,)]
    assert rows(context, "SELECT part FROM t") == [("x",)] * 3
    assert rows(context, "SELECT id FROM t WHERE word = 'a'") == [(2,)]
    # Deletes still use a column that the table has lost, and do not apply to later rows.
    with table.refresh().update_schema() as update:
        update.delete_column("word")
    table.refresh().append(pa.table({"id": [1], "part": ["y"]}, pa.schema([("id", pa.int64()), ("part", pa.string())])))
    assert rows(context, "SELECT id, part FROM t ORDER BY id, part") == [(1, "x"), (1, "x"), (1, "y"), (2, "x")]
    run(context, "CACHE TABLE t")
    assert rows(context, "SELECT count(*) FROM t") == [(4,)]
    run(context, "UNCACHE TABLE t")
    assert rows(context, "SELECT content, record_count FROM t.files ORDER BY content, record_count") == [
        (0, 1),
        (0, 6),
        (2, 5),
    ]


def test_deletes_of_a_table_that_is_divided_no_more(context: sharkpy.SharkContext, other: Any, tmp_path: Path) -> None:
    """Tables of version 1 keep the fields that they lose, as void ones: deletes by equality are of all rows then."""
    schema = pa.schema([("id", pa.int64()), ("part", pa.string())])
    table = other.create_table("ns.t", schema, properties={"format-version": "1"})
    with table.update_spec() as update:
        update.add_field("part", IdentityTransform(), "part_field")
    table.append(pa.table({"id": [1, 2, 1], "part": ["x", "x", "y"]}, schema))
    with table.update_spec() as update:
        update.remove_field("part_field")
    with table.transaction() as transaction:
        transaction.upgrade_table_version(2)
    path = tmp_path / "e.parquet"
    target = pa.schema([pa.field("id", pa.int64(), True, {"PARQUET:field_id": "1"})])
    pq.write_table(pa.table({"id": [1]}, target), path)
    add_deletes(table, path, FileFormat.PARQUET, 1, DataFileContent.EQUALITY_DELETES, [1])
    run(context, _KNOW)
    assert len(table.spec().fields) == 1
    assert rows(context, "SELECT id, part FROM t") == [(2, "x")]
    assert rows(context, "SELECT count(*) FROM t") == [(1,)]


_VALUES = st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from("abc"), st.none() | st.booleans())


@given(st.lists(_VALUES, max_size=40), st.lists(_VALUES, max_size=10))
def test_rows_are_equal(found: list[tuple[Any, ...]], deleted: list[tuple[Any, ...]]) -> None:
    types = (pa.int64(), pa.string(), pa.bool_())

    def columns(values: list[tuple[Any, ...]]) -> list[Any]:
        return [pa.array([one[place] for one in values], dtype) for place, dtype in enumerate(types)]

    made = EqualRows.of((1, 2, 3), columns(deleted))
    mask = made.has([pa.chunked_array([column]) for column in columns(found)])
    assert mask.to_pylist() == [one in deleted for one in found]


@pytest.mark.parametrize(
    "found",
    [
        [],
        [0],
        [0, 1, 2, 65535, 65536, 1 << 33],
        list(range(5000)),
        list(range(0, 200_000, 3)),
        [*range(70_000), *range(1 << 40, (1 << 40) + 10)],
    ],
    ids=len,
)
@pytest.mark.parametrize("has_runs", [True, False])
def test_roaring_bitmaps(found: list[int], has_runs: bool) -> None:
    made = BitMap64(found)
    if has_runs:
        made.run_optimize()
    assert bitmap_positions(made.serialize()).tolist() == found


def test_few_bytes_of_very_many_rows_are_refused() -> None:
    made = BitMap64(range(200_000_000))
    made.run_optimize()
    data = made.serialize()
    assert len(data) < 100_000
    with pytest.raises(ResourceError) as caught:
        bitmap_positions(data)
    assert caught.value.sqlstate == "54000"


def test_runs_that_overlap_are_refused() -> None:
    runs = 2_000
    head = (1).to_bytes(8, "little") + bytes(4) + (12347).to_bytes(4, "little") + b"\x01" + b"\0\0\xff\xff"
    with pytest.raises(SourceError):
        bitmap_positions(head + runs.to_bytes(2, "little") + b"\0\0\xff\xff" * runs)


@pytest.mark.parametrize("size", [0, 7, 12, 20])
def test_damaged_bitmaps_are_told(size: int) -> None:
    with pytest.raises(SourceError):
        bitmap_positions(BitMap64([1, 2, 3]).serialize()[:size])
    with pytest.raises(SourceError, match="not a roaring bitmap"):
        bitmap_positions((1).to_bytes(8, "little") + bytes(40))
