"""Records that do not parse: counted, and skipped to a table where the continuous query says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming.status import ContinuousStatus
from tests.streaming.folder_input import make_stream, rows

LINES = ['{"n": 1, "s": "a"}', "no object", '{"n": "x", "s": "b"}', '{"n": 2, "s": "c"}', '{"n": [3], "s": {}}']
BAD = 3


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as made:
        make_stream(made, tmp_path / "in")
        put_lines(tmp_path / "in", "a", LINES)
        yield made


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
