"""Seeded data: features of ten clusters with a label, and a graph whose vertices have very different
numbers of edges.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.engines import CORES
from bench.suites import CACHE

SEED = 20120425
ROWS, FEATURES, CLUSTERS = 10_000_000, 10, 10
VERTICES, EDGES = 1_000_000, 10_000_000
PARTS = 8
COLUMNS = tuple(f"x{column}" for column in range(FEATURES))
LABEL = "label"


def features(scale: float) -> Path:
    """Make a folder of Parquet files: ten doubles a row, of one of ten clusters, and a label of two classes."""
    rows = max(int(ROWS * scale), 10 * CLUSTERS)
    return _made(f"ml-features-{scale:g}", partial(_features_part, rows))


def graph(scale: float) -> Path:
    """Make a folder of Parquet files: edges (source, target); low numbers are targets more often than high ones."""
    return _made(f"ml-graph-{scale:g}", partial(_graph_part, num_vertices(scale), max(int(EDGES * scale), 100)))


def num_vertices(scale: float) -> int:
    return max(int(VERTICES * scale), 10)


def _made(name: str, part: Callable[[int], pa.Table]) -> Path:
    """Make the folder `name` with a file a part, by as many processes as there are cores, unless it exists."""
    folder = CACHE / name
    done = folder / ".done"
    if not done.exists():
        print(f"making {name}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(CORES, mp_context=get_context("spawn")) as pool:
            list(pool.map(partial(_write, folder, part), range(PARTS)))
        done.touch()
    return folder


def _write(folder: Path, part: Callable[[int], pa.Table], number: int) -> None:
    pq.write_table(part(number), folder / f"part-{number}.parquet", compression="none", use_dictionary=False)


def _share(total: int, number: int) -> int:
    return total * (number + 1) // PARTS - total * number // PARTS


def _features_part(rows: int, number: int) -> pa.Table:
    common = np.random.default_rng(SEED)
    centres = common.normal(0.0, 2.0, (CLUSTERS, FEATURES))
    weights = common.normal(0.0, 0.5, FEATURES)
    rng = np.random.default_rng([SEED, number])
    count = _share(rows, number)
    X = centres[rng.integers(0, CLUSTERS, count)] + rng.normal(0.0, 1.0, (count, FEATURES))
    chance = 1.0 / (1.0 + np.exp(-(X @ weights)))
    labels = (rng.random(count) < chance).astype(np.float64)
    return pa.table({name: np.ascontiguousarray(X[:, place]) for place, name in enumerate(COLUMNS)} | {LABEL: labels})


def _graph_part(vertices: int, edges: int, number: int) -> pa.Table:
    rng = np.random.default_rng([SEED, number, 1])
    count = _share(edges, number)
    source = rng.integers(0, vertices, count)
    target = (vertices * rng.random(count) ** 3).astype(np.int64)
    return pa.table({"source": source, "target": target})


def read_features(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Arrays of the features: X (rows, features), columns contiguous, and y."""
    table = pq.read_table(folder)
    X = np.empty((table.num_rows, FEATURES), order="F")
    for place, name in enumerate(COLUMNS):
        X[:, place] = table.column(name).to_numpy()
    return X, table.column(LABEL).to_numpy()
