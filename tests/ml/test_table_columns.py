"""Features that are a table's own blocks: their conditions, no copies, and compiled loops that read them."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import DataError
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.ml import KMeans, LogisticRegression
from sharkpy.ml.features.block_reader import TableColumns
from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.ml.features.stored_blocks import StoredBlocks
from sharkpy.plan.logical import LogicalPlan

ROWS = 3333
MEMORY = "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql(
        f"CREATE TABLE IF NOT EXISTS waves {MEMORY} AS SELECT sin(id) AS a, cos(id) AS b, sin(id * 1.7D) AS c,"
        f" CAST(cos(id * 0.3D) AS FLOAT) AS f, CAST(cos(id * 0.7D) AS FLOAT) AS g, CAST(id AS INT) AS i,"
        f" sin(id) + cos(id * 3) > 0.2 AS y, sqrt(id - 2) AS n, exp(id) AS e"
        f" FROM (SELECT explode(sequence(1, {ROWS})) AS id) q"
    )
    return context


def stored(context: sharkpy.SharkContext, text: str, label: str | None = None, **choice: str) -> StoredBlocks:
    plan = bind_text(context, text)
    assert isinstance(plan, LogicalPlan)
    return StoredBlocks(context, feature_plan(plan, None, label, **choice))


def is_in_table(blocks: StoredBlocks) -> bool:
    return isinstance(blocks.read, TableColumns)


def arrays(block: FeatureBlock, argument: object) -> tuple[np.ndarray, np.ndarray | None]:
    assert argument is None
    assert not block.X.flags.writeable
    assert block.X.strides[0] == block.X.itemsize
    return np.array(block.X), block.y


def rows(blocks: StoredBlocks) -> np.ndarray:
    found = blocks.run(arrays)
    return np.concatenate([X if y is None else np.column_stack([X, y]) for X, y in found])


def in_order(found: np.ndarray) -> np.ndarray:
    """Rows in order, as tasks end in any order."""
    return found[np.lexsort(found.T)]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("query", "choice"),
    [
        ("SELECT a, b, c FROM waves", {}),
        ("SELECT a, b, c, y FROM waves", {"label": "y"}),
        ("SELECT b AS first, c AS second, i AS number FROM (SELECT i, c, b FROM waves) q", {"label": "number"}),
        ("SELECT b, i FROM waves", {"label": "i", "na": "drop"}),
        ("SELECT f, g, y FROM waves", {"label": "y", "dtype": "float32"}),
    ],
    ids=["doubles", "label", "renamed", "one", "floats"],
)
def test_columns_side_by_side_are_not_copied(context: sharkpy.SharkContext, query: str, choice: dict[str, str]) -> None:
    gc.collect()
    before = context.engine.store.usage().num_blocks
    blocks = stored(context, query, **choice)
    assert is_in_table(blocks)
    assert context.engine.store.usage().num_blocks == before
    expected = np.array(context.sql(query).fetchall(), blocks.dtype)
    np.testing.assert_array_equal(in_order(rows(blocks)), in_order(expected))
    assert blocks.size_bytes == expected.nbytes


@pytest.mark.parametrize(
    ("query", "choice"),
    [
        ("SELECT b, a FROM waves", {}),
        ("SELECT a, c, f FROM waves", {}),
        ("SELECT a, i FROM waves", {}),
        ("SELECT f, g FROM waves", {}),
        ("SELECT a, b + 0 AS b FROM waves", {}),
        ("SELECT a, b FROM waves WHERE y", {}),
        ("SELECT a, b FROM waves LIMIT 1500", {}),
        ("SELECT a, b, n FROM waves", {"label": "n", "na": "drop"}),
        ("SELECT a, b FROM waves TABLESAMPLE (50 PERCENT)", {}),
    ],
    ids=["order", "types", "encoded", "dtype", "computed", "filter", "limit", "missing", "sample"],
)
def test_others_are_made(context: sharkpy.SharkContext, query: str, choice: dict[str, str]) -> None:
    blocks = stored(context, query, **choice)
    assert not is_in_table(blocks)
    assert len(rows(blocks)) == blocks.num_rows > 0


def test_missing_and_infinite_values_are_found(context: sharkpy.SharkContext) -> None:
    with pytest.raises(DataError, match='column "n" has 1 missing value'):
        stored(context, "SELECT n FROM waves")
    with pytest.raises(DataError, match=r'column "e" has .* infinite value'):
        stored(context, "SELECT e FROM waves")
    with pytest.raises(DataError, match='label "n" has 1 missing value'):
        stored(context, "SELECT a, n FROM waves", "n")


def test_they_stay_as_they_were(context: sharkpy.SharkContext) -> None:
    context.sql("DROP TABLE IF EXISTS passing")
    context.sql(f"CREATE TABLE passing {MEMORY} AS SELECT a, b FROM waves")
    blocks = stored(context, "SELECT a, b FROM passing")
    before = rows(blocks)
    context.sql("INSERT OVERWRITE TABLE passing SELECT a + 1, b FROM waves")
    gc.collect()
    context.engine.store.usage()
    np.testing.assert_array_equal(rows(blocks), before)
    paths = [Path(handle.memory_path) for handle in blocks.handles]
    context.sql("DROP TABLE passing")
    np.testing.assert_array_equal(rows(blocks), before)
    del blocks
    gc.collect()
    context.engine.store.usage()
    assert not any(path.exists() for path in paths)


def test_a_damaged_block_is_made_again_while_they_are_looked_at(context: sharkpy.SharkContext) -> None:
    blocks = stored(context, "SELECT a, b FROM waves")
    before = rows(blocks)
    lost = Path(blocks.handles[1].memory_path)
    content = bytearray(lost.read_bytes())
    content[len(content) // 4] ^= 1
    del blocks
    gc.collect()
    lost.unlink()
    lost.write_bytes(content)
    again = stored(context, "SELECT a, b FROM waves")
    assert is_in_table(again)
    np.testing.assert_array_equal(rows(again), before)


@pytest.mark.variants(2)
def test_models_are_those_of_arrays(context: sharkpy.SharkContext) -> None:
    blocks = stored(context, "SELECT a, b, c, y FROM waves", "y")
    assert is_in_table(blocks)
    found = rows(blocks)
    X, y = found[:, :3], found[:, 3]
    ours, expected = (LogisticRegression(tol=1e-10).fit(*given) for given in ((blocks,), (X, y)))
    np.testing.assert_allclose(ours.coef_, expected.coef_, rtol=1e-6)
    start = X[:3]
    clusters, others = (KMeans(3, init=start, n_init=1).fit(given) for given in (blocks, X))
    np.testing.assert_allclose(clusters.cluster_centers_, others.cluster_centers_, rtol=1e-9)
    assert clusters.inertia_ == pytest.approx(others.inertia_, rel=1e-12)
