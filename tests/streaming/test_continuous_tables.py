"""Continuous tables: rows of a stream come once, in whole epochs, whatever happens between."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import BindError, SharkError, SourceError, TableExistsError, UnsupportedError
from sharkpy.streaming import kill_points
from tests.examples import examples
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put, put_numbers, state_of, until_numbers
from tests.waiting import until


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "clauses", ["", MEMORY, "STORED AS TEXTFILE", "PARTITIONED BY (s)", f"PARTITIONED BY (s) {MEMORY}"]
)
def test_rows_come_as_they_arrive(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", range(3))
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS SELECT n, s FROM numbers WHERE n <> 1")
    until_numbers(context, [0, 2])
    for number in range(3, 8):
        put_numbers(folder, f"b{number}", [number])
        until_numbers(context, [0, *range(2, number + 1)])
    assert rows(context, "SELECT n, s FROM t WHERE n = 5") == [(5, "s5")]
    assert state_of(context) == ("RUNNING", None)


def test_it_goes_on_after_a_restart(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        put_numbers(folder, "a", range(3))
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
        until_numbers(context, range(3))
    put_numbers(folder, "b", range(3, 6))
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until_numbers(context, range(6))


def test_a_query_that_was_let_go_meanwhile_is_taken_up_again(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    put_numbers(folder, "b", [2])
    queries, found = context.streams._queries, list[str]()
    scheduled_of = queries.get

    def let_go(query_id: str) -> object:
        scheduled = scheduled_of(query_id)
        if not found:
            # As the thread of the scheduler does that has listed the queries before.
            queries.end(query_id, scheduled)
        found.append(query_id)
        return scheduled

    monkeypatch.setattr(queries, "get", let_go)
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2]
    assert len(found) == 2


def test_once_and_now_end_with_what_is_there(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder, "('max.files.per.epoch' = '2')")
    for number in range(5):
        put_numbers(folder, str(number), [number])
    context.sql("CREATE CONTINUOUS TABLE one TRIGGER ONCE AS SELECT n FROM numbers")
    context.sql(f"CREATE CONTINUOUS TABLE many {NOW} AS SELECT n FROM numbers")
    for name, epochs in (("one", 1), ("many", 3)):
        assert numbers(context, name) == list(range(5))
        assert state_of(context, name) == ("FINISHED", None)
        assert len(rows(context, f"SHOW EPOCHS {name}")) == epochs
    put_numbers(folder, "5", [5])
    context.sql("RESUME CONTINUOUS TABLE many")
    assert (numbers(context, "one"), numbers(context, "many")) == (list(range(5)), list(range(6)))
    assert [row[0] for row in rows(context, "SHOW EPOCHS many LIMIT 2")] == [4, 3]


def test_pause_and_resume(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    until_numbers(context, [1])
    context.sql("PAUSE CONTINUOUS TABLE t")
    put_numbers(folder, "b", [2])
    time.sleep(0.5)
    assert (numbers(context), state_of(context)[0]) == ([1], "PAUSED")
    context.sql("RESUME CONTINUOUS TABLE t")
    until_numbers(context, [1, 2])


def test_a_trigger_spaces_the_epochs(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    context.sql("CREATE CONTINUOUS TABLE t TRIGGER EVERY 400 MILLISECONDS AS SELECT n FROM numbers")
    began = time.monotonic()
    for number in range(20):
        put_numbers(folder, str(number), [number])
        time.sleep(0.05)
    until_numbers(context, range(20))
    assert len(rows(context, "SHOW EPOCHS t")) <= 2 + (time.monotonic() - began) / 0.4
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][3] == "EVERY 400 MILLISECONDS"


def test_each_epoch_joins_the_table_as_it_is_then(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE names (n BIGINT, name STRING) STORED AS PARQUET")
    context.sql("INSERT INTO names VALUES (1, 'one')")
    make_stream(context, folder)
    put_numbers(folder, "a", [1, 2])
    context.sql(
        f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT x.n, y.name FROM numbers x LEFT JOIN names y ON x.n = y.n"
        " WHERE NOT EXISTS (SELECT 1 FROM names z WHERE z.n = x.n + 100)"
    )
    assert sorted(rows(context, "SELECT * FROM t"), key=str) == [(1, "one"), (2, None)]
    context.sql("INSERT INTO names VALUES (3, 'three'), (104, 'none')")
    put_numbers(folder, "b", [3, 4])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert sorted(rows(context, "SELECT * FROM t"), key=str) == [(1, "one"), (2, None), (3, "three")]


def test_explode_union_and_views(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1, 2])
    context.sql("CREATE VIEW small AS SELECT n FROM numbers WHERE n < 2")
    context.sql(
        f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM small"
        " UNION ALL SELECT e AS n FROM numbers LATERAL VIEW explode(array(n * 10, n * 100)) v AS e"
    )
    assert numbers(context) == [1, 10, 20, 100, 200]


def test_several_queries_read_one_stream(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    for name in ("t", "u", "v"):
        context.sql(f"CREATE CONTINUOUS TABLE {name} AS SELECT n FROM numbers")
    for number in range(4):
        put_numbers(folder, str(number), [number])
    for name in ("t", "u", "v"):
        until_numbers(context, range(4), name)


def test_a_table_of_a_stream_has_the_columns_of_its_making(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE names (n BIGINT) STORED AS PARQUET")
    context.sql("INSERT INTO names VALUES (1)")
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql(
        f"CREATE CONTINUOUS TABLE t {NOW} AS"
        " SELECT x.*, y.n AS m FROM numbers x JOIN (SELECT * FROM names) y ON x.n = y.n"
    )
    context.sql("ALTER TABLE names ADD COLUMNS (more INT)")
    put_numbers(folder, "b", [1])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t") == [(1, "s1", 1)] * 2


def test_settings_of_the_definition_hold(tmp_path: Path, folder: Path) -> None:
    text = "CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW AS SELECT n, from_unixtime(n) AS at FROM numbers"
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        context.sql("SET TIME ZONE 'America/New_York'")
        put_numbers(folder, "a", [0])
        context.sql(text)
    put_numbers(folder, "b", [3600])
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("RESUME CONTINUOUS TABLE t")
        assert sorted(rows(context, "SELECT * FROM t")) == [(0, "1969-12-31 19:00:00"), (3600, "1969-12-31 20:00:00")]


def test_an_ad_hoc_query_reads_what_is_there(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    folder.mkdir()
    assert numbers(context, "numbers") == []
    put_numbers(folder, "below/a", [1, 2])
    assert numbers(context, "numbers") == [1, 2]
    assert rows(context, "SELECT count(*), sum(n) FROM numbers GROUP BY s ORDER BY 2 DESC LIMIT 1") == [(1, 2)]


def test_a_bad_record_is_null_as_in_hive(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(
        f"CREATE STREAM lines (n INT, s STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' FROM FOLDER '{folder}'"
    )
    folder.mkdir()
    (folder / "a").write_text("1,x\nnone,y\n3\n")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT * FROM lines")
    assert sorted(rows(context, "SELECT * FROM t"), key=str) == [(1, "x"), (3, None), (None, "y")]


def test_a_lost_file_makes_it_wait_and_a_found_one_go_on(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    make_stream(context, folder)
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    context.sql("PAUSE CONTINUOUS TABLE t")
    context.sql(f"CREATE CONTINUOUS TABLE other {NOW} AS SELECT n FROM numbers")
    path = put_numbers(folder, "a", [1])
    context.sql("RESUME CONTINUOUS TABLE other")
    path.rename(tmp_path / "kept")
    context.sql("RESUME CONTINUOUS TABLE t")
    until(lambda: state_of(context)[1])
    assert state_of(context)[0] == "RUNNING"
    assert "does not exist" in str(state_of(context)[1])
    (tmp_path / "kept").rename(path)
    until_numbers(context, [1])
    until(lambda: state_of(context) == ("RUNNING", None))


def test_an_input_that_changed_stops_it_until_it_is_right_again(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE names (n BIGINT, name STRING) STORED AS PARQUET")
    make_stream(context, folder)
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT x.n, y.name FROM numbers x LEFT JOIN names y ON x.n = y.n")
    context.sql("DROP TABLE names")
    put_numbers(folder, "a", [1])
    until(lambda: state_of(context)[0] == "STOPPED")
    assert "Table not found names" in str(state_of(context)[1])
    context.sql("CREATE TABLE names (n BIGINT, name STRING) STORED AS PARQUET")
    context.sql("RESUME CONTINUOUS TABLE t")
    until_numbers(context, [1])


def test_an_error_of_available_now_is_the_statements(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    put_numbers(folder, "b", [2]).write_text("changed")
    context.sql("RESUME CONTINUOUS TABLE t")
    (folder / "b").write_text("changed again")
    put_numbers(folder, "c", [3])
    with pytest.raises(SourceError, match="was changed"):
        context.sql("RESUME CONTINUOUS TABLE t")
    assert state_of(context)[0] == "STOPPED"


def test_users_do_not_write_its_rows(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS TABLE t PARTITIONED BY (s) {NOW} AS SELECT n, s FROM numbers")
    for text in (
        "INSERT INTO t VALUES (1, 'x')",
        "INSERT OVERWRITE TABLE t SELECT n, s FROM t",
        "FROM t INSERT INTO t SELECT n, s INSERT INTO t SELECT n, s",
        "TRUNCATE TABLE t",
        "DELETE FROM t WHERE n = 1",
        "UPDATE t SET n = 1",
        "MERGE INTO t USING (SELECT 1 AS a) x ON t.n = x.a WHEN MATCHED THEN DELETE",
        f"LOAD DATA INPATH '{folder}' INTO TABLE t",
        "ALTER TABLE t ADD COLUMNS (c INT)",
        "ALTER TABLE t DROP PARTITION (s = 's1')",
        "ALTER TABLE t SET LOCATION '/tmp/elsewhere'",
        "MSCK REPAIR TABLE t",
        "DROP TABLE t",
        "DROP TABLE IF EXISTS t",
        "DROP STREAM t",
        "DROP STREAM numbers",
        "INSERT INTO numbers VALUES (1, 'x')",
        "TRUNCATE TABLE numbers",
        "CACHE TABLE numbers",
        "ANALYZE TABLE numbers COMPUTE STATISTICS",
        "ALTER TABLE numbers REPLACE COLUMNS (c INT)",
        "DROP TABLE numbers",
        "PAUSE CONTINUOUS TABLE numbers",
    ):
        with pytest.raises(BindError):
            context.sql(text)
    for text in ("CREATE OR REPLACE TABLE t (n INT)", "CREATE OR REPLACE TABLE numbers AS SELECT 1 AS n"):
        with pytest.raises((TableExistsError, UnsupportedError)):
            context.sql(text)
    assert numbers(context) == [1]
    assert put_numbers(folder, "b", [2]).is_file()
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2]


def test_a_reader_keeps_the_epoch_it_began_with(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", range(10))
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    result = context.sql("SELECT n FROM t")
    put_numbers(folder, "b", range(10, 20))
    context.sql("RESUME CONTINUOUS TABLE t")
    assert len(result.fetchall()) == 10
    assert len(numbers(context)) == 20


def test_what_is_placed_and_not_committed_is_not_seen(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    seen: list[object] = []

    def hook(step: str) -> None:
        if step == kill_points.PLACED:
            seen.append(list(Path(context.catalog.table("default", "t").location or "").glob("_files/*/*")))
            with sharkpy.connect("local[2]", context.catalog.warehouse_dir) as other:
                seen.append(numbers(other))

    monkeypatch.setattr(kill_points, "observer", hook)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    placed, others = seen
    assert (bool(placed), others) == (True, [])
    assert numbers(context) == [1]


def test_another_process_runs_it_where_the_first_has_ended(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as first:
        make_stream(first, folder)
        first.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
        put_numbers(folder, "a", [1])
        until_numbers(first, [1])
        second = sharkpy.connect("local[2]", tmp_path / "w")
        second.streams.start()
        put_numbers(folder, "b", [2])
        until_numbers(first, [1, 2])
        assert rows(second, "SHOW CONTINUOUS TABLES")[0][6] == 2
    with second:
        put_numbers(folder, "c", [3])
        until_numbers(second, [1, 2, 3])


def test_two_that_run_one_query_write_each_epoch_once(tmp_path: Path, folder: Path) -> None:
    with (
        sharkpy.connect("local[2]", tmp_path / "w") as first,
        sharkpy.connect("local[2]", tmp_path / "w") as second,
    ):
        make_stream(first, folder, "('max.files.per.epoch' = '1')")
        first.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
        for number in range(12):
            put_numbers(folder, f"{number:02}", [number])
        failed: list[Exception] = []

        def resume(context: sharkpy.SharkContext) -> None:
            for _ in range(30):
                try:
                    context.sql("RESUME CONTINUOUS TABLE t")
                except SharkError as error:
                    failed.append(error)
                else:
                    return

        threads = [threading.Thread(target=resume, args=(one,)) for one in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert numbers(first) == list(range(12))


@settings(max_examples=examples(12), deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.integers(-100, 100), max_size=20), st.booleans()), max_size=12), st.integers(1, 4)
)
def test_it_equals_the_batch_answer(
    tmp_path_factory: pytest.TempPathFactory, arriving: list[tuple[list[int], bool]], most: int
) -> None:
    """Over every prefix: whatever the files and the epochs are, the table is what the query answers at once."""
    root = tmp_path_factory.mktemp("batch")
    query = "SELECT n + 1 AS n, s FROM numbers WHERE n % 3 <> 0"
    try:
        with sharkpy.connect("local[2]", root / "w") as context:
            make_stream(context, root / "in", f"('max.files.per.epoch' = '{most}')")
            (root / "in").mkdir()
            context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {query}")
            for place, (values, is_read) in enumerate(arriving):
                put_numbers(root / "in", f"{place:03}", values)
                if is_read:
                    context.sql("RESUME CONTINUOUS TABLE t")
                    assert sorted(rows(context, "SELECT * FROM t")) == sorted(rows(context, query))
    finally:
        shutil.rmtree(root)


def test_other_formats(context: sharkpy.SharkContext, folder: Path) -> None:
    for form in ("PARQUET", "ORC", "AVRO", "TEXTFILE"):
        place = folder / form
        context.sql(f"CREATE TABLE made_{form} (n BIGINT, s STRING) STORED AS {form} LOCATION '{place}'")
        context.sql(f"INSERT INTO made_{form} VALUES (1, 'x'), (2, NULL)")
        context.sql(f"CREATE STREAM of_{form} (n BIGINT, s STRING) STORED AS {form} FROM FOLDER '{place}'")
        context.sql(f"CREATE CONTINUOUS TABLE t_{form} {NOW} AS SELECT * FROM of_{form}")
        assert sorted(rows(context, f"SELECT * FROM t_{form}")) == [(1, "x"), (2, None)]


def test_what_cannot_be_kept_up_to_date_is_refused(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put(folder, "a", [])
    context.sql("CREATE TABLE names (n BIGINT) STORED AS PARQUET")
    for query, message in (
        ("SELECT n FROM numbers GROUP BY n", "the state of an aggregate by n grows"),
        ("SELECT DISTINCT n FROM numbers", "the state of an aggregate by n grows"),
        ("SELECT n FROM numbers ORDER BY n", "ORDER BY over a stream"),
        ("SELECT n FROM numbers LIMIT 3", "LIMIT over a stream"),
        ("SELECT n, row_number() OVER (ORDER BY n) AS r FROM numbers", "a window function over a stream"),
        ("SELECT a.n FROM numbers a JOIN numbers b ON a.n = b.n", "both sides of a join of streams are kept"),
        ("SELECT a.n FROM names a LEFT JOIN numbers b ON a.n = b.n", "keeps unmatched rows of the table"),
        ("SELECT a.n FROM numbers a FULL JOIN names b ON a.n = b.n", "keeps unmatched rows of the table"),
        ("SELECT n FROM names WHERE n IN (SELECT n FROM numbers)", "a stream in a subquery"),
        ("SELECT n FROM names WHERE n > (SELECT max(n) FROM numbers)", "a stream in a subquery"),
        ("SELECT n FROM numbers UNION SELECT n FROM names", "the state of an aggregate by n grows"),
        ("SELECT TRANSFORM(n) USING 'cat' AS n FROM numbers", "a script over a stream"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            context.sql(f"CREATE CONTINUOUS TABLE t AS {query}")
    with pytest.raises(BindError, match="reads no stream"):
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM names")
    assert rows(context, "SHOW CONTINUOUS TABLES") == []
