"""EXPLAIN of continuous queries: the input of each epoch, the operators and the targets; ANALYZE runs the epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import UnsupportedError
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, put_numbers

QUERY = "SELECT x.n, u.name FROM numbers x JOIN users u ON x.n = u.n WHERE x.s LIKE 's%'"
FOLDER_LINE = "stream default.numbers: FROM FOLDER {}, json; {}; {}"


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    make_stream(context, tmp_path / "in")
    context.sql("CREATE TABLE users (n BIGINT, name STRING)")
    return context


def lines(context: sharkpy.SharkContext, text: str) -> list[str]:
    return [str(row[0]) for row in rows(context, text)]


def test_a_table(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    clauses = "STORED AS ORC PARTITIONED BY (name) TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER EVERY 5 SECONDS"
    found = lines(context, f"EXPLAIN CREATE CONTINUOUS TABLE t {clauses} AS {QUERY}")
    first, limit = "begins with the first available file", "an epoch reads at most 10,000 (max.files.per.epoch)"
    assert found[:9] == [
        "== CreateContinuousTable t ==",
        "trigger: EVERY: an epoch begins as soon as there is new input, at least 5.00 s after the previous one began",
        FOLDER_LINE.format(tmp_path / "in", first, limit),
        "incremental: Filter, Join inner, Scan: an epoch computes its rows from new input only",
        "state: none",
        "table default.users: each epoch reads its current version",
        "target: table default.t, orc, in memory (MEMORY), partitioned by name",
        "bad rows: their fields are NULL, and they are counted",
        "== Physical plan: one stage in the driver ==",
    ]
    assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_where_it_begins_and_how_it_ends(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    clauses = "TRIGGER ONCE ON BAD ROW SKIP TO bad START FROM LATEST"
    found = lines(context, f"EXPLAIN CREATE CONTINUOUS TABLE t {clauses} AS SELECT n FROM numbers")
    assert FOLDER_LINE.format(tmp_path / "in", "begins FROM LATEST", "one epoch reads all") in found
    assert "bad rows: left out, and written to default.bad in the same transaction" in found
    assert "trigger: ONCE: one epoch reads all available input, and the statement ends" in found
    context.sql("CREATE TABLE history (n BIGINT, s STRING)")
    start = "START FROM TABLE history THEN STREAM numbers"
    found = lines(context, f"EXPLAIN CREATE CONTINUOUS TABLE t {start} AS SELECT n FROM numbers")
    assert any("; begins after the rows of default.history; " in line for line in found)
    assert "table default.history: read once, by the first epoch, before the stream" in found


def test_tables_of_subqueries_are_told(context: sharkpy.SharkContext) -> None:
    text = "SELECT value FROM r WHERE value IN (SELECT n FROM users) UNION ALL SELECT n FROM numbers"
    context.sql("CREATE STREAM r FROM RATE ('max.rows.per.epoch' = '7')")
    found = lines(context, f"EXPLAIN CREATE CONTINUOUS TABLE t AS {text}")
    first = "begins with the first available row"
    assert f"stream default.r: FROM RATE; {first}; an epoch reads at most 7 (max.rows.per.epoch)" in found
    assert "table default.users: each epoch reads its current version" in found
    assert any(line.startswith("incremental: Union, Filter, Scan") for line in found)


def test_an_insert_and_a_sink(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    text = "FROM numbers INSERT INTO users SELECT n, s INSERT INTO users SELECT n, 'x' WHERE n > 3"
    found = lines(context, f"EXPLAIN CREATE CONTINUOUS INSERT i AS {text}")
    assert "target: table default.users, text" in found
    assert "target: the rows of an epoch appear in all of them at the same time" in found
    out = tmp_path / "out"
    found = lines(context, f"EXPLAIN CREATE CONTINUOUS SINK k TO FOLDER '{out}' STORED AS JSONFILE AS {QUERY}")
    assert f'target: files of json in the folder "{out}", each put there whole, once, behind the epoch' in found
    assert not out.exists()


def test_analyze_makes_it_and_shows_its_epochs(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for number in range(3):
        put_numbers(tmp_path / "in", str(number), [number])
    found = lines(context, "EXPLAIN ANALYZE CREATE CONTINUOUS TABLE t TRIGGER ONCE AS SELECT n FROM numbers")
    assert [line.split(" in ")[0] for line in found if line.startswith("epoch")] == ["epoch 1: 3 rows"]
    assert any("FileScan default.numbers [n#1] (3 splits)" in line for line in found)
    assert numbers(context) == [0, 1, 2]
    text = "FROM numbers INSERT INTO users SELECT n, s INSERT INTO users SELECT n, 'x' WHERE n > 0"
    found = lines(context, f"EXPLAIN ANALYZE CREATE CONTINUOUS INSERT i TRIGGER AVAILABLE NOW AS {text}")
    assert [line.split(" in ")[0] for line in found if line.startswith("epoch")] == ["epoch 1: 5 rows"]
    assert len(rows(context, "SELECT * FROM users")) == 5
    assert [row[1] for row in rows(context, "SHOW CONTINUOUS TABLES")] == ["i", "t"]


def test_analyze_of_many_epochs_shows_the_last(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    make_small = f"CREATE STREAM small (n BIGINT) STORED AS JSONFILE FROM FOLDER '{tmp_path / 'in'}'"
    context.sql(f"{make_small} ('max.files.per.epoch' = '1')")
    for number in range(25):
        put_numbers(tmp_path / "in", f"{number:02}", [number])
    found = lines(context, "EXPLAIN ANALYZE CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW AS SELECT n FROM small")
    assert "the last 20 of 25 epochs:" in found
    assert [line.split(":")[0] for line in found if line.startswith("epoch ")] == [f"epoch {n}" for n in range(6, 26)]
    assert sum("FileScan default.small" in line for line in found) == 20


def test_analyze_of_a_query_without_an_end_is_refused(context: sharkpy.SharkContext) -> None:
    with pytest.raises(UnsupportedError, match="that does not end by itself; TRIGGER ONCE"):
        context.sql("EXPLAIN ANALYZE CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_analyze_without_anything_to_read(context: sharkpy.SharkContext) -> None:
    found = lines(context, "EXPLAIN ANALYZE CREATE CONTINUOUS TABLE t TRIGGER ONCE AS SELECT n FROM numbers")
    assert found[-1] == "no epoch: there was nothing to read"


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (
            "KAFKA ('bootstrap.servers' = 'localhost:1', 'topic' = 'x')",
            'records of json in the topic "x", by a transaction of the broker',
        ),
        ("PROGRAM", "a function of a program, at least once for each epoch"),
        ("CONSOLE", "an interactive shell"),
    ],
)
def test_sinks_of_all_kinds(context: sharkpy.SharkContext, place: str, told: str) -> None:
    assert told in "\n".join(lines(context, f"EXPLAIN CREATE CONTINUOUS SINK k TO {place} AS {QUERY}"))
    assert [tuple(row) for row in context.sql("SHOW CONTINUOUS TABLES").fetchall()] == []
