"""Tables of 10,000 files, and of 10,000 Hive partitions."""

from __future__ import annotations

from bench.figure import Figure
from bench.shapes.shape import Query, Shape, figures

SHAPES = (
    Shape(
        "files",
        lambda size: f"SELECT range AS id, 'v' || (range % 7) AS s FROM range({size})",
        lambda _: (
            Query("SELECT count(*), max(id), count(DISTINCT s) FROM {t}"),
            Query("SELECT s, count(*) FROM {t} WHERE id < 50 GROUP BY s"),
        ),
        80,
        10_000,
        files=True,
    ),
    Shape(
        "partitions",
        lambda size: f"SELECT range AS v, 'k' || (range % {size}) AS p FROM range({2 * size})",
        lambda _: (
            Query("SELECT count(*), max(v), count(DISTINCT p) FROM {t}"),
            Query("SELECT sum(v) FROM {t} WHERE p = 'k7'", "SELECT CAST(sum(v) AS BIGINT) FROM {t} WHERE p = 'k7'"),
            Query("SELECT count(*), min(p) FROM {t} WHERE p LIKE 'k9%'"),
        ),
        30,
        10_000,
        partition="p",
    ),
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return figures(SHAPES, runs, scale)
