"""Remains of a session: after it was killed, after its disk was full, for the next session, for another one at the same
time.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError, ResourceError

ROOT = Path(__file__).parents[2]
CHILD = """
import sys, sharkpy
from pathlib import Path
folder, moment = sys.argv[1:]
context = sharkpy.connect("local[2]", folder + "/w", **{
    "shark.store.shm.dir": folder + "/shm", "shark.temp.dir": folder + "/tmp", "shark.block.rows": 500})
context.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('shark.cache'='MEMORY')")
context.sql(
    "INSERT INTO t VALUES " + ", ".join(f"({n})" for n in range(3000)))
if moment == "load":
    from sharkpy.columnar.block_writer import BlockWriter
    write, count = BlockWriter.write, []
    def slow(self, *args, **kwargs):
        handle = write(self, *args, **kwargs)
        count.append(handle)
        if len(count) == 3:
            print("ready", flush=True)
            sys.stdin.read()
        return handle
    BlockWriter.write = slow
    context.sql("CACHE TABLE t")
else:
    context.sql("CACHE TABLE t")
    rows = context.sql("SELECT a.k FROM t a JOIN t b ON a.k = b.k")
    rows.fetchone()
    print("ready", flush=True)
    sys.stdin.read()
"""


def connect(folder: Path, **conf: Any) -> sharkpy.SharkContext:
    for name in ("shm", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    places = {"shark.store.shm.dir": folder / "shm", "shark.temp.dir": folder / "tmp"}
    return sharkpy.connect("local[2]", folder / "w", **(places | conf))


@pytest.mark.variants(2)
@pytest.mark.parametrize("moment", ["load", "query"])
def test_a_killed_session_leaves_nothing(tmp_path: Path, moment: str) -> None:
    for name in ("shm", "tmp"):
        (tmp_path / name).mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), moment], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    child.stdin.close()
    left = os.listdir(tmp_path / "shm")
    assert len(left) == 1
    with connect(tmp_path) as context:
        assert context.sql("SELECT count(*), sum(k) FROM t").fetchall() == [(3000, sum(range(3000)))]
        assert not set(left) & set(os.listdir(tmp_path / "shm"))
        assert len(os.listdir(tmp_path / "tmp")) == 1
        version = context.table_cache.loaded_version(context.catalog.table("default", "t"))
        assert version is not None
        folder = Path(version.blocks[0].durable_path or "").parent
        assert {path.name for path in folder.glob("*.arrow")} == {f"{block.block_id}.arrow" for block in version.blocks}
    assert os.listdir(tmp_path / "shm") == os.listdir(tmp_path / "tmp") == []


def test_a_restart_reads_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(tmp_path) as context:
        context.sql("CREATE TABLE t (k INT, s STRING) TBLPROPERTIES ('shark.cache'='true')")
        context.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL); INSERT INTO t VALUES (3, 'c')")
        context.sql("CACHE TABLE t")
        context.sql("CREATE TABLE m TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT k FROM t")
    from sharkpy.sources.parquet import ParquetSource

    for name in ("read", "read_coded"):
        monkeypatch.setattr(ParquetSource, name, lambda *_: pytest.fail("the source was read"))
    with connect(tmp_path) as context:
        assert sorted(context.sql("SELECT k, s FROM t").fetchall()) == [(1, "a"), (2, None), (3, "c")]
        assert context.sql("SHOW TABLES").to_arrow().num_rows == 1


def test_forms_of_caching(tmp_path: Path) -> None:
    with connect(tmp_path) as context:
        context.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (1), (2)")

        def loaded(name: str) -> bool:
            return context.table_cache.is_loaded(context.catalog.table("default", name))

        context.sql("CACHE LAZY TABLE t")
        assert not loaded("t")
        assert context.sql("SELECT sum(k) FROM t").fetchall() == [(3,)]
        assert loaded("t")
        context.sql("UNCACHE TABLE t; UNCACHE TABLE IF EXISTS nowhere")
        assert not loaded("t")
        context.sql("CACHE TABLE c AS SELECT k + 1 AS k FROM t")
        assert context.sql("SELECT sum(k) FROM c").fetchall() == [(5,)]
        assert loaded("c")
        for name, value, is_kept in (("x_cached", None, True), ("x", "true", True), ("y", "false", False)):
            properties = f"TBLPROPERTIES ('shark.cache'='{value}')" if value else ""
            context.sql(f"CREATE TABLE {name} (k INT) {properties}; INSERT INTO {name} VALUES (7)")
            assert context.sql(f"SELECT k FROM {name}").fetchall() == [(7,)]
            assert loaded(name) is is_kept
        context.sql("CLEAR CACHE")
        assert not loaded("x")
        assert context.sql("SELECT k FROM x").fetchall() == [(7,)]
        context.sql("DROP TABLE x; DROP TABLE x_cached; DROP TABLE c")
        assert list((tmp_path / "w").rglob("manifest-*")) == []


def test_two_sessions_of_one_warehouse(tmp_path: Path) -> None:
    with connect(tmp_path) as one, connect(tmp_path) as other:
        one.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('shark.cache'='MEMORY'); INSERT INTO t VALUES (1)")
        for number in range(2, 6):
            writer, reader = (one, other) if number % 2 else (other, one)
            assert reader.sql("SELECT count(*) FROM t").fetchall() == [(number - 1,)]
            writer.sql(f"INSERT INTO t VALUES ({number})")
            for context in (writer, reader):
                assert sorted(context.sql("SELECT k FROM t").fetchall()) == [(n,) for n in range(1, number + 1)]
        one.sql("INSERT OVERWRITE TABLE t VALUES (9)")
        for _ in range(2):
            assert one.sql("SELECT k FROM t").fetchall() == other.sql("SELECT k FROM t").fetchall() == [(9,)]


def test_the_limit_of_shared_memory_holds(tmp_path: Path) -> None:
    limit = 300_000
    with connect(tmp_path, shark_store_memory_limit=limit, shark_block_rows=10_000) as context:
        for name in ("a", "b"):
            data = tmp_path / name
            data.mkdir()
            (data / "f").write_text("".join(f"{n * 7919 % 1000003}\n" for n in range(100_000)))
            context.sql(f"CREATE EXTERNAL TABLE {name} (k BIGINT) STORED AS TEXTFILE LOCATION '{data}'")
            context.sql(f"CACHE TABLE {name}")
        expected = sum(n * 7919 % 1000003 for n in range(100_000))
        for name in ("a", "b", "a", "b"):
            assert context.sql(f"SELECT sum(k) FROM {name}").fetchall() == [(expected,)]
            usage = context.engine.store.usage()
            assert 0 < usage.memory_bytes <= limit
        assert usage.local_bytes > 0
        joined = "SELECT count(*) FROM a JOIN b ON a.k = b.k"
        assert context.sql(joined).fetchall() == [(100_000,)]


def test_many_small_appends_are_put_together(tmp_path: Path) -> None:
    with connect(tmp_path) as context:
        context.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('shark.cache'='MEMORY'); CACHE TABLE t")
        for number in range(40):
            context.sql(f"INSERT INTO t VALUES ({number})")
        context.table_cache.settle()
        version = context.table_cache.loaded_version(context.catalog.table("default", "t"))
        assert version is not None
        assert len(version.blocks) < 32
        assert context.sql("SELECT k FROM t").fetchall() == [(number,) for number in range(40)]
    with connect(tmp_path) as context:
        assert sorted(context.sql("SELECT k FROM t").fetchall()) == [(number,) for number in range(40)]


def test_a_full_disk_while_loading_leaves_nothing(tmp_path: Path) -> None:
    with connect(tmp_path) as context:
        data = tmp_path / "data"
        data.mkdir()
        (data / "f").write_text("".join(f"{n * 7919 % 1000003}\n" for n in range(100_000)))
        context.sql(
            f"CREATE EXTERNAL TABLE t (k BIGINT) STORED AS TEXTFILE LOCATION '{data}' "
            "TBLPROPERTIES ('shark.cache'='MEMORY')"
        )
        before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        context.engine.store  # noqa: B018 - its folders are made before there is no room
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            with pytest.raises((ResourceError, ExecutionError), match="no space left"):
                context.sql("CACHE TABLE t")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
            signal.signal(signal.SIGXFSZ, handler)
        assert context.engine.store.usage().memory_bytes == 0
        assert list((tmp_path / "w").rglob("*.arrow")) == []
        assert context.sql("SELECT count(*) FROM t").fetchall() == [(100_000,)]


@pytest.mark.spark
def test_loading_as_rdd_tasks(tmp_path: Path) -> None:
    with connect(tmp_path, shark_load_driver_max_bytes=0, shark_block_rows=1000) as context:
        data = tmp_path / "data"
        data.mkdir()
        for part in range(3):
            (data / f"f{part}").write_text(
                "".join(f"{n},x\n" for n in range(part * 1500, part * 1500 + 1500)) + "bad\n"
            )
        context.sql(
            "CREATE EXTERNAL TABLE t (k BIGINT, s STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' "
            f"LOCATION '{data}' TBLPROPERTIES ('shark.cache'='MEMORY')"
        )
        context.sql("CACHE TABLE t")
        table = context.catalog.table("default", "t")
        version = context.table_cache.loaded_version(table)
        assert version is not None
        assert context.engine.is_spark_started
        assert max(block.num_rows for block in version.blocks) <= 1000
        assert context.table_cache.metrics(table).malformed_lines == 3
        assert context.sql("SELECT count(*), sum(k) FROM t").fetchall() == [(4503, sum(range(4500)))]
        (data / "f1").write_bytes(b"\xff" * 10)
    assert len(list((tmp_path / "w").rglob("*.arrow"))) == len(version.blocks)
