"""Tables of `sys`: streams, continuous tables and epochs of the whole warehouse, for any query."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, TableNotFoundError
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, put_numbers


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    make_stream(context, tmp_path / "in")
    context.sql("CREATE DATABASE other")
    put_numbers(tmp_path / "in", "a", [1, 2])
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    put_numbers(tmp_path / "in", "b", [3])
    context.sql("RESUME CONTINUOUS TABLE t")
    context.sql(f"CREATE CONTINUOUS TABLE other.u {NOW} AS SELECT n FROM numbers WHERE n > 2")
    return context


def test_epochs(context: sharkpy.SharkContext) -> None:
    found = rows(context, "SELECT * FROM sys.epochs WHERE name = 't'")
    assert [row[2:] for row in found] == rows(context, "SHOW EPOCHS t")
    text = "SELECT `database`, name, count(*), sum(rows) FROM sys.epochs GROUP BY `database`, name ORDER BY name"
    assert rows(context, text) == [("default", "t", 2, 3), ("other", "u", 1, 1)]


def test_what_they_say_is_that_of_each_run(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    other = context.new_session()
    text = "SELECT max(epoch) FROM sys.epochs e WHERE e.name = 't'"
    assert rows(other, text) == [(2,)]
    other.stop()
    put_numbers(tmp_path / "in", "c", [4])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, text) == [(3,)]
    assert rows(context, text) == [(3,)]


def test_streams_and_continuous_tables(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    assert rows(context, "SELECT * FROM sys.streams") == [
        ("default", "numbers", "FOLDER", str(tmp_path / "in"), None),
    ]
    shown = rows(context, "SHOW CONTINUOUS TABLES")
    assert rows(context, "SELECT * FROM sys.continuous_tables WHERE `database` = 'default'") == shown
    joined = (
        "SELECT q.name, e.epoch FROM sys.continuous_tables q JOIN sys.epochs e ON q.name = e.name AND q.epoch = e.epoch"
    )
    assert sorted(rows(context, joined)) == [("t", 2), ("u", 1)]
    context.sql("CREATE TABLE kept AS SELECT * FROM sys.epochs")
    assert rows(context, "SELECT count(*) FROM kept") == [(3,)]


def test_names(context: sharkpy.SharkContext) -> None:
    with pytest.raises(TableNotFoundError, match=r"Table not found sys\.epoch .*; did you mean \"epochs\""):
        context.sql("SELECT * FROM sys.epoch")
    with pytest.raises(SharkError, match="version"):
        context.sql("SELECT * FROM sys.epochs FOR SYSTEM_VERSION AS OF 1")
    context.sql("CREATE DATABASE sys")
    context.sql("CREATE TABLE sys.epochs AS SELECT 7 AS n")
    assert rows(context, "SELECT * FROM sys.epochs") == [(7,)]
