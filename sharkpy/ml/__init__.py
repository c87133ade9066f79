"""Machine learning over the engine's data: TableRDD, algorithms, and the functions behind GENERATE.

Rows reach the algorithms as NumPy blocks; each pass over them is one RDD job, or runs in this process if they are few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharkpy.ml.graph.graph import Graph
    from sharkpy.ml.graph.page_rank import PageRank
    from sharkpy.ml.graph.pregel import pregel
    from sharkpy.ml.graph.program import Messages, Outcome, VertexBlock
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.ml.models.kmeans import KMeans
    from sharkpy.ml.models.linear_regression import LinearRegression
    from sharkpy.ml.models.logistic_regression import LogisticRegression
    from sharkpy.ml.models.one_hot_encoder import OneHotEncoder
    from sharkpy.ml.models.standard_scaler import StandardScaler
    from sharkpy.ml.rdd.table_rdd import TableRDD

__all__ = [
    "Estimator",
    "Graph",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "Messages",
    "OneHotEncoder",
    "Outcome",
    "PageRank",
    "StandardScaler",
    "TableRDD",
    "VertexBlock",
    "pregel",
]

_LAZY = {
    "Estimator": "sharkpy.ml.models.estimator",
    "Graph": "sharkpy.ml.graph.graph",
    "KMeans": "sharkpy.ml.models.kmeans",
    "LinearRegression": "sharkpy.ml.models.linear_regression",
    "LogisticRegression": "sharkpy.ml.models.logistic_regression",
    "Messages": "sharkpy.ml.graph.program",
    "OneHotEncoder": "sharkpy.ml.models.one_hot_encoder",
    "Outcome": "sharkpy.ml.graph.program",
    "PageRank": "sharkpy.ml.graph.page_rank",
    "StandardScaler": "sharkpy.ml.models.standard_scaler",
    "TableRDD": "sharkpy.ml.rdd.table_rdd",
    "VertexBlock": "sharkpy.ml.graph.program",
    "pregel": "sharkpy.ml.graph.pregel",
}
"""Modules of the public names. Model files name their class, which is looked up here."""


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    if module := _LAZY.get(name):
        import importlib

        return getattr(importlib.import_module(module), name)
    raise AttributeError(f'module "sharkpy.ml" has no attribute "{name}"')
