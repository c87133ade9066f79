"""Records and late rows of odd bytes, which go to tables that the engine makes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import put

ODD = [
    b"lone\rend",
    b"nul\x00",
    b"\x02 \x03",
    b"\x0bvt\x0b",
    b"\x1c\x1d\x1e",
    b"\xc2\x85\xe2\x80\xa8",
    b"\xff\xfe",
    b"two\r",
    b"back\\slash",
    b"x",
]
_BLANKS = bytes(range(33))
"""Lines of these are none in CSV."""
SERDE = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2"
FORMS = {
    "json": "STORED AS JSONFILE",
    "delimited": "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|'",
    "multi": f"{SERDE}.MultiDelimitSerDe' WITH SERDEPROPERTIES ('field.delim'='||')",
    "opencsv": f"{SERDE}.OpenCSVSerde'",
    "regex": rf"{SERDE}.RegexSerDe' WITH SERDEPROPERTIES ('input.regex'='(\\d+)=(.*)')",
    "csv": "USING csv",
    "csv with newlines": r"USING csv OPTIONS ('lineSep' = '\n')",
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("times", [1, 3000], ids=["few", "many"])
def test_bad_records_are_what_the_file_has(
    context: sharkpy.SharkContext, tmp_path: Path, form: str, times: int
) -> None:
    data = b"".join(record + b"\n" for record in ODD) * times
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a").write_bytes(data)
    context.sql(f"CREATE STREAM lines (n BIGINT, s STRING) {FORMS[form]} FROM FOLDER '{tmp_path / 'lines'}'")
    context.sql(
        "CREATE TABLE bad (stream STRING, source STRING, `offset` BIGINT, record BINARY, reason STRING) "
        "STORED AS PARQUET"
    )
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} ON BAD ROW SKIP TO bad AS SELECT n FROM lines")
    ends = rb"\n" if form == "csv with newlines" else rb"\r\n|\r|\n"
    lines = re.split(ends, data)[:-1]
    expected = sorted(line for line in lines if "csv" not in FORMS[form] or line.strip(_BLANKS))
    found = [tuple(row) for row in context.sql("SELECT record, `offset` FROM bad").fetchall()]
    assert sorted(record for record, _ in found) == expected
    assert all(data[place : place + len(record)] == record for record, place in found if place is not None)
    assert rows(context, "SELECT count(*) FROM t") == [(0,)]


def test_lone_carriage_returns_end_lines_of_json(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "j" / "a"
    path.parent.mkdir()
    path.write_bytes(b'{"n": 1}\r{"n": 2}\r\n{"n":\t3}\n')
    context.sql(f"CREATE EXTERNAL TABLE j (n BIGINT) STORED AS JSONFILE LOCATION '{path.parent}'")
    found = rows(context, "SELECT n, BLOCK__OFFSET__INSIDE__FILE FROM j ORDER BY n")
    assert found == [(1, 0), (2, 9), (3, 19)]


def test_tables_of_bad_rows_hold_any_byte(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    records = ["a\x01b", "c\\", "d\x00", '{"n": "x"}']
    (tmp_path / "in" / "a").write_text("".join(f"{record}\n" for record in records))
    context.sql(f"CREATE STREAM lines (n BIGINT) STORED AS JSONFILE FROM FOLDER '{tmp_path / 'in'}'")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} ON BAD ROW SKIP TO bad AS SELECT n FROM lines")
    assert rows(context, "SELECT record FROM bad ORDER BY `offset`") == [(record,) for record in records]
    text = "CREATE TABLE old (stream STRING, source STRING, `offset` BIGINT, record STRING, reason STRING)"
    context.sql(f"{text} STORED AS TEXTFILE")
    with pytest.raises(ExecutionError, match='column "record" holds the delimiter'):
        context.sql(f"CREATE CONTINUOUS TABLE u {NOW} ON BAD ROW SKIP TO old AS SELECT n FROM lines")


def test_tables_of_late_rows_hold_any_byte(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(
        "CREATE STREAM events (k STRING, tags ARRAY<STRING>, ts TIMESTAMP, "
        f"WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) STORED AS JSONFILE FROM FOLDER '{folder}'"
    )
    context.sql(
        f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND LATE ROWS TO late AS "
        "SELECT max(k) AS k, max(size(tags)) AS tags, window.start AS start FROM events "
        "GROUP BY window(ts, '10 seconds')"
    )
    put(folder, "1", [{"k": "a", "tags": [], "ts": "2026-01-01 00:01:00"}])
    context.sql("RESUME CONTINUOUS TABLE t")
    odd = "line\nbreak\r \x01\x02\x00\u2028"
    put(folder, "2", [{"k": odd, "tags": [odd], "ts": "2026-01-01 00:00:00"}])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT k, tags FROM late") == [(odd, [odd])]


def test_blank_lines_of_json_are_no_rows(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "j" / "a"
    path.parent.mkdir()
    path.write_bytes(b'\n{"n": 1}\r\n\r\n  \nbad\n\t\r\n{"n": 2} \n \n')
    context.sql(f"CREATE EXTERNAL TABLE j (n BIGINT) STORED AS JSONFILE LOCATION '{path.parent}'")
    found = rows(context, "SELECT n, BLOCK__OFFSET__INSIDE__FILE FROM j ORDER BY 2")
    assert found == [(1, 1), (None, 16), (2, 23)]
    context.sql(f"CREATE STREAM lines (n BIGINT) STORED AS JSONFILE FROM FOLDER '{path.parent}'")
    context.sql(
        "CREATE TABLE bad (stream STRING, source STRING, `offset` BIGINT, record BINARY, reason STRING) "
        "STORED AS PARQUET"
    )
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} ON BAD ROW SKIP TO bad AS SELECT n FROM lines")
    assert rows(context, "SELECT record, `offset` FROM bad") == [(b"bad", 16)]
    assert rows(context, "SELECT n FROM t ORDER BY n") == [(1,), (2,)]
