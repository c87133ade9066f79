"""CREATE OR REPLACE TABLE and MERGE of tables of each lake format."""

from __future__ import annotations

import pytest

pytest.importorskip("deltalake", reason="the extra delta is not installed")
pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import sharkpy
from sharkpy.base.errors import ColumnNotFoundError, SharkError
from tests.lake.tables import run
from tests.rows import rows

FORMATS = pytest.mark.parametrize("lake", ["delta", "iceberg"])
HISTORY = {"delta": "history", "iceberg": "snapshots"}


@FORMATS
def test_rows_are_replaced_and_history_stays(context: sharkpy.SharkContext, lake: str) -> None:
    name = f"rows_{lake}"
    run(context, f"CREATE OR REPLACE TABLE {name} USING {lake} AS SELECT 1 AS a, 'x' AS b")
    made = context.catalog.find_entry("default", name)
    before = rows(context, f"SELECT count(*) FROM {name}.{HISTORY[lake]}")[0][0]
    run(context, f"CREATE OR REPLACE TABLE {name} USING {lake} AS SELECT a + 1 AS a, b FROM {name}")
    assert rows(context, f"SELECT * FROM {name}") == [(2, "x")]
    assert context.catalog.find_entry("default", name) == made
    assert rows(context, f"SELECT count(*) FROM {name}.{HISTORY[lake]}")[0][0] > before
    run(context, f"CREATE OR REPLACE TABLE {name} (a INT, b STRING) USING {lake}")
    assert rows(context, f"SELECT * FROM {name}") == []


@FORMATS
def test_a_table_of_another_form_takes_its_place(context: sharkpy.SharkContext, lake: str) -> None:
    name = f"form_{lake}"
    run(context, f"CREATE TABLE {name} AS SELECT 1 AS a")
    for query in ("1 AS a, 'x' AS b", "'y' AS b, 2.5 AS a", "DATE '2026-01-01' AS c"):
        with pytest.raises(SharkError):
            context.sql(f"CREATE OR REPLACE TABLE {name} USING {lake} AS SELECT assert_true(false) AS x")
        run(context, f"CREATE OR REPLACE TABLE {name} USING {lake} PARTITIONED BY (a1) AS SELECT {query}, 1 AS a1")
        assert rows(context, f"SELECT * FROM {name}") == rows(context, f"SELECT {query}, 1")
    run(context, f"CREATE OR REPLACE TABLE {name} USING {lake} AS SELECT c, 2 AS a1 FROM {name}")
    assert rows(context, f"SELECT a1 FROM {name}") == [(2,)]
    run(context, f"CREATE OR REPLACE TABLE {name} AS SELECT 7 AS a", f"DROP TABLE {name}")
    run(context, f"CREATE TABLE {name} USING {lake} AS SELECT 8 AS z", f"DROP TABLE {name}")


@FORMATS
def test_merge_by_names(context: sharkpy.SharkContext, lake: str) -> None:
    name = f"merged_{lake}"
    run(
        context,
        f"CREATE TABLE {name} USING {lake} PARTITIONED BY (part) AS "
        "SELECT k, v, part FROM VALUES (1, 'a', 'p'), (2, 'b', 'p'), (3, 'c', 'q') AS t (k, v, part)",
        f"MERGE INTO {name} t USING (SELECT 'r' AS PART, 'one' AS V, 1 AS K UNION ALL SELECT 's', 'nine', 9) s "
        "ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.k = 2 THEN UPDATE SET part = 'moved' "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    )
    assert rows(context, f"SELECT k, v, part FROM {name} ORDER BY k") == [
        *[(1, "one", "r"), (2, "b", "moved"), (9, "nine", "s")]
    ]
    with pytest.raises(ColumnNotFoundError, match='no column "part"'):
        context.sql(f"MERGE INTO {name} t USING (SELECT 1 AS k, 1 AS v) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *")


@FORMATS
def test_short_forms_of_versions_and_facts(context: sharkpy.SharkContext, lake: str) -> None:
    name = f"short_{lake}"
    run(context, f"CREATE TABLE {name} USING {lake} AS SELECT 1 AS a", f"INSERT INTO {name} SELECT 2")
    number = rows(context, f"SELECT {'version' if lake == 'delta' else 'snapshot_id'} FROM {name}.snapshots")[0][0]
    for table in (name, f"default.{name}"):
        assert rows(context, f"SELECT a FROM {table}@v{number} x") == rows(
            context, f"SELECT a FROM {name} VERSION AS OF {number}"
        )
        assert rows(context, f"SELECT * FROM {table}$snapshots") == rows(context, f"SELECT * FROM {name}.snapshots")
