"""UPDATE, DELETE and MERGE during other writes, and the parts of a table that they write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import TableChangedError
from sharkpy.execution.commands import row_changes
from sharkpy.execution.commands.writes.staged_write import publish
from tests.files import files_of

TABLES = {
    "files": "CREATE TABLE t (a INT, n INT) STORED AS PARQUET",
    "partitions": "CREATE TABLE t (a INT) PARTITIONED BY (n INT) STORED AS PARQUET",
    "cached": "CREATE TABLE t (a INT, n INT) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "blocks": "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT 1 AS a, 1 AS n WHERE false",
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_row_inserted_meanwhile_is_not_lost(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    context.sql(TABLES[kind])
    context.sql("INSERT INTO t VALUES (1, 0)")
    late = [7, 8]

    def beside(*arguments: object) -> None:
        if late:
            context.sql(f"INSERT INTO t VALUES ({late.pop()}, 0)")
        publish(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(row_changes, "publish", beside)
    context.sql("UPDATE t SET a = a + 100")
    assert [a for (a,) in context.sql("SELECT a FROM t ORDER BY a").fetchall()] == [101, 107, 108]


def test_writers_that_do_not_end_are_an_error(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    context.sql("CREATE TABLE t (a INT) STORED AS PARQUET")
    context.sql("INSERT INTO t VALUES (1)")

    def beside(*arguments: object) -> None:
        context.sql("INSERT INTO t VALUES (1)")
        publish(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(row_changes, "publish", beside)
    with pytest.raises(TableChangedError, match=r"default\.t was changed while the statement ran") as caught:
        context.sql("DELETE FROM t")
    assert caught.value.sqlstate == "40001"
    monkeypatch.undo()
    assert context.sql("SELECT count(*) FROM t").fetchall()[0][0] == 6


def test_counters_of_several_sessions_add_up(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (k INT, n INT) STORED AS PARQUET")
    context.sql("INSERT INTO t VALUES (1, 0), (2, 0)")
    done: list[int] = []

    def count(key: int) -> None:
        session = context.new_session()
        for _ in range(4):
            while True:
                try:
                    session.sql(f"UPDATE t SET n = n + 1 WHERE k = {key}")
                except TableChangedError:
                    continue
                done.append(key)
                break

    threads = [threading.Thread(target=count, args=(key,)) for key in (1, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 12
    assert [tuple(row) for row in context.sql("SELECT k, n FROM t ORDER BY k").fetchall()] == [(1, 8), (2, 4)]


def test_partitions_without_changes_keep_their_files(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (p INT) STORED AS PARQUET")
    context.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    root = Path(context.catalog.table("default", "t").location or "")

    def files(partition: int) -> set[str]:
        found = files_of(context)
        return {one.path for one in found if one.path.startswith(f"{root}/p={partition}/")}

    before = {partition: files(partition) for partition in (1, 2, 3)}
    context.sql("MERGE INTO t USING (SELECT 2 AS k) s ON t.a = s.k WHEN MATCHED THEN DELETE")
    context.sql("UPDATE t SET a = 30 WHERE a = 3")
    assert files(1) == before[1]
    assert files(2) == set()
    assert files(3) != before[3]
    context.sql("MERGE INTO t USING (SELECT 9 AS k) s ON t.a = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.k, 1)")
    assert files(1) > before[1]
