"""Data of a Python program in queries: variables, registered data, and parameters."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError, ParameterError, SharkError, TableNotFoundError

of_module = pa.table({"id": [7]})


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as context:
        context.sql("CREATE TABLE kept AS SELECT 1 AS id, 'kept' AS name").close()
        yield context


def test_variables(context: sharkpy.SharkContext) -> None:
    frame = pd.DataFrame({"Id": [1, 2, 3], "name": ["a", None, "c"]})
    other = pl.DataFrame({"id": [1, 2], "v": [1.5, -0.0]})
    table = pa.table({"id": [2, 3], "s": [{"Ab": 1}, {"Ab": None}]})
    text = "SELECT f.name, o.v, t.s.ab FROM frame f LEFT JOIN other o USING (id) LEFT JOIN table t ON t.id = f.id"
    rows = context.sql(text.replace("JOIN table", "JOIN `table`")).fetchall()
    assert sorted(rows, key=str) == [("a", 1.5, None), ("c", None, None), (None, -0.0, 1)]
    assert context.sql("SELECT id FROM of_module").fetchall() == [(7,)]
    frame["more"] = 5
    assert context.sql("SELECT sum(more), count(*) FROM frame").fetchall() == [(15, 3)]
    assert len(other) == 2
    assert len(table) == 2


def test_a_table_of_the_catalog_goes_before_a_variable(context: sharkpy.SharkContext) -> None:
    kept = pd.DataFrame({"x": [1]})
    assert context.sql("SELECT name FROM kept").fetchall() == [("kept",)]
    context.register("KEPT", kept)
    assert context.sql("SELECT x FROM kept").fetchall() == [(1,)]
    context.unregister("kept")
    assert context.sql("SELECT name FROM kept").fetchall() == [("kept",)]


def test_what_is_no_table(context: sharkpy.SharkContext) -> None:
    numbers, missing = [1, 2], pd.DataFrame({"a": [{"x": 1}, 2]}, dtype=object)
    for name in ("numbers", "nowhere", "pytest"):
        with pytest.raises(TableNotFoundError, match=f"Table not found {name}"):
            context.sql(f"SELECT * FROM {name}")
    with pytest.raises(SharkError, match=r'column "a" of the DataFrame .*line 1, column 15'):
        context.sql("SELECT * FROM missing")
    with pytest.raises(ParameterError, match="cannot be"):
        context.register("n", object())
    assert (numbers, len(missing)) == ([1, 2], 2)


def test_views_and_other_sessions_do_not_see_it(context: sharkpy.SharkContext) -> None:
    frame = pd.DataFrame({"a": [1]})
    context.register("mine", frame)
    for text in ("CREATE VIEW v AS SELECT * FROM frame", "CREATE TEMPORARY VIEW v AS SELECT * FROM mine"):
        with pytest.raises(TableNotFoundError):
            context.sql(text)
    with pytest.raises(TableNotFoundError):
        context.new_session().sql("SELECT * FROM mine")
    with pytest.raises(TableNotFoundError):
        context.prepare("SELECT * FROM frame")
    context.unregister("mine")


@pytest.mark.parametrize("data", [[(1, "a"), (2, "b")], {"plan": 0}.keys(), pl.LazyFrame({"x": [1, 2]})], ids=str)
def test_registered_data_is_read_by_each_query(context: sharkpy.SharkContext, data: object) -> None:
    if isinstance(data, type({}.keys())):
        with pytest.raises(ParameterError):
            context.register("given", data)
        return
    context.register("given", data)
    for _ in range(2):
        assert context.sql("SELECT count(*) FROM given a, given b").fetchall() == [(4,)]
    context.unregister("given")


def test_a_reader_gives_its_rows_to_the_first_query(context: sharkpy.SharkContext) -> None:
    rows = pa.table({"x": [1, 2, 3]})
    context.register("once", pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches()))
    assert context.sql("SELECT sum(x) FROM once").fetchall() == [(6,)]
    context.unregister("once")


def test_rows_are_written(context: sharkpy.SharkContext) -> None:
    frame = pd.DataFrame({"id": [1, 2], "name": ["x", "y"]})
    context.sql("CREATE OR REPLACE TABLE made AS SELECT * FROM frame").close()
    context.sql("INSERT INTO made SELECT id + 2, name FROM frame").close()
    context.sql("MERGE INTO made USING frame ON made.id = frame.id WHEN MATCHED THEN UPDATE SET name = 'new'").close()
    rows = context.sql("SELECT * FROM made ORDER BY id").fetchall()
    assert rows == [(1, "new"), (2, "new"), (3, "x"), (4, "y")]
    assert len(frame) == 2


def test_parameters(context: sharkpy.SharkContext) -> None:
    assert context.sql("SELECT ? + 1, ?", [41, "it's"]).fetchall() == [(42, "it's")]
    assert context.sql("SELECT :a; SELECT :b, :a", {"a": 1, "b": None}).fetchall() == [(None, 1)]
    with pytest.raises(ParameterError, match="placeholders in the statement: 1, values given: 2"):
        context.sql("SELECT ?", [1, 2])
    with pytest.raises(SharkError, match="line 1, column 11"):
        context.sql("SELECT ?, nowhere", ["a long value"])


def test_a_result_says_that_it_was_read(context: sharkpy.SharkContext) -> None:
    result = context.sql("SELECT 1 AS a")
    assert result.to_arrow().num_rows == 1
    for read in (result.to_arrow, result.to_pandas, result.show):
        with pytest.raises(ExecutionError, match="already read to the end; a result can be read once"):
            read()
    assert result.fetchall() == []
    empty = context.sql("SELECT 1 AS a WHERE false")
    assert [empty.to_arrow().num_rows, empty.to_arrow().num_rows] == [0, 0]


def test_the_context_says_what_it_is(context: sharkpy.SharkContext) -> None:
    assert "local[2]" in repr(context)
    assert "default" in repr(context)
