"""Statements that write tables in a bucket: rows, objects, all or nothing, and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import CancelledError, SharkError, UnsupportedError
from sharkpy.execution.queries import write_query
from sharkpy.execution.queries.run_plan import new_runner
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET
from tests.waiting import when

FORMATS = ("PARQUET", "ORC", "TEXTFILE", "JSONFILE", "AVRO", "RCFILE", "SEQUENCEFILE")


@pytest.fixture(scope="module")
def session(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    keys = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{proxy.address}"}
    settings = {f"fs.s3a.{name}": value for name, value in keys.items()}
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **settings) as session:
        session.sql("CREATE TABLE numbers AS SELECT explode(sequence(1, 100)) AS k").close()
        yield session


@pytest.fixture(autouse=True)
def no_faults(proxy: FaultProxy) -> None:
    proxy.rules.clear()
    proxy.seen.clear()


@pytest.fixture
def place() -> str:
    """Folder of a test, as a statement writes it."""
    return f"s3a://{BUCKET}/{uuid4().hex}"


@pytest.fixture
def there(s3: Any, place: str) -> Callable[[], list[str]]:
    """Names of the objects in the folder."""

    def listed() -> list[str]:
        prefix = f"{place.rpartition('/')[2]}/"
        found = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return [one["Key"].removeprefix(prefix) for one in found]

    return listed


def run(session: sharkpy.SharkContext, *statements: str) -> None:
    for text in statements:
        session.sql(text).close()


def copied(place: str) -> str:
    """Pattern of the paths to which staged files below a folder are copied."""
    return f"{place.partition(BUCKET)[2]}/((?!_files/).)*part-"


def new_table(
    session: sharkpy.SharkContext, place: str, columns: str = "k INT, s STRING", rest: str = "STORED AS PARQUET"
) -> str:
    made = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {made} ({columns}) {rest} LOCATION '{place}'")
    return made


# Tables without partitions


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", FORMATS)
def test_rows_are_added_and_replaced(
    session: sharkpy.SharkContext, place: str, there: Callable[[], list[str]], kind: str
) -> None:
    table = new_table(session, place, rest=f"STORED AS {kind}")
    assert rows(session, f"SELECT * FROM {table}") == []
    run(session, f"INSERT INTO {table} VALUES (1, 'a'), (2, NULL)", f"INSERT INTO {table} VALUES (3, 'c')")
    assert rows(session, f"SELECT * FROM {table} ORDER BY k") == [(1, "a"), (2, None), (3, "c")]
    run(session, f"INSERT OVERWRITE TABLE {table} SELECT k + 10, s FROM {table} WHERE k < 3")
    assert rows(session, f"SELECT * FROM {table} ORDER BY k") == [(11, "a"), (12, None)]
    run(session, f"INSERT INTO {table} SELECT k, 'x' FROM numbers WHERE k < 0")
    assert rows(session, f"SELECT count(*) FROM {table}") == [(2,)]
    run(session, f"TRUNCATE TABLE {table}")
    assert rows(session, f"SELECT * FROM {table}") == []
    run(session, f"DROP TABLE {table}")
    assert there() == []


def test_csv(session: sharkpy.SharkContext, place: str) -> None:
    table = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {table} (k INT, s STRING) USING csv OPTIONS (header 'true') LOCATION '{place}'")
    run(session, f"INSERT INTO {table} VALUES (1, 'a,b'), (2, 'c')", f"INSERT INTO {table} VALUES (3, 'd')")
    assert rows(session, f"SELECT * FROM {table} ORDER BY k") == [(1, "a,b"), (2, "c"), (3, "d")]


def test_create_as(session: sharkpy.SharkContext, place: str, there: Callable[[], list[str]]) -> None:
    table = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {table} LOCATION '{place}' AS SELECT k FROM numbers")
    assert rows(session, f"SELECT count(*), sum(k) FROM {table}") == [(100, 5050)]
    assert place in str(rows(session, f"DESCRIBE FORMATTED {table}"))
    with pytest.raises(SharkError, match="is not empty") as caught:
        run(session, f"CREATE TABLE other LOCATION '{place}' AS SELECT 1 AS k")
    assert caught.value.sqlstate == "42710"
    run(session, f"DROP TABLE {table}")
    assert there() == []
    run(session, f"CREATE TABLE {table} LOCATION '{place}' AS SELECT 7 AS k")
    assert rows(session, f"SELECT * FROM {table}") == [(7,)]


@pytest.mark.slow
def test_tasks_write(session: sharkpy.SharkContext, place: str) -> None:
    """Workers of Spark get the access to what they write with their stage."""
    table = new_table(session, place, "k INT")
    tasks = session.with_settings({"shark.placement.driver": "false"})
    run(tasks, f"INSERT INTO {table} SELECT k FROM numbers DISTRIBUTE BY k")
    assert rows(tasks, f"SELECT count(*), sum(k) FROM {table}") == [(100, 5050)]


def test_an_external_table_keeps_its_files(
    session: sharkpy.SharkContext, s3: Any, place: str, there: Callable[[], list[str]]
) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"{place.rpartition('/')[2]}/mine.csv", Body=b"1,a\n")
    table = f"t{uuid4().hex}"
    run(
        session,
        f"CREATE EXTERNAL TABLE {table} (k INT, s STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' "
        f"LOCATION '{place}'",
        f"INSERT INTO {table} VALUES (2, 'b')",
    )
    assert rows(session, f"SELECT * FROM {table} ORDER BY k") == [(1, "a"), (2, "b")]
    run(session, f"DROP TABLE {table}")
    kept = there()
    assert "mine.csv" in kept
    assert len(kept) == 2


def test_a_file_is_no_folder(session: sharkpy.SharkContext, s3: Any, place: str) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"{place.rpartition('/')[2]}/x.csv", Body=b"1\n")
    table = f"t{uuid4().hex}"
    run(session, f"CREATE EXTERNAL TABLE {table} (k INT) LOCATION '{place}/x.csv'")
    with pytest.raises(UnsupportedError, match="is the file"):
        run(session, f"INSERT INTO {table} VALUES (2)")


def test_tables_in_each_others_folders(session: sharkpy.SharkContext, place: str) -> None:
    new_table(session, f"{place}/a/b")
    with pytest.raises(SharkError, match="holds the files of") as caught:
        new_table(session, place.replace("s3a:", "s3:"))
    assert caught.value.sqlstate == "42000"


# Failures


@pytest.mark.variants(3)
@pytest.mark.parametrize("fault", ["data", "copy", "list"])
def test_a_write_that_fails_has_changed_nothing(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, there: Callable[[], list[str]], fault: str
) -> None:
    table = new_table(session, place)
    run(session, f"INSERT INTO {table} VALUES (1, 'a')")
    before = there()
    method, path = {"data": ("PUT", "_files"), "copy": ("PUT", copied(place)), "list": ("GET", "list-type")}[fault]
    for statement in (f"INSERT INTO {table} VALUES (2, 'b')", f"INSERT OVERWRITE TABLE {table} VALUES (2, 'b')"):
        proxy.rules[:] = [Rule(method=method, path=path, status=403, code="AccessDenied", times=1)]
        with pytest.raises(SharkError) as caught:
            run(session, statement)
        assert caught.value.sqlstate == "42501"
        assert SECRET not in str(caught.value)
        assert there() == before
        assert rows(session, f"SELECT * FROM {table}") == [(1, "a")]
    proxy.rules.clear()
    run(session, f"INSERT INTO {table} VALUES (2, 'b')")
    assert rows(session, f"SELECT count(*) FROM {table}") == [(2,)]


# Partitions


PARTS = "PARTITIONED BY (p STRING) STORED AS PARQUET"


def test_partitions(session: sharkpy.SharkContext, place: str, there: Callable[[], list[str]]) -> None:
    table = new_table(session, place, "k INT", PARTS)
    assert rows(session, f"SELECT * FROM {table}") == []
    run(
        session,
        f"INSERT INTO {table} PARTITION (p = 'a/b') VALUES (1), (2)",
        f"INSERT INTO {table} SELECT k, cast(k % 3 AS STRING) FROM numbers",
        f"INSERT INTO {table} PARTITION (p = '0') VALUES (1000)",
    )
    assert rows(session, f"SELECT p, count(*) FROM {table} GROUP BY p ORDER BY p") == [
        ("0", 34),
        ("1", 34),
        ("2", 33),
        ("a/b", 2),
    ]
    run(session, f"INSERT OVERWRITE TABLE {table} PARTITION (p) SELECT k, '1' FROM numbers WHERE k < 3")
    assert rows(session, f"SELECT count(*) FROM {table} WHERE p = '1'") == [(2,)]
    assert rows(session, f"SELECT count(*) FROM {table}") == [(71,)]
    run(session, f"INSERT OVERWRITE TABLE {table} PARTITION (p = '2') SELECT k FROM numbers WHERE k < 0")
    assert rows(session, f"SELECT count(*) FROM {table} WHERE p = '2'") == [(0,)]
    run(session, f"TRUNCATE TABLE {table} PARTITION (p = '0')")
    assert rows(session, f"SELECT p, k FROM {table} ORDER BY p, k") == [("1", 1), ("1", 2), ("a/b", 1), ("a/b", 2)]
    run(session, f"ALTER TABLE {table} DROP PARTITION (p = 'a/b')")
    assert not any("a%2Fb" in one for one in there())
    run(session, f"INSERT INTO {table} PARTITION (p = 'a/b') VALUES (9)")
    assert rows(session, f"SELECT k FROM {table} WHERE p = 'a/b'") == [(9,)]
    run(session, f"ALTER TABLE {table} ADD PARTITION (p = 'new')")
    assert ("p=new",) in rows(session, f"SHOW PARTITIONS {table}")
    run(session, f"DROP TABLE {table}")
    assert there() == []


def test_partitions_that_others_put_there(
    session: sharkpy.SharkContext, s3: Any, place: str, there: Callable[[], list[str]]
) -> None:
    """MSCK REPAIR TABLE finds the partitions, and rows that are added later are read with theirs."""
    key = place.rpartition("/")[2]
    s3.put_object(Bucket=BUCKET, Key=f"{key}/p=1/x.csv", Body=b"1\n2\n")
    table = f"t{uuid4().hex}"
    run(
        session,
        f"CREATE EXTERNAL TABLE {table} (k INT) PARTITIONED BY (p INT) LOCATION '{place}'",
        f"MSCK REPAIR TABLE {table}",
        f"INSERT INTO {table} PARTITION (p = 1) VALUES (3)",
        f"INSERT INTO {table} VALUES (4, 2)",
    )
    assert rows(session, f"SELECT p, k FROM {table} ORDER BY k") == [(1, 1), (1, 2), (1, 3), (2, 4)]
    run(session, f"INSERT OVERWRITE TABLE {table} PARTITION (p = 1) VALUES (5)")
    assert rows(session, f"SELECT p, k FROM {table} ORDER BY k") == [(2, 4), (1, 5)]
    before = there()
    run(session, f"ALTER TABLE {table} DROP PARTITION (p = 2)", f"DROP TABLE {table}")
    assert there() == before


@pytest.mark.variants(3)
@pytest.mark.parametrize("nth", range(3))
def test_many_partitions_are_written_or_none(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, there: Callable[[], list[str]], nth: int
) -> None:
    """The n-th file cannot be copied into its Hive partition's folder."""
    table = new_table(session, place, "k INT", PARTS)
    run(session, f"INSERT INTO {table} VALUES (1, '0'), (1, '1')")
    before = there()
    for kind in ("INTO", "OVERWRITE TABLE"):
        proxy.rules[:] = [Rule(method="PUT", path=copied(place), status=403, code="AccessDenied", skip=nth)]
        with pytest.raises(SharkError) as caught:
            run(session, f"INSERT {kind} {table} SELECT k, cast(k % 3 AS STRING) FROM numbers")
        assert caught.value.sqlstate == "42501"
        proxy.rules.clear()
        assert rows(session, f"SELECT * FROM {table} ORDER BY p") == [(1, "0"), (1, "1")]
        assert rows(session, f"SHOW PARTITIONS {table}") == [("p=0",), ("p=1",)]
        assert there() == before


def test_create_partitioned_as(session: sharkpy.SharkContext, place: str, there: Callable[[], list[str]]) -> None:
    table = f"t{uuid4().hex}"
    run(
        session,
        f"CREATE TABLE {table} PARTITIONED BY (p) LOCATION '{place}' AS SELECT k, cast(k % 2 AS STRING) p FROM numbers",
    )
    assert rows(session, f"SELECT p, count(*) FROM {table} GROUP BY p ORDER BY p") == [("0", 50), ("1", 50)]
    run(session, f"DROP TABLE {table}")
    assert there() == []


# Other statements


@pytest.mark.variants(2)
@pytest.mark.parametrize("rest", ["STORED AS PARQUET", "STORED AS TEXTFILE"])
def test_rows_are_changed(session: sharkpy.SharkContext, place: str, rest: str) -> None:
    table = new_table(session, place, rest=rest)
    statements = (
        f"INSERT INTO {table} SELECT k, 'x' FROM numbers WHERE k <= 4",
        f"UPDATE {table} SET s = 'two' WHERE k = 2",
        f"DELETE FROM {table} WHERE k = 3",
        f"MERGE INTO {table} t USING (SELECT k FROM numbers WHERE k BETWEEN 4 AND 5) n ON t.k = n.k "
        "WHEN MATCHED THEN UPDATE SET s = 'four' WHEN NOT MATCHED THEN INSERT VALUES (n.k, 'five')",
    )
    assert [session.sql(statement).rows_written for statement in statements] == [4, 1, 1, 2]
    assert rows(session, f"SELECT * FROM {table} ORDER BY k") == [(1, "x"), (2, "two"), (4, "four"), (5, "five")]


def test_rows_of_partitions_are_changed(session: sharkpy.SharkContext, place: str) -> None:
    table = new_table(session, place, "k INT", PARTS)
    statements = (
        f"INSERT INTO {table} SELECT k, cast(k % 2 AS STRING) FROM numbers WHERE k <= 4",
        f"DELETE FROM {table} WHERE p = '1'",
        f"UPDATE {table} SET k = 20 WHERE k = 2",
    )
    assert [session.sql(statement).rows_written for statement in statements] == [4, 2, 1]
    assert rows(session, f"SELECT * FROM {table} ORDER BY k") == [(4, "0"), (20, "0")]


def test_several_targets(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, there: Callable[[], list[str]]
) -> None:
    first, second = new_table(session, f"{place}/1", "k INT"), new_table(session, f"{place}/2", "k INT", PARTS)
    local = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {local} (k INT)")
    insert = (
        f"FROM numbers INSERT INTO {first} SELECT k WHERE k < 5 INSERT INTO {second} SELECT k, 'x' WHERE k < 9 "
        f"INSERT OVERWRITE TABLE {local} SELECT k WHERE k < 3"
    )
    proxy.rules[:] = [Rule(method="PUT", path=copied(f"{place}/2"), status=403, code="AccessDenied")]
    with pytest.raises(SharkError):
        run(session, insert)
    proxy.rules.clear()
    counts = " UNION ALL ".join(f"SELECT count(*) AS n FROM {one}" for one in (first, second, local))
    assert rows(session, counts) == [(0,)] * 3
    assert there() == []
    run(session, insert)
    assert sorted(rows(session, counts)) == [(2,), (4,), (8,)]


def test_names_and_places_are_altered(session: sharkpy.SharkContext, place: str) -> None:
    table = new_table(session, f"{place}/a", "k INT")
    other = f"t{uuid4().hex}"
    run(session, f"INSERT INTO {table} VALUES (1)", f"ALTER TABLE {table} RENAME TO {other}")
    assert rows(session, f"SELECT * FROM {other}") == [(1,)]
    assert f"{place}/a" in str(rows(session, f"DESCRIBE FORMATTED {other}"))
    run(session, f"ALTER TABLE {other} SET LOCATION '{place}/b'")
    assert rows(session, f"SELECT * FROM {other}") == []
    run(session, f"INSERT INTO {other} VALUES (2)", f"ALTER TABLE {other} SET LOCATION '{place}/a'")
    assert rows(session, f"SELECT * FROM {other}") == [(1,)]


@pytest.mark.slow
def test_databases_are_dropped(session: sharkpy.SharkContext, place: str, there: Callable[[], list[str]]) -> None:
    run(session, "CREATE DATABASE far")
    run(session, f"CREATE TABLE far.a LOCATION '{place}/a' AS SELECT 1 AS k")
    run(session, f"CREATE TABLE far.b (k INT) PARTITIONED BY (p INT) LOCATION '{place}/b'")
    run(session, "INSERT INTO far.b VALUES (1, 1), (2, 2)")
    assert there()
    run(session, "DROP DATABASE far CASCADE")
    assert there() == []


@pytest.mark.variants(2)
@pytest.mark.parametrize("rest", ["STORED AS PARQUET", "PARTITIONED BY (s STRING) STORED AS PARQUET"])
def test_tables_in_memory(session: sharkpy.SharkContext, place: str, rest: str) -> None:
    columns = "k INT" if "PARTITIONED" in rest else "k INT, s STRING"
    table = new_table(session, place, columns, f"{rest} TBLPROPERTIES ('shark.cache' = 'true')")
    count = f"SELECT count(*), sum(k) FROM {table}"
    run(session, f"INSERT INTO {table} VALUES (1, 'a')")
    assert rows(session, count) == [(1, 1)]
    run(session, f"INSERT INTO {table} SELECT k, 'b' FROM numbers")
    assert rows(session, count) == [(101, 5051)]
    run(session, f"INSERT OVERWRITE TABLE {table} {'PARTITION (s)' * ('PART' in rest)} SELECT 5, 'b'")
    assert rows(session, count) == ([(2, 6)] if "PART" in rest else [(1, 5)])
    run(session, f"DELETE FROM {table} WHERE k = 5")
    assert rows(session, count) == ([(1, 1)] if "PART" in rest else [(0, None)])


def test_statistics(session: sharkpy.SharkContext, place: str) -> None:
    table = new_table(session, place, "k INT")
    run(session, f"INSERT INTO {table} SELECT k FROM numbers", f"ANALYZE TABLE {table} COMPUTE STATISTICS")
    assert session.catalog.statistics(session.catalog.table("default", table))[""].num_rows == 100
    run(session, f"INSERT INTO {table} VALUES (1)", f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS")
    assert rows(session, f"SELECT count(*), max(k) FROM {table}") == [(101, 100)]


@pytest.mark.slow
def test_buckets(session: sharkpy.SharkContext, place: str) -> None:
    table = new_table(session, place, "k INT", "CLUSTERED BY (k) INTO 4 BUCKETS STORED AS PARQUET")
    run(session, f"INSERT INTO {table} SELECT k FROM numbers", f"INSERT INTO {table} VALUES (200)")
    assert rows(session, f"SELECT count(*), sum(k) FROM {table}") == [(101, 5250)]
    assert rows(session, f"SELECT count(*) FROM {table} a JOIN {table} b ON a.k = b.k") == [(101,)]


@pytest.mark.slow
def test_programs(session: sharkpy.SharkContext, place: str) -> None:
    table = new_table(session, place, "k BIGINT")
    session.save_as_table(pa.table({"k": [1, 2]}), table, mode="append")
    session.save_as_table(pa.table({"k": [3]}), table, mode="append")
    assert rows(session, f"SELECT count(*), sum(k) FROM {table}") == [(3, 6)]


@pytest.mark.parametrize("rest", ["", "PARTITIONED BY (p STRING)"])
def test_a_table_that_a_stream_follows(session: sharkpy.SharkContext, place: str, rest: str) -> None:
    """The log names its files, whatever name the statement has for the scheme."""
    assert place.startswith("s3a:")
    table, row = new_table(session, place, "k INT", rest), ", 'x'" if rest else ""
    run(session, f"INSERT INTO {table} VALUES (1{row})", f"CREATE STREAM s{table} FROM TABLE {table}")
    run(session, f"INSERT INTO {table} VALUES (2{row})")
    assert rows(session, f"SELECT k FROM {table} ORDER BY k") == [(1,), (2,)]
    run(session, f"INSERT OVERWRITE TABLE {table} SELECT 3{row}")
    assert rows(session, f"SELECT k FROM {table} ORDER BY k") == [(3,)]


# Objects in the bucket


def test_files_of_failed_attempts_do_not_count(
    session: sharkpy.SharkContext, place: str, there: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that ran twice has put its file twice, and reports one of them."""
    table = new_table(session, place)
    run_to_sink = write_query.run_to_sink

    def run_twice(session: Any, runner: Any, sink: Any, stage: Any) -> Any:
        other = new_runner(session, runner.plan, "first attempt")
        assert run_to_sink(session, other, sink, stage)
        assert [one for one in there() if one.startswith("_files")]
        return run_to_sink(session, runner, sink, stage)

    monkeypatch.setattr(write_query, "run_to_sink", run_twice)
    run(session, f"INSERT INTO {table} VALUES (1, 'a')")
    assert rows(session, f"SELECT * FROM {table}") == [(1, "a")]
    assert len(there()) == 1


@pytest.mark.parametrize("fault", ["data", "copy"])
def test_an_insert_is_cancelled(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, there: Callable[[], list[str]], fault: str
) -> None:
    """The second of three files is waited for."""
    table = new_table(session, place, "k INT", PARTS)
    slow = Rule(method="PUT", path={"data": "_files", "copy": copied(place)}[fault], delay=20, skip=1, times=1)
    proxy.rules[:] = [slow]
    other = session.new_session()
    with ThreadPoolExecutor(1) as pool:
        insert = pool.submit(run, other, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        when(lambda: slow.met > 1, other.cancel)
        with pytest.raises(CancelledError):
            insert.result()
    proxy.rules.clear()
    assert rows(session, f"SELECT count(*) FROM {table}") == [(0,)]
    assert there() == []


def test_a_storage_that_fails_after_the_copies(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, there: Callable[[], list[str]]
) -> None:
    """The statement was carried out, and says so. Readers do not see the staged files that it leaves."""
    table = new_table(session, place)
    run(session, f"INSERT INTO {table} VALUES (1, 'a')")

    def fail() -> None:
        proxy.rules.append(Rule(method="GET", status=403, code="AccessDenied"))

    proxy.rules[:] = [Rule(method="PUT", path=copied(place), before=fail)]
    run(session, f"INSERT OVERWRITE TABLE {table} VALUES (2, 'b')")
    proxy.rules.clear()
    assert any(name.startswith("_files/") for name in there())
    assert rows(session, f"SELECT * FROM {table}") == [(2, "b")]


def test_replaced_files_that_cannot_be_deleted(session: sharkpy.SharkContext, proxy: FaultProxy, place: str) -> None:
    """The error says that both may be there, and the same statement mends it."""
    table = new_table(session, place)
    run(session, f"INSERT INTO {table} VALUES (1, 'a')")
    proxy.rules[:] = [Rule(method="POST|DELETE", status=403, code="AccessDenied")]
    with pytest.raises(SharkError, match="rows that were replaced may still be in") as caught:
        run(session, f"INSERT OVERWRITE TABLE {table} VALUES (2, 'b')")
    assert caught.value.sqlstate == "40003"
    proxy.rules.clear()
    assert rows(session, f"SELECT * FROM {table} ORDER BY k") == [(1, "a"), (2, "b")]
    run(session, f"INSERT OVERWRITE TABLE {table} VALUES (2, 'b')")
    assert rows(session, f"SELECT * FROM {table}") == [(2, "b")]


def test_the_other_targets_are_cleaned(session: sharkpy.SharkContext, proxy: FaultProxy, place: str) -> None:
    first, second = (new_table(session, f"{place}/{number}", "k INT") for number in (1, 2))
    run(session, f"INSERT INTO {first} VALUES (0)", f"INSERT INTO {second} VALUES (0)")
    proxy.rules[:] = [Rule(method="POST|DELETE", status=403, code="AccessDenied", times=1)]
    with pytest.raises(SharkError, match=f"{place}/1") as caught:
        run(session, f"FROM numbers INSERT OVERWRITE TABLE {first} SELECT 1 INSERT OVERWRITE TABLE {second} SELECT 1")
    assert caught.value.sqlstate == "40003"
    assert rows(session, f"SELECT min(k), count(*) FROM {first}") == [(0, 101)]
    assert rows(session, f"SELECT min(k), count(*) FROM {second}") == [(1, 100)]


def test_copies_that_cannot_be_taken_back(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, there: Callable[[], list[str]]
) -> None:
    """The third of three copies fails, and the second one cannot be deleted. The first one is."""
    table = new_table(session, place, "k INT", PARTS)
    proxy.rules[:] = [
        Rule(method="PUT", path=copied(place), skip=2, status=403, code="AccessDenied"),
        Rule(method="POST|DELETE", skip=1, times=1, status=403, code="AccessDenied"),
    ]
    with pytest.raises(SharkError, match="rows of the statement that failed may still be in") as caught:
        run(session, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    assert caught.value.sqlstate == "40003"
    assert [name.partition("/")[0] for name in there()] == ["p=b"]


def test_a_dropped_table_whose_files_cannot_be_removed(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, there: Callable[[], list[str]]
) -> None:
    """No reader sees its rows again: they are deleted before another table gets the place."""
    table = new_table(session, place)
    run(session, f"INSERT INTO {table} VALUES (1, 'a')")
    proxy.rules[:] = [Rule(method="POST|DELETE", status=403, code="AccessDenied")]
    run(session, f"DROP TABLE {table}")
    assert there()
    with pytest.raises(SharkError) as caught:
        run(session, f"CREATE TABLE {table} LOCATION '{place}' AS SELECT 2 AS k")
    assert caught.value.sqlstate == "42501"
    proxy.rules.clear()
    run(session, f"CREATE TABLE {table} LOCATION '{place}' AS SELECT 2 AS k")
    assert rows(session, f"SELECT * FROM {table}") == [(2,)]


def test_a_partition_apart_from_its_table(session: sharkpy.SharkContext, place: str) -> None:
    table = new_table(session, f"{place}/t", "k INT", PARTS)
    run(session, f"ALTER TABLE {table} ADD PARTITION (p = 'x') LOCATION '{place}/elsewhere'")
    with pytest.raises(UnsupportedError, match="is not below its table"):
        run(session, f"INSERT INTO {table} PARTITION (p = 'x') VALUES (1)")
    run(session, f"INSERT INTO {table} PARTITION (p = 'y') VALUES (1)")
    assert rows(session, f"SELECT * FROM {table}") == [(1, "y")]


def test_locations_that_are_read_alone(session: sharkpy.SharkContext, proxy: FaultProxy) -> None:
    with pytest.raises(UnsupportedError, match="read-only"):
        new_table(session, f"http://{proxy.address}/nothing/there")
    table = f"t{uuid4().hex}"
    run(session, f"CREATE EXTERNAL TABLE {table} (k INT) LOCATION 'http://{proxy.address}/nothing/there'")
    with pytest.raises(UnsupportedError, match="read-only"):
        run(session, f"INSERT INTO {table} VALUES (1)")


@pytest.mark.parametrize("fault", ["data", "copy"])
@pytest.mark.parametrize("rest", ["", "PARTITIONED BY (p)"])
def test_a_table_that_cannot_be_made_leaves_nothing(
    session: sharkpy.SharkContext,
    proxy: FaultProxy,
    place: str,
    there: Callable[[], list[str]],
    fault: str,
    rest: str,
) -> None:
    table = f"t{uuid4().hex}"
    path = {"data": "_files", "copy": copied(place)}[fault]
    proxy.rules[:] = [Rule(method="PUT", path=path, status=403, code="AccessDenied")]
    with pytest.raises(SharkError) as caught:
        run(session, f"CREATE TABLE {table} {rest} LOCATION '{place}' AS SELECT k, k % 2 AS p FROM numbers")
    assert caught.value.sqlstate == "42501"
    assert there() == []
    assert session.catalog.find_table("default", table) is None


def test_files_of_written_tables_are_named(session: sharkpy.SharkContext, place: str) -> None:
    """By the folder of a table, or of a partition, as with local files."""
    table = new_table(session, f"{place}/t", "k INT", "STORED AS PARQUET")
    run(session, f"INSERT INTO {table} VALUES (1), (2)", f"INSERT OVERWRITE TABLE {table} VALUES (3)")
    assert rows(session, f"SELECT * FROM parquet.`{place}/t`") == [(3,)]
    parts = new_table(session, f"{place}/p", "k INT", "PARTITIONED BY (p INT) STORED AS PARQUET")
    run(
        session,
        f"INSERT INTO {parts} VALUES (1, 1), (2, 2)",
        f"INSERT OVERWRITE TABLE {parts} PARTITION (p) VALUES (3, 2)",
    )
    assert rows(session, f"SELECT k, p FROM parquet.`{place}/p` ORDER BY k") == [(1, 1), (3, 2)]
    assert rows(session, f"SELECT k FROM parquet.`{place}/p/p=2`") == [(3,)]
