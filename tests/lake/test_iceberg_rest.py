"""Tables of a REST catalog, which gives the keys to their files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")
pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import pyarrow as pa

import sharkpy
from sharkpy.base.errors import ExecutionError, SharkError
from tests.lake.buckets import new_place, others_catalog, others_options
from tests.lake.rest_catalog import RestCatalogServer
from tests.lake.tables import run
from tests.rows import rows
from tests.storage.s3_servers import S3Server


@pytest.fixture
def server(seaweed: S3Server, tmp_path: Path) -> Iterator[RestCatalogServer]:
    """Server of the catalog; storage checks signatures, so reads need the keys that the catalog gives."""
    for tables in others_catalog(tmp_path, new_place(), seaweed.address):
        made = RestCatalogServer(tables, others_options(seaweed.address))
        yield made
        made.close()


@pytest.fixture
def context(server: RestCatalogServer, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as opened:
        run(opened, "SET iceberg.catalog.far.type=rest", f"SET iceberg.catalog.far.uri={server.uri}")
        yield opened


_FAR = "STORED BY ICEBERG TBLPROPERTIES ('iceberg.catalog'='far', 'name'='ns.t')"


def test_the_keys_of_the_catalog_are_used(context: sharkpy.SharkContext, server: RestCatalogServer) -> None:
    run(context, f"CREATE EXTERNAL TABLE t (k INT) {_FAR}", "INSERT INTO t VALUES (1), (2)")
    assert rows(context, "SELECT k FROM t ORDER BY k") == [(1,), (2,)]
    run(context, "INSERT OVERWRITE t SELECT k FROM t WHERE k = 2")
    server.tables.load_table("ns.t").append(pa.table({"k": pa.array([3], pa.int32())}))
    assert rows(context, "SELECT k FROM t ORDER BY k") == [(2,), (3,)]
    place = server.tables.load_table("ns.t").location()
    # The keys open only that table.
    with pytest.raises(SharkError, match="no keys"):
        rows(context, f"SELECT * FROM iceberg.`{place}`")
    shown = str(rows(context, "DESCRIBE FORMATTED t")) + str(rows(context, "SHOW CREATE TABLE t"))
    assert server.config["s3.secret-access-key"] not in shown


def test_keys_that_end_are_replaced(context: sharkpy.SharkContext, server: RestCatalogServer) -> None:
    run(context, f"CREATE EXTERNAL TABLE t (k INT) {_FAR}", "INSERT INTO t VALUES (1)")
    assert rows(context, "SELECT k FROM t") == [(1,)]
    good = server.config
    server.config = {**good, "s3.secret-access-key": "another"}
    with pytest.raises(SharkError):
        run(context, "INSERT INTO t VALUES (2)")
    server.config = good
    run(context, "INSERT INTO t VALUES (3)")
    assert rows(context, "SELECT k FROM t ORDER BY k") == [(1,), (3,)]


def test_commits_whose_answer_is_lost_count_once(context: sharkpy.SharkContext, server: RestCatalogServer) -> None:
    run(context, f"CREATE EXTERNAL TABLE t (k INT) {_FAR}")
    server.failures.append(504)
    run(context, "INSERT INTO t VALUES (1)")
    assert rows(context, "SELECT k FROM t") == [(1,)]
    server.failures.append(504)
    commit = server.tables.commit_table
    server.tables.commit_table = lambda table, *_: type("None", (), {"metadata": table.metadata})
    with pytest.raises(ExecutionError, match="is not known") as told:
        run(context, "INSERT INTO t VALUES (2)")
    assert told.value.sqlstate == "40003"
    server.tables.commit_table = commit
