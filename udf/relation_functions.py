"""Manual pages of the built-in functions of whole tables, for GENERATE. `sharkpy.ml` implements them."""

from __future__ import annotations

from sharkpy.udf.function import RelationFunction

_MORE = "features => array('column', …), model => 'name', parameter => value, …"

RELATION_FUNCTIONS = (
    RelationFunction(
        "kmeans",
        usage=f"KMeans(data, n_clusters, {_MORE})",
        doc="the table's columns and `cluster`, the number of the nearest of n_clusters centers, which are found here",
        example="KMeans(points, 2, features => array('x', 'y'))",
        answer="x\ty\tkind\tcluster",
    ),
    RelationFunction(
        "linearregression",
        usage=f"LinearRegression(data, label, {_MORE})",
        doc="the table's columns and `prediction`, a linear function of the features fitted to the column `label`",
        example="LinearRegression(line, 'y', features => array('x'), model => 'rising')",
        answer="x\ty\tprediction",
    ),
    RelationFunction(
        "logisticregression",
        usage=f"LogisticRegression(data, label, {_MORE})",
        doc="the table's columns, `prediction`, the likeliest class by the features, and `probability`, that of the "
        "second class or, of more than two classes, an array of all",
        example="LogisticRegression((SELECT x, y, kind FROM points), 'kind', C => 10, model => 'kinds')",
        answer="x\ty\tkind\tprediction\tprobability",
    ),
    RelationFunction(
        "pagerank",
        usage="PageRank(edges, source, target, weight, vertices => table, personalization => table, "
        "parameter => value, …)",
        doc="`vertex` and `rank` of all vertices of a table of edges; its first two columns, unless the call names two",
        example="PageRank(edges)",
        answer="vertex\trank",
    ),
)
"""Names are in lower case, as in SQL."""
