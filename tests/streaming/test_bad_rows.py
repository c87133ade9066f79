"""Records that do not parse: counted, and skipped to a table if the continuous query says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming.status import ContinuousStatus
from tests.rows import rows
from tests.streaming.folder_input import make_stream

LINES = ['{"n": 1, "s": "a"}', "no object", '{"n": "x", "s": "b"}', '{"n": 2, "s": "c"}', '{"n": [3], "s": {}}']
BAD = 3


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    make_stream(context, tmp_path / "in")
    put_lines(tmp_path / "in", "a", LINES)
    return context


def put_lines(folder: Path, name: str, lines: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    return hidden.rename(folder / name)


def test_records_that_do_not_parse_are_counted(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW AS SELECT n, s FROM numbers")
    assert len(rows(context, "SELECT * FROM t")) == len(LINES)
    assert rows(context, "SHOW EPOCHS t")[0][-1] == BAD
    put_lines(tmp_path / "in", "b", ['{"n": 3}', "[]"])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert [row[-1] for row in rows(context, "SHOW EPOCHS t")] == [1, BAD]
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][-2] == BAD + 1
    status = context.stream("t").status()
    assert isinstance(status, ContinuousStatus)
    assert status.bad_rows == BAD + 1


def test_targets_that_read_the_same_records_count_them_once(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE a (n BIGINT)")
    context.sql("CREATE TABLE b (n BIGINT)")
    text = "FROM numbers INSERT INTO a SELECT n WHERE n > 0 INSERT INTO b SELECT n"
    context.sql(f"CREATE CONTINUOUS INSERT c TRIGGER AVAILABLE NOW AS {text}")
    assert rows(context, "SHOW EPOCHS c")[0][-1] == BAD


def test_lines_of_joined_tables_do_not_count(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    put_lines(tmp_path / "users", "u", ["no object", '{"n": 1}'])
    context.sql(f"CREATE EXTERNAL TABLE users (n BIGINT) STORED AS JSONFILE LOCATION '{tmp_path / 'users'}'")
    text = "SELECT x.s FROM numbers x JOIN users u ON x.n = u.n"
    context.sql(f"CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW AS {text}")
    assert rows(context, "SELECT * FROM t") == [("a",)]
    assert rows(context, "SHOW EPOCHS t")[0][-1] == BAD


SKIPPED = [
    ("no object", "no JSON object"),
    ('{"n": "x", "s": "b"}', '"n" is no BIGINT'),
    (LINES[4], '"n" is no BIGINT'),
]
GOOD = [(1, "a"), (2, "c")]
FOUND = "SELECT record, reason FROM bad ORDER BY `offset`"


def check_skipped(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    assert rows(context, FOUND) == SKIPPED
    path = tmp_path / "in" / "a"
    offsets = [path.read_text().index(record) for record, _ in SKIPPED]
    found = rows(context, "SELECT stream, source, `offset` FROM bad ORDER BY `offset`")
    assert found == [("default.numbers", f"file:{path}", offset) for offset in offsets]


def test_bad_rows_go_to_a_table(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    text = "TRIGGER AVAILABLE NOW ON BAD ROW SKIP TO bad AS SELECT s, n FROM numbers"
    context.sql(f"CREATE CONTINUOUS TABLE t {text}")
    assert rows(context, "SELECT n, s FROM t ORDER BY n") == GOOD
    check_skipped(context, tmp_path)
    assert [(row[3], row[-1]) for row in rows(context, "SHOW EPOCHS t")] == [(2, BAD)]
    assert ("ON BAD ROW SKIP TO `default`.`bad`",) in rows(context, "SHOW CREATE TABLE t")
    put_lines(tmp_path / "in", "b", ['{"n": 3}'])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, FOUND) == SKIPPED
    context.sql("ALTER CONTINUOUS TABLE t ON BAD ROW NULL")
    put_lines(tmp_path / "in", "c", ["{"])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT count(*) FROM t") == [(4,)]
    assert rows(context, FOUND) == SKIPPED
    context.sql("ALTER CONTINUOUS TABLE t ON BAD ROW SKIP TO bad")
    put_lines(tmp_path / "in", "d", ["{"])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT count(*) FROM bad") == [(BAD + 1,)]


def test_a_column_that_is_not_read_makes_a_row_bad(context: sharkpy.SharkContext) -> None:
    text = "TRIGGER AVAILABLE NOW ON BAD ROW SKIP TO bad AS SELECT s FROM numbers WHERE s <> ''"
    context.sql(f"CREATE CONTINUOUS TABLE t {text}")
    assert sorted(rows(context, "SELECT s FROM t")) == [("a",), ("c",)]
    assert rows(context, FOUND) == SKIPPED


def test_inserts_and_sinks(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE TABLE a (n BIGINT)")
    context.sql("CREATE TABLE b (n BIGINT)")
    context.sql("CREATE TABLE bad (reason STRING, record BINARY, `offset` BIGINT, source STRING, stream STRING)")
    clauses = "TRIGGER AVAILABLE NOW ON BAD ROW SKIP TO"
    text = "FROM numbers INSERT INTO a SELECT n WHERE n > 1 INSERT INTO b SELECT n"
    context.sql(f"CREATE CONTINUOUS INSERT c {clauses} bad AS {text}")
    assert rows(context, "SELECT n FROM b ORDER BY n") == [(1,), (2,)]
    assert [row[-1] for row in rows(context, "SHOW EPOCHS c")] == [BAD]
    assert rows(context, "SELECT CAST(record AS STRING), reason FROM bad ORDER BY `offset`") == SKIPPED
    context.sql("DROP TABLE bad")
    put_lines(tmp_path / "in", "b", ["{"])
    with pytest.raises(sharkpy.SharkError, match="the table for bad rows was dropped"):
        context.sql("RESUME CONTINUOUS INSERT c")
    # Another trigger does not let its bad rows be rows.
    context.sql("ALTER CONTINUOUS INSERT c TRIGGER ONCE")
    with pytest.raises(sharkpy.SharkError, match="the table for bad rows was dropped"):
        context.sql("RESUME CONTINUOUS INSERT c")
    sink = f"TO FOLDER '{tmp_path / 'out'}' STORED AS JSONFILE {clauses} other AS SELECT n FROM numbers"
    context.sql(f"CREATE CONTINUOUS SINK s {sink}")
    assert rows(context, "SELECT count(*) FROM other") == [(BAD + 1,)]
    assert [(row[3], row[-1]) for row in rows(context, "SHOW EPOCHS s")] == [(2, BAD + 1)]


FORMS = {
    "delimited": ("ROW FORMAT DELIMITED FIELDS TERMINATED BY ','", ["1,a", "2", "x,b", "3,c"], [1, 2]),
    "multi": (
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.MultiDelimitSerDe' WITH SERDEPROPERTIES ('field.delim'='||')",
        ["1||a", "2", "x||b", "3||c"],
        [1, 2],
    ),
    "opencsv": (
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'",
        ['"1","a"', "2", '3,"b"'],
        [1],
    ),
    "csv": ("USING csv", ["1,a", "2", 'x,"b"', "", '3,"c,d"', '4,"e,f', "5,g,h"], [1, 2, 6]),
}
"""Clauses of a stream with the columns n BIGINT and s STRING, lines, and the numbers of the bad lines."""


@pytest.mark.variants(9)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("times", [1, 20000], ids=["few", "many"])
def test_formats(context: sharkpy.SharkContext, tmp_path: Path, form: str, times: int) -> None:
    clauses, lines, bad = FORMS[form]
    put_lines(tmp_path / "lines", "a.txt", lines * times)
    context.sql(f"CREATE STREAM lines (n BIGINT, s STRING) {clauses} FROM FOLDER '{tmp_path / 'lines'}'")
    text = "TRIGGER AVAILABLE NOW ON BAD ROW SKIP TO bad AS SELECT n FROM lines"
    context.sql(f"CREATE CONTINUOUS TABLE t {text}")
    good = [line for number, line in enumerate(lines) if number not in bad and line]
    assert rows(context, "SELECT count(*) FROM t") == [(times * len(good),)]
    assert rows(context, "SELECT count(*) FROM t WHERE n IS NULL") == [(0,)]
    expected = [(lines[number], times) for number in bad]
    assert sorted(rows(context, "SELECT record, count(*) FROM bad GROUP BY record")) == sorted(expected)


@pytest.mark.parametrize(
    ("stream", "table", "message"),
    [
        ("p (n BIGINT) FROM PROGRAM", "bad", "whose rows are typed"),
        ("p (n BIGINT) STORED AS PARQUET FROM FOLDER '{}'", "bad", "in the format parquet"),
        ("p (n BIGINT) STORED AS JSONFILE FROM FOLDER '{}'", "wrong", "does not fit bad rows"),
        ("p (n BIGINT) STORED AS JSONFILE FROM FOLDER '{}'", "numbers", "a stream"),
    ],
)
def test_what_is_refused(context: sharkpy.SharkContext, tmp_path: Path, stream: str, table: str, message: str) -> None:
    context.sql(f"CREATE STREAM {stream.format(tmp_path / 'p')}")
    context.sql("CREATE TABLE wrong (reason STRING)")
    with pytest.raises(sharkpy.SharkError, match=message):
        context.sql(f"CREATE CONTINUOUS TABLE t ON BAD ROW SKIP TO {table} AS SELECT n FROM p")


def test_what_would_read_records_again_is_refused(context: sharkpy.SharkContext) -> None:
    text = "TRIGGER AVAILABLE NOW ON BAD ROW SKIP TO bad AS SELECT n FROM numbers"
    context.sql(f"CREATE CONTINUOUS TABLE t {text}")
    for statement in ("REFRESH CONTINUOUS TABLE t", "ROLLBACK CONTINUOUS TABLE t TO EPOCH 1"):
        with pytest.raises(sharkpy.SharkError, match="whose bad rows go to a table"):
            context.sql(statement)
