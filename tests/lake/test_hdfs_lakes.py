"""Lake tables in HDFS, in both formats: what statements make, write, change and drop in a real cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")
pytest.importorskip("deltalake", reason="the extra delta is not installed")
pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from hdfs_native import Client
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import DataFileContent, FileFormat

import sharkpy
from sharkpy.base.errors import ExecutionError
from sharkpy.sources.lake import delta_log as delta_place
from sharkpy.sources.lake.delta_log import DeltaFolder
from sharkpy.sources.lake.iceberg.metadata_files import FileContext, LakeIO, file_context
from sharkpy.sources.lake.lake_format import LakeReach
from sharkpy.sources.parallel_requests import parallel_map
from tests.hadoop import HadoopCluster
from tests.lake import test_bucket_writes as contract
from tests.lake.tables import run
from tests.lake.test_iceberg_files import add_deletes
from tests.rows import rows
from tests.storage.places import hdfs_place
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
FORMATS = ("ICEBERG", "DELTA")
Listed = Callable[[], list[str]]
CONTRACT: tuple[Callable[[sharkpy.SharkContext, str, Listed, str], None], ...] = (
    contract.test_rows_are_written_and_changed,
    lambda context, place, _, form: contract.test_it_is_read_as_it_was(context, place, form),
    contract.test_tasks_write_partitions,
    contract.test_tables_made_of_queries,
    contract.test_a_failed_query_leaves_nothing,
)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        run(opened, "CREATE TABLE numbers AS SELECT explode(sequence(1, 100)) AS k")
        yield opened


@pytest.fixture
def place(hdfs: HadoopCluster) -> str:
    return f"{hdfs.hdfs}/lake/{uuid4().hex}"


@pytest.fixture
def there(hdfs: HadoopCluster, place: str) -> Listed:
    """Names of the files in the folder."""
    client, folder = Client(hdfs.hdfs), f"/lake/{place.rpartition('/')[2]}"

    def listed() -> list[str]:
        try:
            found = list(client.list_status(folder, recursive=True))
        except FileNotFoundError:
            return []
        return [one.path.removeprefix(f"{folder}/") for one in found if not one.isdir]

    return listed


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("check", CONTRACT)
def test_tables(
    check: Callable[..., None], form: str, context: sharkpy.SharkContext, place: str, there: Listed
) -> None:
    check(context, place, there, form)


@pytest.mark.parametrize("form", FORMATS)
def test_of_writers_at_once_each_counts(context: sharkpy.SharkContext, place: str, form: str) -> None:
    t = contract.table(context, place, form, "k INT")
    sessions = [context.new_session() for _ in range(4)]
    parallel_map(
        lambda numbered: run(numbered[1], f"INSERT INTO {t} VALUES ({numbered[0]})"), list(enumerate(sessions))
    )
    assert rows(context, f"SELECT k FROM {t} ORDER BY k") == [(0,), (1,), (2,), (3,)]
    assert rows(context, f"SELECT count(*) FROM {t}.files") == [(4,)]


def test_deletes_of_iceberg_are_honoured(
    context: sharkpy.SharkContext, hdfs: HadoopCluster, place: str, tmp_path: Path
) -> None:
    t = contract.table(context, place, "ICEBERG", "k INT")
    run(context, f"INSERT INTO {t} SELECT k FROM numbers")
    before, file = rows(
        context, f"SELECT snapshot_id, file_path FROM {t}.snapshots CROSS JOIN {t}.files ORDER BY committed_at DESC"
    )[0]
    deletes = pa.table({"file_path": [file] * 2, "pos": pa.array([0, 99], pa.int64())})
    pq.write_table(deletes, tmp_path / "d.parquet")
    hdfs_place(hdfs.hdfs).store.put(f"{place}/data/d.parquet", (tmp_path / "d.parquet").read_bytes())
    reach = LakeReach(lambda: context.conf, lambda location, _: context.catalog.named_access_id(location))
    uri = f"sqlite:///{context.catalog.state_dir}/iceberg.sqlite"
    implementation = f"{LakeIO.__module__}.{LakeIO.__name__}"
    with file_context(FileContext(reach, place)):
        other = load_catalog("default", type="sql", uri=uri, **{"py-io-impl": implementation})
        table = other.load_table(f"default.{t}")
        add_deletes(
            table,
            tmp_path / "d.parquet",
            FileFormat.PARQUET,
            2,
            DataFileContent.POSITION_DELETES,
            place=f"{place}/data/d.parquet",
        )
        other.close()
    assert rows(context, f"SELECT count(*), min(k), max(k) FROM {t}") == [(98, 2, 99)]
    assert rows(context, f"SELECT count(*) FROM {t} VERSION AS OF {before}") == [(100,)]
    run(context, f"INSERT OVERWRITE {t} SELECT k FROM {t} WHERE k < 10")
    assert rows(context, f"SELECT k FROM iceberg.`{place}` ORDER BY k") == [(k,) for k in range(2, 10)]


def test_others_read_and_write_delta(
    context: sharkpy.SharkContext, hdfs: HadoopCluster, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.conf))
    default = place.replace(hdfs.hdfs, "hdfs://")
    t = contract.table(context, default, "DELTA", "k INT", "PARTITIONED BY (p STRING)")
    run(context, f"INSERT INTO {t} VALUES (1, 'a b'), (2, NULL)")
    found = pa.table(DeltaTable(place).to_pyarrow_table())
    assert sorted(zip(*found.select(["k", "p"]).to_pydict().values(), strict=True)) == [(1, "a b"), (2, None)]
    write_deltalake(place, pa.table({"k": pa.array([3], pa.int32()), "p": ["c=d"]}), mode="append")
    assert rows(context, f"SELECT p FROM {t} WHERE k = 3") == [("c=d",)]
    assert rows(context, f"SELECT sum(k) FROM delta.`{place}`") == [(6,)]
    run(context, f"INSERT OVERWRITE {t} SELECT k + 1, p FROM {t}")
    assert sorted(pa.table(DeltaTable(place).to_pyarrow_table()).column("k").to_pylist()) == [2, 3, 4]


def test_a_name_node_that_stands_still_in_a_commit(
    context: sharkpy.SharkContext, hdfs: HadoopCluster, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement reports if the rows are committed, or that this is unknown; other threads run meanwhile."""
    seconds: list[float] = []
    t = contract.table(context, place, "DELTA", "k INT")
    changed, node = DeltaFolder.changed, hdfs.processes["namenode"]

    def stands_still(self: DeltaFolder, call: Callable[[], Any]) -> Any:
        node.suspend()
        threading.Timer(5, node.resume).start()
        begun = time.monotonic()
        try:
            return changed(self, call)
        finally:
            seconds.append(time.monotonic() - begun)

    with monkeypatch.context() as patch:
        patch.setattr(DeltaFolder, "changed", stands_still)
        patch.setattr(delta_place, "_MOST_SECONDS", 1.0)
        try:
            run(context, f"INSERT INTO {t} VALUES (1)")
        except ExecutionError as error:
            assert error.sqlstate == "40003"  # noqa: PT017  either is right
    assert seconds[0] < 4
    until(lambda: rows(context, f"SELECT k FROM {t}") == [(1,)])
