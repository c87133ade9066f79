"""Continuous tables in buckets, and streams of the rows of tables there."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import BindError, SourceError
from sharkpy.sources.folders.generations import is_folded
from sharkpy.streaming import kill_points
from tests.faults.test_killed_epochs import PER_FILE, put_file, runner
from tests.files import files_of
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, state_of, until_numbers
from tests.waiting import until

There = Callable[[], list[str]]
STATE = "WITH UNBOUNDED STATE"
AT_ONCE = {"shark.table.retention": "0"}
"""Hidden files are deleted when no reader in this process uses them."""


def keys(address: str) -> dict[str, str]:
    return {"fs.s3a.access.key": ACCESS_KEY, "fs.s3a.secret.key": SECRET, "fs.s3a.endpoint": f"http://{address}"}


@pytest.fixture
def session(proxy: FaultProxy, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    proxy.rules.clear()
    proxy.seen.clear()
    with sharkpy.connect("local[2]", tmp_path / "w", **AT_ONCE, **keys(proxy.address)) as session:
        yield session
    proxy.rules.clear()


@pytest.fixture
def there(s3: Any, folder: str) -> There:
    """Names of the objects in the folder."""
    prefix = folder.partition(f"{BUCKET}/")[2] + "/"

    def listed() -> list[str]:
        found = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return [one["Key"].removeprefix(prefix) for one in found]

    return listed


def data(names: list[str]) -> list[str]:
    """Files of writes, and plain files from before the table had a stream."""
    return [name for name in names if "/part-" in f"/{name}"]


# Continuous tables


@pytest.mark.parametrize(
    "clauses",
    [
        pytest.param("", id="files", marks=pytest.mark.slow),
        pytest.param(MEMORY, id="memory"),
        pytest.param(f"PARTITIONED BY (s) {MEMORY}", id="parts", marks=pytest.mark.slow),
        pytest.param(STATE, id="state"),
    ],
)
def test_epochs_rollback_and_versions(
    session: sharkpy.SharkContext, folder: str, tmp_path: Path, there: There, clauses: str
) -> None:
    make_stream(session, tmp_path / "in")
    state = clauses if clauses == STATE else ""
    parts, _, properties = clauses.removeprefix(state).partition("TBLPROPERTIES")
    properties = f"TBLPROPERTIES{properties}" if properties else ""
    query = "SELECT n, max(s) AS s FROM numbers GROUP BY n" if state else "SELECT n, s FROM numbers"
    put_numbers(tmp_path / "in", "a", [1, 2])
    session.sql(f"CREATE CONTINUOUS TABLE t {parts} LOCATION '{folder}' {properties} {NOW} {state} AS {query}").close()
    assert numbers(session) == [1, 2]
    assert data(there())
    for name, number in (("b", 3), ("c", 4)):
        put_numbers(tmp_path / "in", name, [number])
        session.sql("RESUME CONTINUOUS TABLE t").close()
    assert numbers(session) == [1, 2, 3, 4]
    assert rows(session, "SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF 2") == [(3,)]
    session.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1").close()
    assert numbers(session) == [1, 2]
    session.sql("RESUME CONTINUOUS TABLE t").close()
    assert numbers(session) == [1, 2, 3, 4]
    session.sql("REFRESH CONTINUOUS TABLE t").close()
    session.sql("RESUME CONTINUOUS TABLE t").close()
    assert numbers(session) == [1, 2, 3, 4]
    made_again = "\n".join(str(row[0]) for row in rows(session, "SHOW CREATE TABLE t"))
    assert f"\nLOCATION '{folder}'\n" in made_again
    session.sql("DROP CONTINUOUS TABLE t").close()
    assert there() == []
    session.sql(made_again).close()
    assert numbers(session) == [1, 2, 3, 4]


def test_a_folder_that_is_not_empty(session: sharkpy.SharkContext, s3: Any, folder: str, tmp_path: Path) -> None:
    """Files of other programs would become the table's."""
    make_stream(session, tmp_path / "in")
    s3.put_object(Bucket=BUCKET, Key=f"{folder.partition(f'{BUCKET}/')[2]}/other", Body=b"x")
    with pytest.raises(BindError, match="is not empty"):
        session.sql(f"CREATE CONTINUOUS TABLE t LOCATION '{folder}' AS SELECT n FROM numbers")
    with pytest.raises(BindError, match="is not empty"):
        session.sql(f"CREATE CONTINUOUS TABLE t LOCATION '{folder}' {STATE} AS SELECT n FROM numbers GROUP BY n")


def test_failures_of_the_storage_pass(
    session: sharkpy.SharkContext, proxy: FaultProxy, folder: str, tmp_path: Path
) -> None:
    make_stream(session, tmp_path / "in")
    session.sql(f"CREATE CONTINUOUS TABLE t LOCATION '{folder}' AS SELECT n FROM numbers").close()
    put_numbers(tmp_path / "in", "a", [1])
    until_numbers(session, [1])
    for rule in (
        Rule("PUT", "_files", status=403, code="AccessDenied"),
        Rule("PUT", status=403, code="AccessDenied"),
    ):
        proxy.rules.append(rule)
        put_numbers(tmp_path / "in", f"b{rule.path}", [2 if rule.path else 3])
        until(lambda: state_of(session)[1] is not None)
        assert state_of(session)[0] == "RUNNING"
        proxy.rules.clear()
        until_numbers(session, [1, 2] if rule.path else [1, 2, 3])
        until(lambda: state_of(session)[1] is None)


def test_targets_of_an_insert(session: sharkpy.SharkContext, folder: str, tmp_path: Path) -> None:
    make_stream(session, tmp_path / "in")
    session.sql(f"CREATE TABLE far (n BIGINT) STORED AS PARQUET LOCATION '{folder}'").close()
    session.sql("CREATE TABLE near (n BIGINT) STORED AS PARQUET").close()
    session.sql("INSERT INTO far VALUES (100)").close()
    put_numbers(tmp_path / "in", "a", [1, 2])
    both = "INSERT INTO far SELECT n INSERT INTO near SELECT n WHERE n > 1"
    session.sql(f"CREATE CONTINUOUS INSERT split {NOW} AS FROM numbers {both}").close()
    assert (numbers(session, "far"), numbers(session, "near")) == ([1, 2, 100], [2])
    session.sql("INSERT INTO far VALUES (101)").close()
    put_numbers(tmp_path / "in", "b", [3])
    session.sql("RESUME CONTINUOUS INSERT split").close()
    assert (numbers(session, "far"), numbers(session, "near")) == ([1, 2, 3, 100, 101], [2, 3])


# Streams of tables' rows


@pytest.fixture
def fed(session: sharkpy.SharkContext, folder: str) -> sharkpy.SharkContext:
    """A table in a bucket, whose rows a stream has."""
    session.sql(f"CREATE TABLE far (n BIGINT) STORED AS PARQUET LOCATION '{folder}'").close()
    session.sql("INSERT INTO far VALUES (1)").close()
    session.sql("CREATE STREAM added FROM TABLE far").close()
    session.sql("CREATE STREAM whole FROM TABLE far WITH HISTORY").close()
    return session


def test_appended_rows_come_once(fed: sharkpy.SharkContext, tmp_path: Path, there: There) -> None:
    fed.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM added").close()
    fed.sql("CREATE CONTINUOUS TABLE u AS SELECT n FROM whole").close()
    until_numbers(fed, [1], "u")
    for number in range(2, 6):
        fed.sql(f"INSERT INTO far VALUES ({number})").close()
    until_numbers(fed, [2, 3, 4, 5])
    until_numbers(fed, [1, 2, 3, 4, 5], "u")
    assert len(data(there())) == 5, "the files are the table's own"


def test_files_stay_until_streams_have_read_them(fed: sharkpy.SharkContext, there: There) -> None:
    """Files that an overwrite has replaced are deleted when the last stream has read them."""
    fed.sql("INSERT INTO far VALUES (2)").close()
    fed.sql("ALTER TABLE added SET TBLPROPERTIES ('failOnDataLoss' = 'false')").close()
    fed.sql("ALTER TABLE whole SET TBLPROPERTIES ('failOnDataLoss' = 'false')").close()
    fed.sql("INSERT OVERWRITE TABLE far VALUES (9)").close()
    fed.sql("INSERT INTO far VALUES (10)").close()
    assert numbers(fed, "far") == [9, 10]
    assert len(data(there())) == 4, "those of 1 and 2 are wanted"
    fed.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM added").close()
    assert numbers(fed) == [2, 10]
    assert len(data(there())) == 4, "the other stream wants them"
    fed.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT n FROM whole").close()
    assert numbers(fed, "u") == [1, 2, 10]
    assert len(data(there())) == 2
    assert numbers(fed, "far") == [9, 10]


def test_a_dropped_stream_lets_go(fed: sharkpy.SharkContext, there: There) -> None:
    fed.sql("INSERT INTO far VALUES (2)").close()
    fed.sql("INSERT OVERWRITE TABLE far VALUES (9)").close()
    assert len(data(there())) == 3
    fed.sql("DROP STREAM added").close()
    assert len(data(there())) == 3
    fed.sql("DROP STREAM whole").close()
    assert len(data(there())) == 1
    assert numbers(fed, "far") == [9]


def test_rewritten_rows_stop_the_query(fed: sharkpy.SharkContext) -> None:
    fed.sql("INSERT OVERWRITE TABLE far VALUES (9)").close()
    with pytest.raises(SourceError, match="were replaced or removed"):
        fed.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM added").close()


def test_dropped_partitions_and_tables(session: sharkpy.SharkContext, folder: str, there: There) -> None:
    """Files of a dropped partition stay for the streams; DROP of the table deletes all files."""
    session.sql(
        f"CREATE TABLE far (n BIGINT) PARTITIONED BY (day STRING) STORED AS PARQUET LOCATION '{folder}'"
    ).close()
    session.sql("CREATE STREAM added FROM TABLE far").close()
    session.sql("INSERT INTO far PARTITION (day='a:1') VALUES (1)").close()
    session.sql("INSERT INTO far PARTITION (day) SELECT 2, 'b'").close()
    session.sql("ALTER TABLE far DROP PARTITION (day='a:1')").close()
    assert rows(session, "SELECT n, day FROM far") == [(2, "b")]
    assert len(data(there())) == 2
    session.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n, day FROM added").close()
    assert rows(session, "SELECT * FROM t ORDER BY n") == [(1, "a:1"), (2, "b")]
    assert len(data(there())) == 1
    session.sql("INSERT INTO far PARTITION (day) SELECT 3, 'c'").close()
    session.sql("DROP TABLE far").close()
    assert there() == []


def test_what_has_another_name_stays(session: sharkpy.SharkContext, folder: str, there: There) -> None:
    """Rows of a renamed Hive partition are still read if its folder has a name of its own."""
    for statement in (
        f"CREATE TABLE far (n BIGINT) PARTITIONED BY (day STRING) STORED AS PARQUET LOCATION '{folder}'",
        f"ALTER TABLE far ADD PARTITION (day='a') LOCATION '{folder}/own'",
        "CREATE STREAM added FROM TABLE far",
        "INSERT INTO far PARTITION (day='a') VALUES (1)",
        "ALTER TABLE far PARTITION (day='a') RENAME TO PARTITION (day='b')",
        f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n, day FROM added",
    ):
        session.sql(statement).close()
    assert rows(session, "SELECT * FROM t") == [(1, "a")]
    assert len(data(there())) == 1
    assert rows(session, "SELECT n, day FROM far") == [(1, "b")]


def test_what_lies_where_the_table_was_stays(fed: sharkpy.SharkContext, folder: str, there: There) -> None:
    for statement in (
        "INSERT INTO far VALUES (2)",
        f"ALTER TABLE far SET LOCATION '{folder}-other'",
        f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM added",
        f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT n FROM whole",
    ):
        fed.sql(statement).close()
    assert (numbers(fed), numbers(fed, "u")) == ([2], [1, 2])
    assert len(data(there())) == 2
    fed.sql(f"ALTER TABLE far SET LOCATION '{folder}'").close()
    assert numbers(fed, "far") == [1, 2]


@pytest.mark.slow
def test_folds_leave_what_streams_want(proxy: FaultProxy, tmp_path: Path, folder: str, there: There) -> None:
    """Appended files that are put together meanwhile are given as they came, and go then."""
    proxy.rules.clear()
    settings = {"shark.compaction.min.blocks": 4, **AT_ONCE, **keys(proxy.address)}
    with sharkpy.connect("local[2]", tmp_path / "w", **settings) as session:
        session.sql(f"CREATE TABLE far (n BIGINT) STORED AS PARQUET LOCATION '{folder}' {MEMORY}").close()
        session.sql("CREATE STREAM added FROM TABLE far").close()
        for number in range(8):
            session.sql(f"INSERT INTO far VALUES ({number})").close()
            numbers(session, "far")
        until(lambda: any(is_folded(file.path) for file in files_of(session, "far")))
        session.sql("INSERT INTO far VALUES (8)").close()
        assert numbers(session, "far") == list(range(9))
        assert len(data(there())) > 9
        session.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM added").close()
        assert numbers(session) == list(range(9))
        assert len(data(there())) < 9
        assert numbers(session, "far") == list(range(9))


# Kills


def serve_bucket(moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the server by the environment, for other processes too."""
    for name, value in (
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_ENDPOINT_URL_S3", f"http://{moto.address}"),
    ):
        monkeypatch.setenv(name, value)


@pytest.mark.slow
@pytest.mark.parametrize("step", [kill_points.STAGED, kill_points.PLACED, kill_points.COMMITTED])
def test_a_state_counts_once_after_a_kill(
    tmp_path: Path, moto: S3Server, folder: str, there: There, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    serve_bucket(moto, monkeypatch)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '2')")
        (tmp_path / "in").mkdir()
        query = "SELECT n, count(*) AS s FROM numbers GROUP BY n"
        context.sql(f"CREATE CONTINUOUS TABLE t LOCATION '{folder}' {STATE} AS {query}").close()
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        put_file(tmp_path, 3)
        until_numbers(context, range(4 * PER_FILE))
        assert rows(context, "SELECT DISTINCT s FROM t") == [(1,)]
        context.sql("DROP CONTINUOUS TABLE t").close()
    assert there() == []


@pytest.mark.slow
@pytest.mark.parametrize("step", [kill_points.STAGED, kill_points.PLACED, kill_points.COMMITTED])
@pytest.mark.parametrize("clauses", ["", "PARTITIONED BY (s)"], ids=["plain", "parts"])
def test_killed_between_two_steps(
    tmp_path: Path, moto: S3Server, folder: str, there: There, monkeypatch: pytest.MonkeyPatch, step: str, clauses: str
) -> None:
    serve_bucket(moto, monkeypatch)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '2')")
        (tmp_path / "in").mkdir()
        query = "SELECT n, concat('p', n % 3) AS s FROM numbers"
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} LOCATION '{folder}' AS {query}").close()
        context.sql("CREATE STREAM added FROM TABLE t").close()
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        found = numbers(context)
        assert found == list(range(len(found)))
        assert len(found) in (2 * PER_FILE, 3 * PER_FILE)
        context.streams.start()
        put_file(tmp_path, 3)
        until_numbers(context, range(4 * PER_FILE))
        context.sql(f"CREATE CONTINUOUS TABLE again {NOW} AS SELECT n FROM added").close()
        assert numbers(context, "again") == list(range(4 * PER_FILE))
        context.sql("DROP CONTINUOUS TABLE t").close()
    assert there() == []
