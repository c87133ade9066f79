"""Tables in a bucket, written by executors apart from the driver; one of them is killed as it writes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from tests.faults.cluster import connect, executors, run_apart
from tests.storage.places import BUCKET, s3_store
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server

PLACE = f"s3://{BUCKET}/written-by-a-cluster"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_an_executor_is_killed_as_it_writes(seaweed: S3Server, tmp_path: Path) -> None:
    run_apart("write_tables", tmp_path, seaweed.port, module="tests.storage.test_cluster_writes", seconds=500)


def write_tables(folder: Path, port: int) -> None:
    address = f"127.0.0.1:{port}"
    keys = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{address}"}
    settings = {f"fs.s3a.{name}": value for name, value in keys.items()}
    store = s3_store(address)
    with connect(folder, shark_placement_driver=False, **settings) as context:
        context.sql("CREATE TABLE numbers AS SELECT explode(sequence(0, 199999)) AS k").close()
        context.sql(f"CREATE TABLE whole (k INT) STORED AS PARQUET LOCATION '{PLACE}/whole'").close()
        context.sql(f"CREATE TABLE parts (k INT) PARTITIONED BY (p INT) LOCATION '{PLACE}/parts'").close()
        context.sql("INSERT INTO whole SELECT k FROM numbers DISTRIBUTE BY k").close()
        killed = []

        def kill() -> None:
            deadline = time.monotonic() + 200
            while time.monotonic() < deadline and not killed:
                if any(True for _ in store.list(f"{PLACE}/parts/_files")):
                    killed.append(executors(context)[0])
                    killed[0].kill()
                time.sleep(0.05)

        killer = threading.Thread(target=kill)
        killer.start()
        context.sql("INSERT INTO parts SELECT k, k % 20 FROM numbers DISTRIBUTE BY k % 20").close()
        killer.join()
        assert killed
        for table in ("whole", "parts"):
            found = context.sql(f"SELECT count(*), count(DISTINCT k), sum(k) FROM {table}").fetchall()
            assert [tuple(row) for row in found] == [(200_000, 200_000, sum(range(200_000)))]
        named = context.sql("SELECT DISTINCT input__file__name FROM parts").fetchall()
        there = {facts.path for facts in store.list(f"{PLACE}/parts")}
        assert there == {row[0] for row in named}, "files of attempts that were repeated are gone"
        for table in ("whole", "parts"):
            context.sql(f"DROP TABLE {table}").close()
        assert list(store.list(PLACE)) == []
