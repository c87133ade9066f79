"""Joins of small epochs: their inputs are tables that are read once, whatever joins them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, put_numbers

QUERIES = {
    "inner": "SELECT a.n, w.word FROM numbers a JOIN words w ON a.n % 5 = w.id",
    "outer": "SELECT a.n, w.word FROM numbers a LEFT JOIN words w ON a.n = w.id",
    "streams": "SELECT a.n, b.s FROM numbers a JOIN others b ON a.n = b.n",
}
STATE = "WITH UNBOUNDED STATE"


@pytest.fixture
def context(tmp_path: Path, folder: Path, request: pytest.FixtureRequest) -> Iterator[sharkpy.SharkContext]:
    settings = {"shark.placement.driver": getattr(request, "param", "true")}
    with sharkpy.connect("local[2]", tmp_path / "w", **settings) as context:
        make_stream(context, folder)
        others = tmp_path / "others"
        context.sql(f"CREATE STREAM others (n BIGINT, s STRING) STORED AS JSONFILE FROM FOLDER '{others}'")
        context.sql("CREATE TABLE words (id INT, word STRING) STORED AS TEXTFILE")
        context.sql("INSERT INTO words VALUES (0, 'zero'), (1, 'one'), (2, 'two')")
        yield context


@pytest.mark.variants(3)
@pytest.mark.parametrize("context", ["true", pytest.param("false", marks=pytest.mark.spark)], indirect=True)
@pytest.mark.parametrize("name", QUERIES)
def test_epochs_give_what_the_query_gives_at_once(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, name: str
) -> None:
    query, made = QUERIES[name], False
    for number, many in enumerate([3, 4, 20_000, 2]):
        numbers = range(number, number + many)
        put_numbers(folder, f"{number}", numbers)
        put_numbers(tmp_path / "others", f"{number}", numbers[::2])
        state = STATE if name == "streams" else ""
        context.sql("RESUME CONTINUOUS TABLE t" if made else f"CREATE CONTINUOUS TABLE t {NOW} {state} AS {query}")
        made = True
        assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == sorted(map(repr, rows(context, query)))


@pytest.mark.parametrize("name", ["inner", "outer"])
def test_small_inputs_are_tables_whose_rows_are_known(context: sharkpy.SharkContext, folder: Path, name: str) -> None:
    """Joins are in DuckDB's order: the database whose joins stay in the order of the SQL is not even made."""
    put_numbers(folder, "0", range(3))
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {QUERIES[name]}")
    assert len(rows(context, "SELECT * FROM t")) == 3
    assert not context.engine.pool._in_order


def test_a_joined_table_is_read_as_it_is_at_each_epoch(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {QUERIES['inner']}")
    expected: list[tuple[object, ...]] = []
    for number, word in enumerate(["some", "more", "less", "last"]):
        put_numbers(folder, f"{number}", [5 * number])
        context.sql(f"INSERT OVERWRITE TABLE words VALUES (0, '{word}')")
        context.sql("RESUME CONTINUOUS TABLE t")
        expected.append((5 * number, word))
        assert sorted(rows(context, "SELECT * FROM t")) == expected


def test_bad_rows_count_once_however_often_they_are_scanned(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path
) -> None:
    put_numbers(tmp_path / "others", "0", range(3))
    put_numbers(folder, "0", range(3))
    (folder / ".1").write_text('no object\n{"n": 1, "s": "x"}\n')
    (folder / ".1").rename(folder / "1")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {QUERIES['streams']}")
    assert sorted(rows(context, "SELECT n, s FROM t")) == [(0, "s0"), (1, "s1"), (1, "s1"), (2, "s2")]
    assert rows(context, "SHOW EPOCHS t")[0][-1] == 1
