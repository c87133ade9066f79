"""Files are folded while epochs go on, however fast these are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.model import StorageFormat
from sharkpy.execution.tables import file_folding
from sharkpy.sources import layout
from sharkpy.sources.fold_files import fold_files
from sharkpy.values.types import Schema
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers

FEW = {"shark.stream.kept.epochs": 1, "shark.compaction.min.blocks": 3}


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
        found = layout.visible_generations(table.location or "", context.catalog.newest_generation(table))
        assert any(one.first < one.last for one, _ in found)
        assert numbers(context)[-1] == 100
