"""Passes over features that lose workers, blocks or an executor: the answer is the same to the last bit, at little
cost.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import WorkersDiedError
from sharkpy.execution.spark.start import TASK_ATTEMPTS
from sharkpy.ml.features.stored_blocks import StoredBlocks
from tests.faults.cluster import run_apart
from tests.faults.feature_passes import (
    NUM_BLOCKS,
    cutting_gradient,
    deleting_gradient,
    dying_gradient,
    gradient,
    make_features,
    num_calls,
)

pytestmark = pytest.mark.spark
WEIGHTS = np.array([0.5, -2.0])


@pytest.fixture(params=["b, a, y", "a, b, y"], ids=["made", "of the table"])
def blocks(context: sharkpy.SharkContext, request: pytest.FixtureRequest) -> StoredBlocks:
    return make_features(context, f"SELECT {request.param} FROM features")


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    folder = tmp_path / "calls"
    folder.mkdir()
    return folder


@pytest.fixture
def expected(blocks: StoredBlocks, tmp_path: Path) -> list[bytes]:
    folder = tmp_path / "expected"
    folder.mkdir()
    found = blocks.run(gradient, (WEIGHTS, str(folder), 0.0))
    assert num_calls(folder) == NUM_BLOCKS
    return [part.tobytes() for part in found]


@pytest.mark.slow
def test_a_worker_is_killed(blocks: StoredBlocks, expected: list[bytes], calls: Path) -> None:
    found = blocks.run(dying_gradient, (WEIGHTS, str(calls), 0.0))
    assert [part.tobytes() for part in found] == expected
    assert calls.with_suffix(".killed").exists()
    again = num_calls(calls) - NUM_BLOCKS
    assert 4 <= again < NUM_BLOCKS, "the blocks of one task of two"


@pytest.mark.slow
def test_a_worker_is_killed_at_each_try(blocks: StoredBlocks, expected: list[bytes], calls: Path) -> None:
    """The task is tried again if a block was cut short, which may have killed it, but not if all blocks are whole."""
    with pytest.raises(WorkersDiedError, match="at each of 4 tries"):
        blocks.run(cutting_gradient, (WEIGHTS, str(calls), 0.0, []))
    calls.with_suffix(".deaths").unlink()
    found = blocks.run(cutting_gradient, (WEIGHTS, str(calls), 0.0, [blocks.handles[5].memory_path]))
    assert [part.tobytes() for part in found] == expected
    assert calls.with_suffix(".deaths").stat().st_size == TASK_ATTEMPTS


@pytest.mark.variants(3)
@pytest.mark.parametrize("numbers", [[5], [5, 11], list(range(5, NUM_BLOCKS))], ids=str)
def test_blocks_are_deleted_during_a_pass(
    blocks: StoredBlocks, expected: list[bytes], calls: Path, numbers: list[int]
) -> None:
    paths = [blocks.handles[number].memory_path for number in numbers]
    others = [handle.memory_path for number, handle in enumerate(blocks.handles) if number not in numbers]
    before = [Path(path).stat().st_mtime_ns for path in others]
    started = blocks.num_tasks
    found = blocks.run(deleting_gradient, (WEIGHTS, str(calls), 0.02, paths))
    assert [part.tobytes() for part in found] == expected
    assert [Path(path).stat().st_mtime_ns for path in others] == before, "the other blocks stay as they are"
    assert num_calls(calls) <= NUM_BLOCKS + 1, "results of the first run are kept"
    assert blocks.num_tasks - started in (3, 4)


@pytest.mark.variants(2)
def test_blocks_and_those_of_their_table_are_deleted(
    context: sharkpy.SharkContext, blocks: StoredBlocks, expected: list[bytes], calls: Path
) -> None:
    version = context.table_cache.loaded_version(context.catalog.table("default", "features"))
    assert version is not None
    for path in {handle.memory_path for handle in (blocks.handles[3], *version.blocks[2:5])}:
        Path(path).unlink()
    found = blocks.run(gradient, (WEIGHTS, str(calls), 0.0))
    assert [part.tobytes() for part in found] == expected
    assert num_calls(calls) == NUM_BLOCKS
    context.table_cache.repair(version.blocks)
    assert all(Path(handle.memory_path).exists() for handle in version.blocks)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_executor_is_killed(tmp_path: Path) -> None:
    run_apart("features_outlive_an_executor", tmp_path)
