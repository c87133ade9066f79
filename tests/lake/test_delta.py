"""Tables of Delta: made, written, read at their versions, and followed while other programs write them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="the extra delta is not installed")
pytest.importorskip("pyroaring", reason="the extra iceberg is not installed")

import base64
import datetime
import json
import shutil

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyroaring import BitMap64

import sharkpy
from sharkpy.base.errors import BindError, ExecutionError, NotAllowedError, SharkError, SourceError, UnsupportedError
from sharkpy.execution.restrictions import Restrictions
from tests.lake.tables import run
from tests.rows import rows


def location(context: sharkpy.SharkContext, name: str) -> str:
    return context.catalog.table("default", name).location or ""


def test_a_table_is_made_and_written(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE made (id BIGINT, name STRING COMMENT 'who', at TIMESTAMP, s STRUCT<a:INT>) USING delta",
        "INSERT INTO made VALUES (1, 'a', TIMESTAMP '2026-01-01 00:00:00', named_struct('a', 1))",
        "INSERT INTO made SELECT 2, NULL, NULL, NULL",
    )
    assert rows(context, "SELECT id, name, at, s.a FROM made ORDER BY id") == [
        (1, "a", datetime.datetime(2026, 1, 1), 1),
        (2, None, None, None),
    ]
    assert DeltaTable(location(context, "made")).to_pyarrow_table().num_rows == 2
    assert rows(context, "DESCRIBE made")[1] == ("name", "string", "who")
    assert rows(context, "SELECT count(*) FROM made.files") == [(2,)]


def test_versions(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE past STORED BY DELTA AS SELECT 1 AS a", "INSERT INTO past VALUES (2)")
    run(context, "INSERT OVERWRITE past SELECT 3")
    assert rows(context, "SELECT a FROM past") == [(3,)]
    assert rows(context, "SELECT version, operation FROM past.history ORDER BY version")[-1][0] == 3
    assert rows(context, "SELECT a FROM past VERSION AS OF 2 ORDER BY a") == [(1,), (2,)]
    moment = rows(context, "SELECT timestamp FROM past.history WHERE version = 3")[0][0]
    assert rows(context, f"SELECT a FROM past FOR SYSTEM_TIME AS OF '{moment}Z'") == [(3,)]
    with pytest.raises(BindError, match="has no time"):
        context.sql("SELECT a FROM past FOR SYSTEM_TIME AS OF '2001-01-01 00:00:00'")
    with pytest.raises(BindError, match="has no version 99"):
        context.sql("SELECT * FROM past VERSION AS OF 99")
    run(context, "TRUNCATE TABLE past")
    assert rows(context, "SELECT count(*) FROM past") == [(0,)]


def test_partitions_and_others(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    schema = pa.schema([("Day", pa.date32()), ("id", pa.int64()), ("word", pa.string())])
    days = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), None]
    found = pa.table({"Day": days, "id": [1, 2, 3], "word": ["x", "y", "z"]}, schema)
    write_deltalake(str(tmp_path), found, partition_by=["Day"])
    run(context, f"CREATE EXTERNAL TABLE theirs USING delta LOCATION '{tmp_path}'")
    assert context.catalog.table("default", "theirs").schema.names == ("day", "id", "word")
    assert rows(context, "SELECT * FROM theirs ORDER BY id") == [
        (day, i, w) for day, i, w in zip(days, (1, 2, 3), "xyz", strict=True)
    ]
    plan = "\n".join(row[0] for row in rows(context, "EXPLAIN SELECT * FROM theirs WHERE day = '2026-01-02'"))
    assert "1 of 3 files" in plan
    run(context, "INSERT INTO theirs VALUES (DATE '2026-01-02', 4, 'w'), (NULL, 5, 'v')")
    read = DeltaTable(str(tmp_path)).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["Day"]) for row in read if row["id"] > 3) == [(4, days[1]), (5, None)]
    write_deltalake(str(tmp_path), found, mode="append")
    assert rows(context, "SELECT count(*), count(day) FROM theirs") == [(8, 5)]
    assert rows(context, f"SELECT count(*) FROM delta.`{tmp_path}`") == [(8,)]
    run(context, "DROP TABLE theirs")
    assert DeltaTable(str(tmp_path)).to_pyarrow_table().num_rows == 8


def test_tables_in_memory_follow_versions(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE cached (a INT) USING delta TBLPROPERTIES ('shark.cache'='MEMORY')")
    run(context, "INSERT INTO cached SELECT CAST(id AS INT) FROM range(10)")
    assert rows(context, "SELECT sum(a) FROM cached") == [(45,)]
    write_deltalake(location(context, "cached"), pa.table({"a": pa.array([100], pa.int32())}), mode="append")
    assert rows(context, "SELECT sum(a) FROM cached") == [(145,)]
    run(context, "UPDATE cached SET a = 0 WHERE a = 100", "ALTER TABLE cached ADD COLUMNS (b STRING)")
    assert rows(context, "SELECT sum(a), count(b) FROM cached") == [(45, 0)]


def test_what_is_refused(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"a": [1]}))
    with pytest.raises(SourceError, match="no table of Delta"):
        context.sql(f"SELECT * FROM delta.`{tmp_path / '_delta_log'}`")
    run(context, f"CREATE EXTERNAL TABLE kept USING delta LOCATION '{tmp_path}'")
    with pytest.raises(UnsupportedError, match="than ADD COLUMNS"):
        context.sql("ALTER TABLE kept CHANGE a b BIGINT")
    with pytest.raises(UnsupportedError, match="LOAD DATA"):
        context.sql("LOAD DATA LOCAL INPATH '/tmp/x' INTO TABLE kept")


def test_append_only(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE kept_rows (a INT) USING delta TBLPROPERTIES ('delta.appendOnly'='true')")
    run(context, "INSERT INTO kept_rows VALUES (1)", "INSERT INTO kept_rows VALUES (2)")
    for statement in (
        "UPDATE kept_rows SET a = 3",
        "DELETE FROM kept_rows WHERE a = 1",
        "INSERT OVERWRITE kept_rows SELECT 4",
    ):
        with pytest.raises(ExecutionError, match=r"default\.kept_rows is append-only") as raised:
            context.sql(statement)
        assert raised.value.sqlstate == "42809"
    assert rows(context, "SELECT a FROM kept_rows ORDER BY a") == [(1,), (2,)]


def vector(found: list[int]) -> dict[str, object]:
    """Deletion vector in a log, in Z85."""
    data = b"\xd1\xd39d" + BitMap64(found).serialize()
    assert len(data) % 4 == 0
    known = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = base64.b85encode(data).decode().translate(str.maketrans(known, z85))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(found)}


def with_vector(folder: Path, protocol: dict[str, object], found: dict[str, object] | None) -> None:
    """Let the first version of a table have another protocol, and its file a deletion vector."""
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = protocol
        if "add" in action and found is not None:
            action["add"]["deletionVector"] = found
    log.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def features(*names: str) -> dict[str, object]:
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}


def test_deletion_vectors(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"id": list(range(100))}))
    with_vector(tmp_path, features("deletionVectors"), vector([0, 7, 50, 99]))
    run(context, f"CREATE EXTERNAL TABLE vectors USING delta LOCATION '{tmp_path}'")
    assert rows(context, "SELECT count(*), min(id), max(id) FROM vectors") == [(96, 1, 98)]
    assert rows(context, "SELECT count(*) FROM vectors") == [(96,)]
    run(context, "CACHE TABLE vectors")
    assert rows(context, "SELECT id FROM vectors WHERE id BETWEEN 6 AND 8 ORDER BY id") == [(6,), (8,)]
    with pytest.raises(UnsupportedError, match="with deletionVectors"):
        context.sql("INSERT INTO vectors VALUES (1)")


def test_hidden_names_do_not_lead_out_of_bounds(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    place, away = tmp_path / "open" / "t", tmp_path / "away"
    write_deltalake(str(place), pa.table({"a": [1]}))
    (file,) = place.glob("*.parquet")
    (log,) = (place / "_delta_log").glob("*.json")
    log.write_text(log.read_text().replace(file.name, f"_x/{file.name}"))
    away.mkdir()
    file.rename(away / file.name)
    (place / "_x").symlink_to(away)
    guest = context.new_session(shark_user="ann")
    guest.restrictions = Restrictions((tmp_path / "open",))
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        rows(guest, f"SELECT a FROM delta.`{place}`")
    (place / "_x").unlink()
    away.rename(place / "_x")
    assert rows(guest, f"SELECT a FROM delta.`{place}`") == [(1,)]


def test_columns_without_nulls_get_none(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.int32())])
    write_deltalake(str(tmp_path), pa.table({"a": [1], "b": [None]}, schema))
    run(
        context,
        f"CREATE EXTERNAL TABLE no_nulls USING delta LOCATION '{tmp_path}'",
        "INSERT INTO no_nulls VALUES (2, NULL)",
    )
    with pytest.raises(SharkError, match="NULL"):
        context.sql("INSERT INTO no_nulls VALUES (NULL, 3)")
    assert rows(context, "SELECT a FROM no_nulls ORDER BY a") == [(1,), (2,)]


def test_another_table_of_as_many_versions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    place = tmp_path / "t"
    write_deltalake(str(place), pa.table({"a": [1]}))
    run(context, f"CREATE EXTERNAL TABLE again USING delta LOCATION '{place}'")
    assert rows(context, f"SELECT a FROM delta.`{place}`") == rows(context, "SELECT a FROM again") == [(1,)]
    shutil.rmtree(place)
    write_deltalake(str(place), pa.table({"a": [2]}))
    assert rows(context, f"SELECT a FROM delta.`{place}`") == rows(context, "SELECT a FROM again") == [(2,)]


def test_binary_values_that_divide_files_are_refused(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    written = pa.table({"a": [1, 2], "k": pa.array([b"x", None], pa.binary())})
    write_deltalake(str(tmp_path), written, partition_by=["k"])
    with pytest.raises(UnsupportedError, match="divided by a binary column"):
        rows(context, f"SELECT a, k FROM delta.`{tmp_path}`")


@pytest.mark.parametrize("word", ["delta", "iceberg"])
def test_a_table_that_fails_leaves_nothing(context: sharkpy.SharkContext, tmp_path: Path, word: str) -> None:
    place = tmp_path / "t"
    make = f"CREATE TABLE failed_{word} USING {word} LOCATION '{place}' AS SELECT id FROM range(3)"
    with pytest.raises(SharkError, match="assert_true"):
        context.sql(f"{make} WHERE assert_true(id < 0) IS NULL")
    assert not place.exists()
    run(context, make)
    assert rows(context, f"SELECT count(*) FROM failed_{word}") == [(3,)]


def test_a_place_that_is_to_be_removed(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Files that a dropped table has left for a reader are not deleted when another table is in the folder."""
    make = f"CREATE TABLE left_there USING delta LOCATION '{tmp_path / 't'}' AS SELECT 1 AS a"
    run(context, make, "ALTER TABLE left_there SET TBLPROPERTIES ('external.table.purge'='true')")
    reading = context.catalog.readers.enter(location(context, "left_there"))
    run(context, "DROP TABLE left_there")
    context.catalog.readers.leave(reading)
    run(context, make)
    assert rows(context, "SELECT a FROM left_there") == [(1,)]


def test_unknown_features_are_refused(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"id": [1]}))
    with_vector(tmp_path, features("typeWidening"), None)
    with pytest.raises(SharkError, match="typeWidening"):
        context.sql(f"SELECT * FROM delta.`{tmp_path}`")


def test_drop(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE gone USING delta AS SELECT 1 AS a")
    folder = Path(location(context, "gone"))
    run(context, "DROP TABLE gone")
    assert not folder.exists()
