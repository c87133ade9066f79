"""Built-in functions of whole tables, for GENERATE: what is said of each; `sharkpy.ml` has what they do."""

from __future__ import annotations

from sharkpy.udf.function import RelationFunction

_MORE = "features => array('column', …), model => 'name', parameter => value, …"

RELATION_FUNCTIONS = (
    RelationFunction(
        "kmeans",
        f"KMeans(data, n_clusters, {_MORE})",
        "the table's columns and `cluster`, the number of the nearest of n_clusters centers, which are found here",
        "KMeans(points, 2, features => array('x', 'y'))",
    ),
    RelationFunction(
        "linearregression",
        f"LinearRegression(data, label, {_MORE})",
        "the table's columns and `prediction`, a linear function of the features fitted to the column `label`",
        "LinearRegression(points, 'y', features => array('x'), model => 'line')",
    ),
    RelationFunction(
        "logisticregression",
        f"LogisticRegression(data, label, {_MORE})",
        "the table's columns, `prediction`, the likeliest class by the features, and `probability`, that of the "
        "second class or, of more than two classes, an array of all",
        "LogisticRegression((SELECT x, y, kind FROM points), 'kind', C => 10)",
    ),
    RelationFunction(
        "pagerank",
        "PageRank(edges, source, target, weight, vertices => table, personalization => table, parameter => value, …)",
        "`vertex` and `rank` of all vertices of a table of edges: by the first two columns where none are named",
        "PageRank(edges)",
    ),
)
"""The names are those of SQL: in lower case."""
