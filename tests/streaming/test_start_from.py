"""START FROM: the items with which a continuous query begins."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ParseError, SharkError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    return context


def make(context: sharkpy.SharkContext, start: str, name: str = "t") -> None:
    context.sql(f"CREATE CONTINUOUS TABLE {name} {NOW} {start} AS SELECT n FROM numbers").close()


def put_at(folder: Path, number: int, moment: str) -> None:
    """Put a file that was written at a moment of UTC, a second before it came to its place."""
    path = put_numbers(folder, f"{number}", [number])
    seconds = datetime.datetime.fromisoformat(f"{moment}+00:00").timestamp()
    os.utime(path, (seconds, seconds))


def test_a_query_begins_with_what_comes(context: sharkpy.SharkContext, folder: Path) -> None:
    put_numbers(folder, "a", [1, 2])
    make(context, "START FROM LATEST")
    make(context, "START FROM EARLIEST", "whole")
    assert numbers(context) == []
    assert numbers(context, "whole") == [1, 2]
    put_numbers(folder, "b", [3])
    for name in ("t", "whole"):
        context.sql(f"RESUME CONTINUOUS TABLE {name}")
    assert numbers(context) == [3]
    assert numbers(context, "whole") == [1, 2, 3]


def test_a_query_begins_at_a_moment(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("SET TIME ZONE 'UTC'")
    for number, hour in ((1, 8), (2, 9), (3, 10)):
        put_at(folder, number, f"2024-05-01 {hour:02d}:00:00")
    make(context, "START FROM TIMESTAMP '2024-05-01 09:00:00'")
    make(context, "START FROM TIMESTAMP '2024-05-01 12:00:00+02:00'", "zoned")
    make(context, "START FROM TIMESTAMP '2030-01-01 00:00:00'", "later")
    assert numbers(context) == [2, 3]
    assert numbers(context, "zoned") == [3]
    assert numbers(context, "later") == []


def test_a_refresh_begins_there_again(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    put_numbers(folder, "a", [1])
    make(context, "START FROM LATEST")
    put_numbers(folder, "b", [2])
    context.sql("RESUME CONTINUOUS TABLE t")
    context.sql("REFRESH CONTINUOUS TABLE t")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [2]
    context.stop()
    with sharkpy.connect("local[2]", tmp_path / "w") as again:
        put_numbers(folder, "c", [3])
        again.sql("RESUME CONTINUOUS TABLE t")
        assert numbers(again) == [2, 3]


def test_inserts_and_sinks(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    put_numbers(folder, "a", [1])
    context.sql("CREATE TABLE target (n BIGINT)")
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} START FROM LATEST AS INSERT INTO target SELECT n FROM numbers")
    to = f"TO FOLDER '{tmp_path / 'out'}' STORED AS TEXTFILE"
    context.sql(f"CREATE CONTINUOUS SINK s {to} {NOW} START FROM LATEST AS SELECT n FROM numbers")
    put_numbers(folder, "b", [2])
    context.sql("RESUME CONTINUOUS INSERT i")
    context.sql("RESUME CONTINUOUS SINK s")
    assert numbers(context, "target") == [2]
    written = [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]
    assert [path.read_text().split() for path in written] == [["2"]]


def test_pushed_rows(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE STREAM pushed (n BIGINT) FROM PROGRAM")
    context.sql(f"CREATE CONTINUOUS TABLE first {NOW} AS SELECT n FROM pushed")
    with context.push("pushed") as out:
        out.write([(1,)])
        context.sql(f"CREATE CONTINUOUS TABLE t {NOW} START FROM LATEST AS SELECT n FROM pushed")
        out.write([(2,)])
    for name in ("first", "t"):
        context.sql(f"RESUME CONTINUOUS TABLE {name}")
    assert numbers(context, "first") == [1, 2]
    assert numbers(context) == [2]
    with pytest.raises(BindError, match=r"items of default\.pushed are gone"):
        context.sql("REFRESH CONTINUOUS TABLE t")
    with pytest.raises(UnsupportedError, match=r"START FROM TIMESTAMP with default\.pushed, a stream FROM PROGRAM"):
        context.sql("CREATE CONTINUOUS TABLE u START FROM TIMESTAMP '2024-01-01 00:00:00' AS SELECT n FROM pushed")
    assert context.catalog.find_table("default", "u") is None


def test_rows_by_rate(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE STREAM ticks FROM RATE ('rowsPerSecond' = '10', 'start.ms' = '1700000000000')")
    moment = "2023-11-14 22:13:25.050+00:00"
    context.sql(
        f"CREATE CONTINUOUS TABLE t TRIGGER ONCE START FROM TIMESTAMP '{moment}' AS "
        "SELECT `value` AS n FROM ticks WHERE `value` < 60"
    )
    assert numbers(context) == [*range(51, 60)]


def test_the_clause_is_shown(context: sharkpy.SharkContext, folder: Path) -> None:
    put_numbers(folder, "a", [1])
    make(context, "START FROM TIMESTAMP '2024-05-01 09:00:00+00:00'")
    shown = [row[0] for row in rows(context, "SHOW CREATE TABLE t")]
    assert "START FROM TIMESTAMP '2024-05-01 09:00:00.000+00:00'" in shown
    described = {str(row[0]).strip(): row[1] for row in rows(context, "DESCRIBE EXTENDED t")}
    assert "TIMESTAMP '2024-05-01 09:00:00.000+00:00'" in str(described)
    context.sql("DROP CONTINUOUS TABLE t")
    context.sql(" ".join(map(str, shown)))
    assert numbers(context) == [1]


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        ("START FROM NOW", ParseError, "EARLIEST, LATEST or TIMESTAMP expected"),
        ("START FROM TIMESTAMP 'noon'", BindError, '"noon" is not a timestamp'),
        ("START FROM TABLE numbers", BindError, "has no rows of its own"),
        ("START", UnsupportedError, "START"),
    ],
)
def test_bad_starts(context: sharkpy.SharkContext, start: str, error: type[SharkError], message: str) -> None:
    with pytest.raises(error, match=message):
        make(context, start)
