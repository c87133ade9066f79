"""Several writers of one table of Iceberg's: no row of theirs is lost, and none is written twice."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

import sharkpy
from sharkpy.base.errors import SharkError, TableChangedError
from sharkpy.catalog.lake_tables import Replaced
from sharkpy.execution.commands.writes.lake_write import LakeWrite
from sharkpy.sources.lake.iceberg import manifests
from sharkpy.sources.lake.lake_table import LakeTable
from tests.lake.tables import check_writers_meet, own_catalog, run
from tests.rows import rows

WRITERS, EACH = 4, 3


def test_appends_meet(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path) as context:
        run(context, "CREATE TABLE t (writer INT, number INT) STORED BY ICEBERG")
        check_writers_meet(context, "t", WRITERS, EACH)


def test_changes_of_rows_see_others(tmp_path: Path) -> None:
    """A statement that rewrites rows fails if another writer has committed since it found the table; its files are
    deleted.
    """
    with sharkpy.connect(warehouse=tmp_path) as context:
        run(context, "CREATE TABLE t (a INT) STORED BY ICEBERG", "INSERT INTO t VALUES (1)")
        table = context.catalog.table("default", "t")
        assert isinstance(table, LakeTable)
        own_catalog(context).load_table("default.t").append(pa.table({"a": pa.array([2], pa.int32())}))
        write = LakeWrite.begin(table, Replaced.ALL, context, is_unchanged=True)
        with pytest.raises(TableChangedError) as error:
            write.prepare()
        write.discard()
        assert error.value.sqlstate == "40001"
        assert rows(context, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
        folder = Path(table.location or "", "data")
        assert not [one for one in folder.iterdir() if one.name.startswith(".")]


def test_rows_that_are_not_there_are_added_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another writer adds them between the last look at the table and the commit, the commit fails."""
    commit, met = SqlCatalog.commit_table, list[bool]()

    def meet(*given: Any) -> Any:
        if not met:
            met.append(True)
            own_catalog(context).load_table("default.t").append(pa.table({"a": pa.array([2], pa.int32())}))
        return commit(*given)

    with sharkpy.connect(warehouse=tmp_path) as context:
        run(context, "CREATE TABLE t (a INT) STORED BY ICEBERG", "INSERT INTO t VALUES (1)")
        monkeypatch.setattr(SqlCatalog, "commit_table", meet)
        with pytest.raises(TableChangedError):
            run(context, "MERGE INTO t USING (SELECT 2 AS b) s ON t.a = s.b WHEN NOT MATCHED THEN INSERT VALUES (s.b)")
        assert rows(context, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
        run(context, "INSERT INTO t VALUES (3)")
        assert rows(context, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]


def test_a_failed_query_leaves_nothing(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path) as context:
        run(context, "CREATE TABLE t (a INT) STORED BY ICEBERG")
        with pytest.raises(SharkError):
            context.sql("INSERT INTO t SELECT assert_true(id < 0) IS NULL AS INT FROM range(10)")
        with pytest.raises(SharkError):
            context.sql("CREATE TABLE u STORED BY ICEBERG AS SELECT raise_error('no') AS a")
        assert not own_catalog(context).table_exists("default.u")
        assert rows(context, "SELECT count(*) FROM t") == [(0,)]
        assert list(Path(context.catalog.table("default", "t").location or "").rglob("*.parquet")) == []


def test_a_commit_that_was_told_to_have_failed_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, calls = manifests._commit, []

    def told_to_fail(handle: Any, files: Any, mark: str, *, replaced: Replaced) -> None:
        calls.append(mark)
        commit(handle, files, mark, replaced=replaced)
        raise CommitFailedException("the answer was lost")

    with sharkpy.connect(warehouse=tmp_path) as context:
        run(context, "CREATE TABLE t (a INT) STORED BY ICEBERG")
        monkeypatch.setattr(manifests, "_commit", told_to_fail)
        run(context, "INSERT INTO t VALUES (1)")
        assert len(calls) == 1
        assert rows(context, "SELECT * FROM t") == [(1,)]


@pytest.mark.parametrize("has_written", [True, False])
def test_the_last_try_may_have_been_the_one(monkeypatch: pytest.MonkeyPatch, has_written: bool) -> None:
    """A commit that is reported as failed may have succeeded, so its files stay."""

    def fail(*_: object, **__: object) -> None:
        summary = {"sharkpy.write": marks[-1]} if has_written else None
        metadata.snapshots = [SimpleNamespace(summary=summary)]
        raise CommitFailedException("told so")

    marks: list[str] = []
    metadata = SimpleNamespace(current_snapshot_id=1, snapshots=[])
    handle: Any = SimpleNamespace(metadata=metadata, name=lambda: ("a", "b"))
    handle.refresh = lambda: handle
    handle.schema = lambda: SimpleNamespace(schema_id=0)
    handle.spec = lambda: SimpleNamespace(spec_id=0)
    monkeypatch.setattr(manifests, "_TRIES", 1)
    monkeypatch.setattr(manifests, "_commit", lambda _handle, _files, mark, **_: (marks.append(mark), fail()))
    raised = nullcontext() if has_written else pytest.raises(TableChangedError, match="each time in 1 tries")
    with raised:
        manifests.commit_files(handle, [], replaced=Replaced.NOTHING, expected=1, is_unchanged=False)
