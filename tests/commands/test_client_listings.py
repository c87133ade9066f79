"""SHOW TABLE EXTENDED and DESCRIBE EXTENDED as dbt-spark parses them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import Table, TableKind
from sharkpy.values.types import BIGINT, STRING, Field, Schema

COLUMN = re.compile(r"^ \|-- (.*): (.*) \(nullable = (.*)\b", re.MULTILINE)
OWNER = re.compile(r"^Owner: (.*)$", re.MULTILINE)
STATISTICS = re.compile(r"^Statistics: (\d+) bytes, (\d+) rows$", re.MULTILINE)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_user="ann") as opened:
        opened.sql("CREATE DATABASE d; USE d")
        yield opened


def extended(context: sharkpy.SharkContext, pattern: str = "*") -> dict[str, tuple[str, bool, str]]:
    rows = context.sql(f"SHOW TABLE EXTENDED IN d LIKE '{pattern}'").fetchall()
    return {name: (database, is_temporary, text) for database, name, is_temporary, text in rows}


def described(context: sharkpy.SharkContext, table: str) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Columns and facts of a table: a first name that is empty or begins with # ends the columns."""
    rows = context.sql(f"DESCRIBE EXTENDED {table}").fetchall()
    end = next(place for place, row in enumerate(rows) if not row[0] or row[0].startswith("#"))
    return [row[:2] for row in rows[:end]], {row[0]: row[1] for row in rows[end + 1 :]}


def test_tables_and_views_are_told_apart(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT, m MAP<STRING,INT>) COMMENT 'two\nlines' PARTITIONED BY (ds STRING)")
    context.sql("CREATE VIEW v AS SELECT a FROM t; CREATE TEMPORARY VIEW tv AS SELECT 1 AS one")
    found = extended(context)
    assert {name: facts[:2] for name, facts in found.items()} == {
        "t": ("d", False),
        "tv": ("d", True),
        "v": ("d", False),
    }
    assert {name: "Type: VIEW" in facts[2] for name, facts in found.items()} == {"t": False, "tv": True, "v": True}
    text = found["t"][2]
    assert "Provider: text" in text
    assert "Comment: two lines" in text
    assert OWNER.findall(text) == ["ann"]
    assert COLUMN.findall(text) == [("a", "int", "true"), ("m", "map<string,int>", "true"), ("ds", "string", "true")]
    assert STATISTICS.findall(text) == []
    assert set(extended(context, "t|x*")) == {"t"}


def test_a_table_in_memory_has_statistics(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT explode(sequence(1, 500)) AS x")
    context.sql("SELECT sum(x) FROM t").fetchall()
    ((size, rows),) = STATISTICS.findall(extended(context)["t"][2])
    assert int(rows) == 500
    assert 0 < int(size) < 10_000
    assert described(context, "t")[1]["Statistics"] == f"{size} bytes, 500 rows"


def test_describe_extended_has_columns_and_facts(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t PARTITIONED BY (ds) AS SELECT 1 AS a, 'x' AS ds; CREATE VIEW v AS SELECT a FROM t")
    columns, facts = described(context, "t")
    assert columns == [("a", "int"), ("ds", "string")]
    assert (facts["Type"], facts["Provider"], facts["Owner"]) == ("MANAGED", "parquet", "ann")
    size = sum(path.stat().st_size for path in Path(facts["Location"]).rglob("*.parquet"))
    assert facts["Statistics"] == f"{size} bytes"
    columns, facts = described(context, "v")
    assert (columns, facts["Type"], facts["View Text"]) == ([("a", "int")], "VIEW", "SELECT a FROM t")
    assert "Statistics" not in facts


def test_a_table_whose_files_are_gone_is_described(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"CREATE EXTERNAL TABLE t (a INT) LOCATION '{tmp_path}/gone'")
    (tmp_path / "gone").rmdir()
    assert described(context, "t")[1]["Type"] == "EXTERNAL"
    assert "Statistics" not in described(context, "t")[1]


def test_a_thousand_tables_are_listed_at_once(context: sharkpy.SharkContext) -> None:
    schema = Schema(tuple(Field(f"c{number}", BIGINT if number % 2 else STRING) for number in range(10)))
    for number in range(1000):
        table = Table(new_table_id(), "d", f"t{number}", TableKind.MANAGED, schema, location="/none")
        context.catalog.create_table(table)
    extended(context, "nothing")
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert len(extended(context)) == 1000
        times.append(time.perf_counter() - start)
    assert min(times) < 0.3


def test_a_comment_set_as_property_is_the_tables(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) COMMENT 'old'; ALTER TABLE t SET TBLPROPERTIES ('comment'='new', 'k'='v')")
    assert described(context, "t")[1]["Comment"] == "new"
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('k'='w')")
    assert described(context, "t")[1]["Comment"] == "new"
