"""Public names of machine learning, and the modules that they are in."""

from __future__ import annotations

MODULES = {
    "Estimator": "sharkpy.ml.models.estimator",
    "Graph": "sharkpy.ml.graph.graph",
    "KMeans": "sharkpy.ml.models.kmeans",
    "LinearRegression": "sharkpy.ml.models.linear_regression",
    "LogisticRegression": "sharkpy.ml.models.logistic_regression",
    "Messages": "sharkpy.ml.graph.vertex_program",
    "OneHotEncoder": "sharkpy.ml.models.one_hot_encoder",
    "Outcome": "sharkpy.ml.graph.vertex_program",
    "PageRank": "sharkpy.ml.graph.page_rank",
    "StandardScaler": "sharkpy.ml.models.standard_scaler",
    "StreamingKMeans": "sharkpy.ml.models.streaming_kmeans",
    "TableRDD": "sharkpy.ml.rdd.table_rdd",
    "VertexBlock": "sharkpy.ml.graph.vertex_program",
    "pregel": "sharkpy.ml.graph.pregel",
}
"""Imported when first used. Model files name their class, which is looked up here."""
