"""ALTER TABLE … CONCATENATE during writes: rows that are added meanwhile stay."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.writes.staged_write import ConflictCheck
from sharkpy.execution.engine_session import EngineSession


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "clauses", ["", "TBLPROPERTIES ('shark.cache' = 'MEMORY')", "PARTITIONED BY (s) STORED AS ORC"], ids=str.lower
)
def test_an_append_while_files_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clauses: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
        context.sql(f"CREATE TABLE t {clauses} AS SELECT 1 AS n, 'p1' AS s")
        context.sql("INSERT INTO t VALUES (2, 'p1')")
        other, noted, left = context.new_session(), ConflictCheck.now, [3, 4]

        def beside(table: Table, session: EngineSession) -> ConflictCheck:
            state = noted(table, session)
            if left:
                other.sql(f"INSERT INTO t VALUES ({left.pop()}, 'p1')").close()
            return state

        monkeypatch.setattr(ConflictCheck, "now", beside)
        context.sql("ALTER TABLE t CONCATENATE")
        assert not left
        assert sorted(row[0] for row in context.sql("SELECT n FROM t").fetchall()) == [1, 2, 3, 4]
