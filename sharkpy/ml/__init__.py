"""Machine learning over the engine's data: TableRDD, algorithms, and the functions of GENERATE.

Rows reach the algorithms as NumPy blocks; each pass over them is one RDD job, or runs in this process if they are few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.ml.public_names import MODULES

if TYPE_CHECKING:
    from sharkpy.ml.graph.graph import Graph
    from sharkpy.ml.graph.page_rank import PageRank
    from sharkpy.ml.graph.pregel import pregel
    from sharkpy.ml.graph.vertex_program import Messages, Outcome, VertexBlock
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.ml.models.kmeans import KMeans
    from sharkpy.ml.models.linear_regression import LinearRegression
    from sharkpy.ml.models.logistic_regression import LogisticRegression
    from sharkpy.ml.models.one_hot_encoder import OneHotEncoder
    from sharkpy.ml.models.standard_scaler import StandardScaler
    from sharkpy.ml.models.streaming_kmeans import StreamingKMeans
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
    "StreamingKMeans",
    "TableRDD",
    "VertexBlock",
    "pregel",
]


def __getattr__(name: str) -> object:
    """Import a public name on its first use."""
    if module := MODULES.get(name):
        import importlib

        return getattr(importlib.import_module(module), name)
    raise AttributeError(f'module "sharkpy.ml" has no attribute "{name}"')
