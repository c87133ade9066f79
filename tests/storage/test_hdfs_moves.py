"""Statements that move files between HDFS, buckets and this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from tests.hadoop import HadoopCluster
from tests.storage.places import BUCKET, hdfs_place
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def session(moto: S3Server, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    keys = {
        "fs.s3a.access.key": ACCESS_KEY,
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.endpoint": f"http://{moto.address}",
    }
    with sharkpy.connect("local[2]", tmp_path / "w", **keys) as session:
        session.sql("CREATE TABLE t (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE").close()
        session.sql("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)").close()
        yield session


def rows(session: sharkpy.SharkContext, table: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.sql(f"SELECT * FROM {table} ORDER BY a").fetchall()]


def test_files_move(hdfs: HadoopCluster, session: sharkpy.SharkContext) -> None:
    here, bucket = hdfs_place(hdfs.hdfs), f"s3a://{BUCKET}/{uuid4().hex}"
    expected = [(1, 1), (2, 1), (3, 2)]
    for statement in (
        f"EXPORT TABLE t TO '{here.folder}/t'",
        f"IMPORT TABLE near FROM '{here.folder}/t'",
        f"EXPORT TABLE near TO '{bucket}/t'",
        f"IMPORT TABLE far FROM '{bucket}/t' LOCATION '{here.folder}/far'",
        "ALTER TABLE far PARTITION (p=2) RENAME TO PARTITION (p=3)",
        f"INSERT OVERWRITE DIRECTORY '{here.folder}/out' SELECT a FROM t",
        f"INSERT OVERWRITE DIRECTORY '{here.folder}/out' SELECT a FROM t WHERE a > 1",
        "CREATE TABLE loaded (a INT) STORED AS TEXTFILE",
        f"LOAD DATA LOCAL INPATH '{here.folder}/out' INTO TABLE loaded",
        f"LOAD DATA INPATH '{here.folder}/out' INTO TABLE loaded",
    ):
        session.sql(statement).close()
    assert rows(session, "near") == expected
    assert rows(session, "far") == [(1, 1), (2, 1), (3, 3)]
    assert rows(session, "loaded") == [(2,), (2,), (3,), (3,)]
    assert list(here.store.list(here.path("out"))) == []
    # HDFS has folders in addition to files; they are gone, too.
    for name in ("t", "out"):
        assert not here.store.has_folder(here.path(f"{name}/_writes"))
