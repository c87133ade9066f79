"""Tables of 1 to 3,000 columns: a query costs what its columns cost."""

from __future__ import annotations

from collections.abc import Sequence

from bench.figure import Figure
from bench.shapes.shape import Query, Shape, figures


def _rows(columns: int) -> str:
    made = ", ".join(f"concat('value-{place}-', range % 97) AS c{place}" for place in range(columns))
    return f"SELECT range AS id, {made} FROM range(2000)"


def _queries(columns: int) -> Sequence[Query]:
    last = f"c{columns - 1}"
    return (
        Query(f"SELECT count(DISTINCT c0), max({last}) FROM {{t}}"),
        Query(f"SELECT {last}, count(*) FROM {{t}} WHERE id < 500 GROUP BY {last}"),
        Query("SELECT * FROM {t} WHERE id = 77"),
    )


SHAPES = tuple(
    Shape(f"{whole} columns", _rows, _queries, small, whole)
    for whole, small in ((1, 1), (50, 50), (300, 60), (1000, 80), (3000, 200))
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return figures(SHAPES, runs, scale)
