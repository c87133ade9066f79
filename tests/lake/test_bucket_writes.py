"""Lake tables in buckets that statements make, write, change and drop, in both formats."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")
pytest.importorskip("deltalake", reason="the extra delta is not installed")
pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import sharkpy
from sharkpy.base.errors import ExecutionError, NotAllowedError, SharkError, TableChangedError, UnsupportedError
from sharkpy.base.uri import Locations
from sharkpy.catalog.unfinished_writes import UnfinishedWrites
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources.lake.lake_table import new_lake_staging
from tests.lake.buckets import new_place, others_options
from tests.lake.tables import run
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server, s3_client

_FORMATS = ("ICEBERG", "DELTA")


def keys(address: str) -> dict[str, str]:
    found = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{address}"}
    return {f"fs.s3a.{name}": value for name, value in found.items()}


@pytest.fixture(scope="module")
def context(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **keys(proxy.address)) as opened:
        run(opened, "CREATE TABLE numbers AS SELECT explode(sequence(1, 100)) AS k")
        yield opened


@pytest.fixture(autouse=True)
def no_faults(proxy: FaultProxy) -> None:
    proxy.rules.clear()
    proxy.seen.clear()


@pytest.fixture
def place() -> str:
    return new_place()


Listed = Callable[[], list[str]]


@pytest.fixture
def there(proxy: FaultProxy, place: str) -> Iterator[Listed]:
    """Names of the objects in the folder."""
    client = s3_client(proxy.upstream)
    prefix = f"{place.rpartition('/')[2]}/"

    def listed() -> list[str]:
        found = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return [one["Key"].removeprefix(prefix) for one in found]

    yield listed
    client.close()


def name() -> str:
    return f"t{uuid4().hex}"


def table(
    context: sharkpy.SharkContext, place: str, form: str, columns: str = "k INT, s STRING", rest: str = ""
) -> str:
    made = name()
    run(context, f"CREATE TABLE {made} ({columns}) {rest} STORED BY {form} LOCATION '{place}'")
    return made


def data_files(there: Listed) -> list[str]:
    return [one for one in there() if one.endswith(".parquet")]


@pytest.mark.variants(2)
@pytest.mark.parametrize("form", _FORMATS)
def test_rows_are_written_and_changed(context: sharkpy.SharkContext, place: str, there: Listed, form: str) -> None:
    t = table(context, place, form)
    assert rows(context, f"SELECT * FROM {t}") == []
    run(context, f"INSERT INTO {t} VALUES (1, 'a'), (2, NULL)", f"INSERT INTO {t} VALUES (3, 'c')")
    assert rows(context, f"SELECT * FROM {t} ORDER BY k") == [(1, "a"), (2, None), (3, "c")]
    assert len(data_files(there)) == 2
    run(context, f"UPDATE {t} SET s = 'z' WHERE k = 2", f"DELETE FROM {t} WHERE k = 1")
    assert rows(context, f"SELECT * FROM {t} ORDER BY k") == [(2, "z"), (3, "c")]
    merged = context.sql(
        f"MERGE INTO {t} USING (SELECT 3 AS k UNION ALL SELECT 4) AS other ON {t}.k = other.k "
        "WHEN MATCHED THEN UPDATE SET s = 'm' WHEN NOT MATCHED THEN INSERT VALUES (other.k, 'n')"
    )
    assert merged.rows_written == 2
    assert rows(context, f"SELECT * FROM {t} ORDER BY k") == [(2, "z"), (3, "m"), (4, "n")]
    run(context, f"ALTER TABLE {t} ADD COLUMNS (more BIGINT)", f"INSERT OVERWRITE {t} SELECT k, s, 7 FROM {t}")
    assert rows(context, f"SELECT sum(k), sum(more) FROM {t}") == [(9, 21)]
    run(context, f"TRUNCATE TABLE {t}")
    assert rows(context, f"SELECT count(*) FROM {t}") == [(0,)]
    run(context, f"DROP TABLE {t}")
    assert there() == []


@pytest.mark.slow
@pytest.mark.parametrize("form", _FORMATS)
def test_it_is_read_as_it_was(context: sharkpy.SharkContext, place: str, form: str) -> None:
    t = table(context, place, form, "k INT")
    run(context, f"INSERT INTO {t} VALUES (1)", f"INSERT INTO {t} VALUES (2)", f"CACHE TABLE {t}")
    what = "snapshot_id" if form == "ICEBERG" else "version"
    when = "committed_at" if form == "ICEBERG" else "timestamp"
    first = rows(context, f"SELECT {what} FROM {t}.snapshots ORDER BY {when}")[-2][0]
    assert rows(context, f"SELECT k FROM {t} ORDER BY k") == [(1,), (2,)]
    run(context, f"INSERT INTO {t} VALUES (3)")
    assert rows(context, f"SELECT k FROM {t} ORDER BY k") == [(1,), (2,), (3,)]
    assert rows(context, f"SELECT k FROM {t} VERSION AS OF {first}") == [(1,)]
    assert rows(context, f"SELECT count(*) FROM {t}.files") == [(3,)]


@pytest.mark.slow
@pytest.mark.parametrize("form", _FORMATS)
def test_tasks_write_partitions(context: sharkpy.SharkContext, place: str, there: Listed, form: str) -> None:
    t = table(context, place, form, "k INT", "PARTITIONED BY (part STRING)")
    tasks = context.with_settings({"shark.placement.driver": "false"})
    run(tasks, f"INSERT INTO {t} SELECT k, concat('p=', k % 3) FROM numbers")
    assert rows(context, f"SELECT part, count(*) FROM {t} GROUP BY part ORDER BY part") == [
        ("p=0", 33),
        ("p=1", 34),
        ("p=2", 33),
    ]
    plan = "\n".join(row[0] for row in rows(context, f"EXPLAIN SELECT * FROM {t} WHERE part = 'p=1'"))
    assert "1 of 3 files" in plan
    run(context, f"INSERT INTO {t} VALUES (1, NULL), (2, 'a/b')")
    assert rows(context, f"SELECT k FROM {t} WHERE part IS NULL OR part = 'a/b' ORDER BY k") == [(1,), (2,)]
    assert len(data_files(there)) == 5


@pytest.mark.slow
def test_others_read_and_write_iceberg(context: sharkpy.SharkContext, place: str, proxy: FaultProxy) -> None:
    from pyiceberg.catalog import load_catalog

    t = table(context, place, "ICEBERG", "k INT")
    run(context, f"INSERT INTO {t} VALUES (1), (2)")
    uri = f"sqlite:///{context.catalog.state_dir}/iceberg.sqlite"
    other = load_catalog("default", type="sql", uri=uri, **others_options(proxy.upstream))
    found = other.load_table(f"default.{t}")
    assert sorted(found.scan().to_arrow().column("k").to_pylist()) == [1, 2]
    found.append(pa.table({"k": pa.array([3], pa.int32())}))
    assert rows(context, f"SELECT sum(k) FROM {t}") == [(6,)]
    other.close()


@pytest.mark.slow
def test_others_read_and_write_delta(context: sharkpy.SharkContext, place: str, proxy: FaultProxy) -> None:
    t = table(context, place, "DELTA", "k INT")
    run(context, f"INSERT INTO {t} VALUES (1), (2)")
    options = {
        "aws_endpoint": f"http://{proxy.upstream}",
        "aws_access_key_id": ACCESS_KEY,
        "aws_secret_access_key": SECRET,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
        "aws_conditional_put": "etag",
    }
    found = DeltaTable(place, storage_options=options)
    assert sorted(pa.table(found.to_pyarrow_table()).column("k").to_pylist()) == [1, 2]
    write_deltalake(found, pa.table({"k": pa.array([3], pa.int32())}), mode="append")
    assert rows(context, f"SELECT sum(k) FROM {t}") == [(6,)]
    assert rows(context, f"SELECT sum(k) FROM delta.`{place}`") == [(6,)]
    run(context, f"CREATE EXTERNAL TABLE x{t} STORED BY DELTA LOCATION '{place}'", f"DROP TABLE x{t}")
    assert rows(context, f"SELECT sum(k) FROM {t}") == [(6,)]


@pytest.mark.slow
@pytest.mark.parametrize("form", _FORMATS)
def test_tables_made_of_queries(context: sharkpy.SharkContext, place: str, there: Listed, form: str) -> None:
    t = name()
    run(context, f"CREATE TABLE {t} STORED BY {form} LOCATION '{place}' AS SELECT k FROM numbers")
    assert rows(context, f"SELECT count(*), sum(k) FROM {t}") == [(100, 5050)]
    run(context, f"DROP TABLE {t}")
    assert there() == []
    with pytest.raises(SharkError):
        run(
            context,
            f"CREATE TABLE {t} STORED BY {form} LOCATION '{place}' AS SELECT assert_true(k < 50) AS a, k FROM numbers",
        )
    assert there() == []
    assert context.catalog.find_entry("default", t) is None


@pytest.mark.slow
@pytest.mark.parametrize("form", _FORMATS)
def test_a_failed_query_leaves_nothing(context: sharkpy.SharkContext, place: str, there: Listed, form: str) -> None:
    t = table(context, place, form, "k INT")
    tasks = context.with_settings({"shark.placement.driver": "false"})
    with pytest.raises(SharkError):
        run(tasks, f"INSERT INTO {t} SELECT if(k = 100, CAST(assert_true(false) AS INT), k) FROM numbers")
    assert data_files(there) == []
    assert rows(context, f"SELECT * FROM {t}") == []


def test_changes_of_rows_see_others(
    context: sharkpy.SharkContext, place: str, there: Listed, proxy: FaultProxy
) -> None:
    t = table(context, place, "DELTA", "k INT")
    run(context, f"INSERT INTO {t} VALUES (1)")
    other = context.new_session()
    met: list[bool] = []

    def write() -> None:
        if not met:
            met.append(True)
            run(other, f"INSERT INTO {t} VALUES (2)")

    proxy.rules.append(Rule("PUT", r"sharkpy-[0-9a-f]{32}", before=write))
    with pytest.raises(TableChangedError):
        run(context, f"UPDATE {t} SET k = k + 10")
    assert sorted(rows(context, f"SELECT k FROM {t}")) == [(1,), (2,)]
    assert len(data_files(there)) == 2


def test_a_delta_commit_of_which_nobody_knows(
    context: sharkpy.SharkContext, place: str, there: Listed, proxy: FaultProxy
) -> None:
    """Its files stay: it may have come to count, as it has here."""
    t = table(context, place, "DELTA", "k INT")

    def refuse() -> None:
        proxy.rules.append(Rule("GET|HEAD", "_delta_log", status=403))

    proxy.rules.append(Rule("PUT", r"_delta_log/0+1\.json", before=refuse, no_answer=True))
    with pytest.raises(ExecutionError, match="is not known") as told:
        run(context, f"INSERT INTO {t} VALUES (1)")
    assert told.value.sqlstate == "40003"
    proxy.rules.clear()
    assert len(data_files(there)) == 1
    assert rows(context, f"SELECT k FROM {t}") == [(1,)]


@pytest.mark.parametrize("has_counted", [True, False])
def test_an_iceberg_commit_of_which_nobody_knows(
    context: sharkpy.SharkContext, place: str, there: Listed, monkeypatch: pytest.MonkeyPatch, has_counted: bool
) -> None:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.exceptions import CommitStateUnknownException

    t = table(context, place, "ICEBERG", "k INT")
    commit = SqlCatalog.commit_table

    def lost(*given: Any) -> Any:
        if has_counted:
            commit(*given)
        raise CommitStateUnknownException("no answer")

    monkeypatch.setattr(SqlCatalog, "commit_table", lost)
    if has_counted:
        run(context, f"INSERT INTO {t} VALUES (1)")
    else:
        with pytest.raises(ExecutionError, match="is not known") as told:
            run(context, f"INSERT INTO {t} VALUES (1)")
        assert told.value.sqlstate == "40003"
    assert len(data_files(there)) == 1
    assert rows(context, f"SELECT count(*) FROM {t}") == [(int(has_counted),)]


def test_storage_that_refuses_a_commit(
    context: sharkpy.SharkContext, place: str, there: Listed, proxy: FaultProxy
) -> None:
    t = table(context, place, "ICEBERG", "k INT")
    proxy.rules.append(Rule("PUT", r"\.avro|metadata\.json", status=403, code="AccessDenied"))
    with pytest.raises(SharkError, match=r"refuse|denied") as told:
        run(context, f"INSERT INTO {t} VALUES (1)")
    assert told.value.sqlstate == "42501"
    proxy.rules.clear()
    assert data_files(there) == []
    assert rows(context, f"SELECT count(*) FROM {t}") == [(0,)]


@pytest.mark.slow
@pytest.mark.parametrize("has_begun", [False, True], ids=["staged", "in its commit"])
def test_a_killed_writer(proxy: FaultProxy, place: str, there: Listed, tmp_path: Path, has_begun: bool) -> None:
    """The next start deletes its staged files, unless they may be committed."""
    with sharkpy.connect("local[2]", tmp_path, **keys(proxy.address)) as context:
        t = table(context, place, "ICEBERG", "k INT")
        run(context, f"INSERT INTO {t} VALUES (1)")
        folder = str(Path(context.catalog.unfinished._folder))
    notes = UnfinishedWrites(folder, Locations.below(str(tmp_path)))
    staging = new_lake_staging(f"{place}/data")
    notes.begin(staging)
    client = s3_client(proxy.upstream)
    client.put_object(Bucket=BUCKET, Key=f"{staging.partition(f'{BUCKET}/')[2]}/part.parquet", Body=b"x")
    client.close()
    if has_begun:
        notes.keep(staging)
    os.close(notes._file)
    assert len(data_files(there)) == 2
    with sharkpy.connect("local[2]", tmp_path, **keys(proxy.address)) as context:
        assert rows(context, f"SELECT k FROM {t}") == [(1,)]
        for _ in range(100):
            if has_begun or len(data_files(there)) == 1:
                break
            time.sleep(0.1)
    assert len(data_files(there)) == 1 + has_begun


def test_restricted_sessions(context: sharkpy.SharkContext, place: str, proxy: FaultProxy, tmp_path: Path) -> None:
    t = table(context, place, "DELTA", "k INT")
    run(context, f"INSERT INTO {t} VALUES (1)")
    guest = context.new_session(shark_user="ann")
    guest.restrictions = Restrictions((tmp_path,), (), guards_settings=True)
    assert rows(guest, f"SELECT k FROM {t}") == [(1,)]
    for text in (
        f"SELECT * FROM delta.`{place}`",
        f"CREATE EXTERNAL TABLE mine STORED BY DELTA LOCATION '{place}'",
        f"CREATE TABLE mine (k INT) STORED BY ICEBERG LOCATION '{place}/x'",
    ):
        with pytest.raises(NotAllowedError, match="bounds"):
            run(guest, text)


@pytest.mark.parametrize("name", ["a b", "käse", "a%20b", "a#b", "a?b", "a[b]"])
def test_delta_in_hdfs_has_plain_names(context: sharkpy.SharkContext, name: str) -> None:
    """deltalake would take other characters for escapes, and use another folder."""
    with pytest.raises(UnsupportedError, match="path of HDFS with characters"):
        run(context, f"SELECT * FROM delta.`hdfs://127.0.0.1:1/{name}`")


@pytest.mark.slow
@pytest.mark.parametrize("form", _FORMATS)
def test_another_server(seaweed: S3Server, tmp_path: Path, form: str) -> None:
    """One that checks signatures, and gives a name once."""
    with sharkpy.connect("local[2]", tmp_path, **keys(seaweed.address)) as context:
        t = table(context, new_place(), form, "k INT")
        run(context, f"INSERT INTO {t} VALUES (1)", f"INSERT INTO {t} VALUES (2)", f"DELETE FROM {t} WHERE k = 1")
        assert rows(context, f"SELECT k FROM {t}") == [(2,)]
        run(context, f"DROP TABLE {t}")
