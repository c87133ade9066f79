"""Passes over features that count their calls, and faults in the middle of them."""

from __future__ import annotations

import os
import signal
import time
import uuid
from pathlib import Path

import numpy as np

import sharkpy
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.execution.spark.start import TASK_ATTEMPTS
from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.ml.features.stored_blocks import StoredBlocks
from sharkpy.plan.logical import LogicalPlan

NUM_BLOCKS = 12


def make_features(context: sharkpy.SharkContext, query: str = "SELECT b, a, y FROM features") -> StoredBlocks:
    """Make twelve blocks of a table that has only blocks; the table's own if the query gives columns in its order."""
    rows = NUM_BLOCKS * 2000
    context.sql("DROP TABLE IF EXISTS features")
    context.with_settings({"shark.block.rows": "2000"}).sql(
        "CREATE TABLE features TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT sin(id) AS a, cos(id) AS b,"
        f" id % 2 AS y FROM (SELECT explode(sequence(1, {rows})) AS id) t"
    )
    plan = bind_text(context, query)
    assert isinstance(plan, LogicalPlan)
    blocks = StoredBlocks(context, feature_plan(plan, None, "y"))
    assert len(blocks.handles) == NUM_BLOCKS
    return blocks


def gradient(block: FeatureBlock, argument: tuple[np.ndarray, str, float]) -> np.ndarray:
    """Kernel that leaves a file for each call in a folder, and takes some time."""
    weights, folder, seconds = argument
    Path(folder, f"{block.number}-{uuid.uuid4().hex}").touch()
    time.sleep(seconds)
    found: np.ndarray = block.X.T @ (block.X @ weights - block.y)
    return found


def dying_gradient(block: FeatureBlock, argument: tuple[np.ndarray, str, float]) -> np.ndarray:
    """Kernel that kills its process on block 4, the first time."""
    mark = Path(argument[1]).with_suffix(".killed")
    if block.number == 4 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return gradient(block, argument)


def cutting_gradient(block: FeatureBlock, argument: tuple[np.ndarray, str, float, list[str]]) -> np.ndarray:
    """Kernel that cuts files to nothing and kills its process, on block 4, as often as Spark tries a task."""
    *plain, paths = argument
    deaths = Path(argument[1]).with_suffix(".deaths")
    deaths.touch()
    if block.number == 4 and deaths.stat().st_size < TASK_ATTEMPTS:
        deaths.write_bytes(deaths.read_bytes() + b"x")
        for path in paths:
            os.truncate(path, 0)
        os.kill(os.getpid(), signal.SIGKILL)
    return gradient(block, tuple(plain))  # type: ignore[arg-type]


def deleting_gradient(block: FeatureBlock, argument: tuple[np.ndarray, str, float, list[str]]) -> np.ndarray:
    """Kernel that deletes files on block 4, before the blocks after it are opened."""
    *plain, paths = argument
    if block.number == 4:
        for path in paths:
            Path(path).unlink(missing_ok=True)
    return gradient(block, tuple(plain))  # type: ignore[arg-type]


def num_calls(folder: Path) -> int:
    return len(list(folder.iterdir()))
