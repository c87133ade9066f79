"""Rows of a table that come before the rows of a stream: START FROM TABLE … THEN STREAM …"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ColumnNotFoundError, SharkError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, state_of, until_numbers
from tests.waiting import until

HISTORY = "START FROM TABLE history THEN STREAM numbers"


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    return context


def make_history(context: sharkpy.SharkContext, clauses: str = "") -> None:
    columns = "CAST(n AS INT) AS n, 'h' AS s, true AS extra"
    context.sql(f"CREATE TABLE history {clauses} AS SELECT {columns} FROM (VALUES (1), (2)) v(n)")


def make(context: sharkpy.SharkContext, start: str = HISTORY, clauses: str = "", query: str = "") -> None:
    text = query or "SELECT n, s, n * 10 AS ten FROM numbers WHERE n <> 3"
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} {start} AS {text}").close()


@pytest.mark.parametrize("clauses", ["", "TBLPROPERTIES ('shark.cache' = 'MEMORY')", "STORED AS TEXTFILE"])
def test_the_table_comes_first(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    make_history(context, clauses)
    put_numbers(folder, "a", [3, 4])
    make(context)
    assert rows(context, "SELECT * FROM t ORDER BY n") == [(1, "h", 10), (2, "h", 20), (4, "s4", 40)]
    context.sql("INSERT INTO history VALUES (9, 'late', false)")
    put_numbers(folder, "b", [5])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2, 4, 5]
    assert [row[:2] for row in rows(context, "SHOW EPOCHS t")] == [(3, "WRITTEN"), (2, "WRITTEN"), (1, "WRITTEN")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT s, count(*) AS n FROM numbers GROUP BY s", [("h", 2), ("s3", 1), ("s4", 1)]),
        ("SELECT a.s, b.n FROM numbers a JOIN numbers b ON a.n = b.n + 1", [("h", 1), ("s3", 2), ("s4", 3)]),
        ("SELECT s, n FROM numbers ORDER BY n DESC LIMIT 3", [("h", 2), ("s3", 3), ("s4", 4)]),
    ],
)
def test_state_of_the_table_comes_first(
    context: sharkpy.SharkContext, folder: Path, query: str, expected: list[tuple[object, ...]]
) -> None:
    make_history(context)
    put_numbers(folder, "a", [3])
    make(context, f"{HISTORY} WITH UNBOUNDED STATE", query=query)
    context.sql("INSERT INTO history VALUES (9, 'late', false)")
    put_numbers(folder, "b", [4])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t ORDER BY s") == expected
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t ORDER BY s") == expected


def test_where_the_stream_begins(context: sharkpy.SharkContext, folder: Path) -> None:
    make_history(context)
    put_numbers(folder, "a", [4])
    make(context, f"{HISTORY} FROM LATEST")
    assert numbers(context) == [1, 2]
    put_numbers(folder, "b", [5])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2, 5]
    context.sql(f"CREATE CONTINUOUS TABLE u {NOW} {HISTORY} FROM EARLIEST AS SELECT n FROM numbers")
    assert numbers(context, "u") == [1, 2, 4, 5]
    moment = f"{HISTORY} FROM TIMESTAMP '2030-01-01 00:00:00'"
    context.sql(f"CREATE CONTINUOUS TABLE v {NOW} {moment} AS SELECT n FROM numbers")
    assert numbers(context, "v") == [1, 2]


def test_a_partitioned_target_and_a_partitioned_history(context: sharkpy.SharkContext, folder: Path) -> None:
    columns = "CAST(n AS BIGINT) AS n, concat('p', n) AS s"
    context.sql(f"CREATE TABLE history PARTITIONED BY (s) AS SELECT {columns} FROM (VALUES (1), (2)) v(n)")
    put_numbers(folder, "a", [4])
    make(context, clauses="PARTITIONED BY (s)", query="SELECT n, s FROM numbers")
    assert rows(context, "SELECT n, s FROM t ORDER BY n") == [(1, "p1"), (2, "p2"), (4, "s4")]


def test_inserts_and_sinks(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_history(context)
    put_numbers(folder, "a", [4])
    for name in ("small", "large"):
        context.sql(f"CREATE TABLE {name} (n BIGINT)")
    context.sql(
        f"CREATE CONTINUOUS INSERT i {NOW} {HISTORY} AS FROM numbers "
        "INSERT INTO small SELECT n WHERE n < 2 INSERT INTO large SELECT n WHERE n >= 2"
    )
    assert (numbers(context, "small"), numbers(context, "large")) == ([1], [2, 4])
    to = f"TO FOLDER '{tmp_path / 'out'}' STORED AS TEXTFILE"
    context.sql(f"CREATE CONTINUOUS SINK k {to} {NOW} {HISTORY} AS SELECT n FROM numbers")
    written = [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]
    assert sorted(word for path in written for word in path.read_text().split()) == ["1", "2", "4"]


def test_a_continuous_table_goes_as_far_as_it_has_read(context: sharkpy.SharkContext, folder: Path) -> None:
    """Queries that begin at any time, while another one is kept up to date, have each row once."""
    context.sql("CREATE CONTINUOUS TABLE history TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT n, s FROM numbers")
    for number in range(0, 30, 3):
        put_numbers(folder, f"{number:03}", [number])
        until(lambda: numbers(context, "history"))
        context.sql(f"CREATE CONTINUOUS TABLE t{number} {HISTORY} AS SELECT n, s FROM numbers")
        put_numbers(folder, f"{number + 1:03}", [number + 1, number + 2])
    for number in range(0, 30, 3):
        until_numbers(context, range(30), f"t{number}")


def test_the_rows_that_were_appended_to_the_table(context: sharkpy.SharkContext) -> None:
    """The stream of a table, from where its rows end: nothing between is missing or doubled."""
    context.sql("CREATE TABLE history (n BIGINT, s STRING)")
    context.sql("CREATE STREAM added FROM TABLE history")
    written, is_over = [0], threading.Event()
    other = context.new_session()

    def write() -> None:
        while not is_over.is_set():
            other.sql(f"INSERT INTO history VALUES ({written[0]}, 'x')").close()
            written[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(8):
            until(lambda number=number: written[0] > 3 * number)  # type: ignore[misc]
            context.sql(
                f"CREATE CONTINUOUS TABLE t{number} START FROM TABLE history THEN STREAM added AS SELECT n FROM added"
            )
    finally:
        is_over.set()
        thread.join()
        other.stop()
    for number in range(8):
        until_numbers(context, range(written[0]), f"t{number}")


def test_a_refresh_begins_with_the_table_again(context: sharkpy.SharkContext, folder: Path) -> None:
    make_history(context)
    put_numbers(folder, "a", [4])
    make(context)
    context.sql("INSERT INTO history VALUES (7, 'h', false)")
    context.sql("REFRESH CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2, 4, 7]


def test_the_table_is_dropped_after_it_was_read(context: sharkpy.SharkContext, folder: Path) -> None:
    make_history(context)
    make(context)
    context.sql("DROP TABLE history")
    put_numbers(folder, "a", [4])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2, 4]
    with pytest.raises(SharkError, match="dropped"):
        context.sql("REFRESH CONTINUOUS TABLE t")
    assert state_of(context)[0] == "STOPPED"


def test_it_is_shown(context: sharkpy.SharkContext, folder: Path) -> None:
    make_history(context)
    put_numbers(folder, "a", [4])
    make(context, f"{HISTORY} FROM LATEST")
    shown = [str(row[0]) for row in rows(context, "SHOW CREATE TABLE t")]
    assert "START FROM TABLE `default`.`history` THEN STREAM `default`.`numbers` FROM LATEST" in shown
    context.sql("DROP CONTINUOUS TABLE t")
    context.sql(" ".join(shown))
    assert numbers(context) == [1, 2]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        ("START FROM TABLE v THEN STREAM numbers", BindError, r"default\.v is a view"),
        ("START FROM TABLE numbers THEN STREAM numbers", BindError, r"default\.numbers is a stream"),
        ("START FROM TABLE history THEN STREAM history", BindError, r"default\.history is not a stream"),
        ("START FROM TABLE narrow THEN STREAM numbers", ColumnNotFoundError, 'has no column "s"'),
        ("START FROM TABLE tmp THEN STREAM numbers", UnsupportedError, "temporary"),
        ("START FROM TABLE history THEN STREAM other", BindError, "does not read"),
        ("START FROM TABLE maps THEN STREAM numbers", SharkError, "cast|CAST"),
    ],
)
def test_what_is_refused(
    context: sharkpy.SharkContext, folder: Path, start: str, error: type[SharkError], message: str
) -> None:
    make_history(context)
    context.sql("CREATE VIEW v AS SELECT * FROM history")
    context.sql("CREATE TABLE narrow (n BIGINT)")
    context.sql("CREATE TABLE maps (n MAP<STRING,INT>, s STRING)")
    context.sql("CREATE TEMPORARY TABLE tmp (n BIGINT, s STRING)")
    context.sql(f"CREATE STREAM other (n INT, s STRING) STORED AS JSONFILE FROM FOLDER '{folder}'")
    with pytest.raises(error, match=message):
        make(context, start)
    assert context.catalog.find_table("default", "t") is None


def test_several_writers(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE history (n BIGINT, s STRING)")
    for name in ("one", "two"):
        context.sql(f"CREATE CONTINUOUS INSERT {name} {NOW} AS INSERT INTO history SELECT n, s FROM numbers")
    with pytest.raises(BindError, match="several continuous queries write the table from the stream"):
        make(context)
    context.sql("DROP CONTINUOUS INSERT two")
    put_numbers(folder, "a", [1])
    context.sql("RESUME CONTINUOUS INSERT one")
    put_numbers(folder, "b", [2])
    make(context)
    assert numbers(context) == [1, 2]
