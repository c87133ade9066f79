"""KMeans of tables: the same centres wherever passes run, and clusters as a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import DataError
from sharkpy.ml import KMeans
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlock
from sharkpy.values.types import INT

POINTS = (
    "CREATE TABLE IF NOT EXISTS kmeans_points TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS"
    " SELECT id, sin(id * id) + 8 * (id % 4) AS a, cos(id * 7) * 2 - 8 * (id % 4) AS b, CAST(id % 7 AS FLOAT) AS c"
    " FROM (SELECT explode(sequence(1, 5000)) AS id) q"
)


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql(POINTS)
    return context


@pytest.mark.variants(3)
@pytest.mark.parametrize("init", ["k-means||", "k-means++", "random"])
def test_stored_blocks_give_the_bits_that_arrays_give(context: sharkpy.SharkContext, init: str) -> None:
    blocks = context.sql2rdd("SELECT a, b, c FROM kmeans_points").features().blocks()
    copies = tuple(FeatureBlock(number, X) for number, X in enumerate(blocks.run(copied)))
    assert len(copies) > 1
    stored = KMeans(6, init=init, n_init=1).fit(blocks)
    assert not hasattr(stored, "labels_")
    arrays = KMeans(6, init=init, n_init=1).fit(ArrayBlocks(blocks.names, copies, blocks.dtype))
    assert stored.cluster_centers_.tobytes() == arrays.cluster_centers_.tobytes()
    assert stored.inertia_history_.tobytes() == arrays.inertia_history_.tobytes()


def test_the_cluster_is_a_column(context: sharkpy.SharkContext) -> None:
    rows = context.sql2rdd("SELECT * FROM kmeans_points")
    model = KMeans(4)
    found = model.fit_predict(rows, features=["a", "b", "c"])
    assert found.schema.names == ("id", "a", "b", "c", "cluster")
    assert found.schema["cluster"].dtype == INT
    table = found.to_arrow()
    X = np.column_stack([table[name].to_numpy() for name in "abc"])
    np.testing.assert_array_equal(table["cluster"].to_numpy(), model.predict(X))
    np.testing.assert_array_equal(np.bincount(table["cluster"].to_numpy()), model.cluster_sizes_)
    assert model.score(rows) == pytest.approx(-model.inertia_)
    assert model.score(X) == pytest.approx(-model.inertia_)


def test_distances_are_a_column(context: sharkpy.SharkContext) -> None:
    rows = context.sql2rdd("SELECT a, IF(id % 100 = 0, NULL, b) AS b FROM kmeans_points WHERE id <= 300")
    found = KMeans(4).fit_transform(rows, na="drop")
    assert [f"{field.name} {field.dtype}" for field in found.schema] == [
        "a double",
        "b double",
        "distances array<double>",
    ]
    table = found.to_arrow().to_pandas()
    assert table["distances"].isna().equals(table["b"].isna())
    known = table.dropna()
    expected = KMeans(4).fit(rows, na="drop").transform(known[["a", "b"]].to_numpy())
    np.testing.assert_allclose(np.stack(known["distances"]), expected, rtol=1e-12)


def test_a_table_is_given_by_its_name(context: sharkpy.SharkContext) -> None:
    model = KMeans(4).fit("kmeans_points", features=["a", "b"], session=context)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.score("kmeans_points", session=context) == pytest.approx(-model.inertia_)
    with pytest.raises(DataError, match="6000 clusters of 5000 rows"):
        KMeans(6000).fit("kmeans_points", session=context)


def copied(block: FeatureBlock, argument: Any) -> np.ndarray:
    del argument
    return np.array(block.X, order="F")
