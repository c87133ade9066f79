"""States in memory: what folds, and merges of blocks, leave of their versions."""

from __future__ import annotations

from pathlib import Path

import sharkpy
from sharkpy.catalog.model import Table
from sharkpy.columnar.version import TableVersion
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, put_numbers, rows

QUERY = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2"
BY_KEY = "SELECT k, c FROM t ORDER BY k"


def make(context: sharkpy.SharkContext, folder: Path, query: str = QUERY, clauses: str = NOW) -> None:
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {clauses} WITH UNBOUNDED STATE AS {query}")


def epoch(context: sharkpy.SharkContext, folder: Path, number: int) -> None:
    put_numbers(folder, f"{number:03}.json", [number])
    context.sql("RESUME CONTINUOUS TABLE t")


def state_of(context: sharkpy.SharkContext) -> Table:
    state = context.catalog.state_table(context.catalog.table("default", "t"))
    assert state is not None
    return state


def version_of(context: sharkpy.SharkContext) -> TableVersion:
    version = context.table_cache.known_version(state_of(context))
    assert version is not None
    return version


def counts(num_epochs: int) -> list[tuple[object, ...]]:
    """Rows of the table after so many epochs of one number each, from 0 on."""
    even = (num_epochs + 1) // 2
    return [(0, even), *([(1, num_epochs - even)] if num_epochs > 1 else [])]


def test_blocks_of_epochs_that_are_kept_are_merged_in_memory_alone(tmp_path: Path, folder: Path) -> None:
    many = {"shark.stream.kept.epochs": 1000, "shark.compaction.min.blocks": 2}
    with sharkpy.connect("local[2]", tmp_path / "w", **many) as context:
        make(context, folder)
        for number in range(20):
            epoch(context, folder, number)
            context.table_cache.settle()
            assert rows(context, BY_KEY) == counts(number + 1)
        version = version_of(context)
        assert len(version.blocks) < 10
        assert max(map(len, version.origins)) > 1
        assert all(block.durable_path is None for block in version.blocks)
    with sharkpy.connect("local[2]", tmp_path / "w", **many) as context:
        assert rows(context, BY_KEY) == counts(20)


def test_blocks_that_a_fold_takes_are_not_merged_before(tmp_path: Path, folder: Path) -> None:
    few = {"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 4}
    with sharkpy.connect("local[2]", tmp_path / "w", **few) as context:
        make(context, folder)
        for number in range(20):
            epoch(context, folder, number)
            context.table_cache.settle()
            assert rows(context, BY_KEY) == counts(number + 1)
            assert {len(origins) for origins in version_of(context).origins} == {1}
