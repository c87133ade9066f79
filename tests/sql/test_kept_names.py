"""Names in the texts of views, continuous tables and inserts: they mean the same in other databases and folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from tests.rows import rows
from tests.waiting import until


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path_factory.mktemp("warehouse")) as opened:
        for statement in (
            "CREATE DATABASE made_in",
            "CREATE DATABASE kept_in",
            "CREATE TABLE made_in.b AS SELECT 3 AS a",
        ):
            opened.sql(statement)
        yield opened


def test_relative_paths_are_kept_whole(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,one\n2,two\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    context.sql("CREATE VIEW of_file AS SELECT * FROM 'x.csv'")
    context.sql("CREATE VIEW of_files AS SELECT f.a FROM csv.`*.csv` f JOIN `x.csv` g ON f.a = g.a")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert rows(context, "SELECT * FROM of_file ORDER BY a") == [(1, "one"), (2, "two")]
    assert len(rows(context, "SELECT * FROM of_files")) == 2


def test_functions_of_the_database_where_a_view_was_made(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    module = tmp_path / "kept_functions.py"
    module.write_text("def tripled(x: int) -> int:\n    return 3 * x\n")
    context.sql("USE made_in")
    context.sql(f"CREATE FUNCTION tripled AS 'kept_functions.tripled' USING FILE '{module}'")
    context.sql("CREATE VIEW kept_in.nines AS SELECT tripled(a) AS a, upper('x') AS x FROM b WHERE tripled(a) = 9")
    context.sql("USE default")
    assert rows(context, "SELECT * FROM kept_in.nines") == [(9, "X")]


def test_continuous_tables_and_inserts_of_other_databases(context: sharkpy.SharkContext) -> None:
    for statement in (
        "USE made_in",
        "CREATE TABLE source (n INT)",
        "CREATE STREAM fed FROM TABLE source",
        "CREATE TABLE target (n INT)",
        "CREATE CONTINUOUS TABLE kept_in.doubled AS SELECT f.n * b.a AS x FROM fed f JOIN b ON true",
        "CREATE CONTINUOUS TABLE kept_in.counted AS SELECT count(*) AS x FROM fed f JOIN b ON f.n < b.a",
        "CREATE CONTINUOUS INSERT kept_in.copied AS INSERT INTO target SELECT n + b.a FROM fed JOIN b ON true",
        "INSERT INTO source VALUES (1), (2)",
        "USE default",
    ):
        context.sql(statement)
    until(lambda: rows(context, "SELECT x FROM kept_in.doubled ORDER BY x") == [(3,), (6,)])
    until(lambda: rows(context, "SELECT x FROM kept_in.counted") == [(2,)])
    until(lambda: rows(context, "SELECT n FROM made_in.target ORDER BY n") == [(4,), (5,)])
