"""Files are folded while epochs go on, however fast these are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import StorageFormat
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables import file_folding
from sharkpy.sources.fold_files import fold_files
from sharkpy.streaming import state_folding
from sharkpy.streaming.state_folding import BoundFoldCache, fold_state
from sharkpy.values.types import Schema
from tests.files import generations_of
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers
from tests.waiting import until

FEW = {"shark.stream.kept.epochs": 1, "shark.compaction.min.blocks": 3}


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_an_epoch_ends_while_files_are_folded(
    tmp_path: Path, folder: Path, clauses: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        make_stream(context, folder)
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} AS SELECT n FROM numbers")

        def epoch(number: int) -> None:
            put_numbers(folder, f"{number:03}.json", [number])
            context.sql("RESUME CONTINUOUS TABLE t")

        def fold_beside(paths: Sequence[str], schema: Schema, storage: StorageFormat, staging: str) -> bool:
            monkeypatch.setattr(file_folding, "fold_files", fold_files)
            epoch(100)
            return fold_files(paths, schema, storage, staging)

        monkeypatch.setattr(file_folding, "fold_files", fold_beside)
        for number in range(6):
            epoch(number)
            if numbers(context)[-1] == 100:
                break
        context.table_cache.settle()
        table = context.catalog.table("default", "t")
        found = generations_of(context, table)
        assert any(one.first < one.last for one, _ in found)
        assert numbers(context)[-1] == 100


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_epochs_go_on_while_a_state_is_folded(
    tmp_path: Path, folder: Path, clauses: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def slowly(query: ContinuousQuery, session: EngineSession, bound: BoundFoldCache) -> bool:
        begun.set()
        assert may_go_on.wait(60)
        return fold_state(query, session, bound)

    monkeypatch.setattr(state_folding, "fold_state", slowly)
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        make_stream(context, folder)
        query = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2"
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} WITH UNBOUNDED STATE AS {query}")
        table = context.stream("t")

        def epoch(number: int) -> None:
            put_numbers(folder, f"{number:03}.json", [number])
            table.await_epoch(number + 1, timeout=60)

        for number in range(4):
            epoch(number)
        assert begun.wait(60)
        for number in range(4, 10):
            epoch(number)
        may_go_on.set()
        until(lambda: rows(context, "SELECT count(*) < 10 FROM STATE OF t") == [(True,)])
        epoch(10)
        assert rows(context, "SELECT * FROM t ORDER BY k") == [(0, 6), (1, 5)]
