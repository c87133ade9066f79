"""Tables of one row and of none, and names of 200 characters."""

from __future__ import annotations

from bench.figure import Figure
from bench.shapes.shape import Query, Shape, figures

_LONG = "n" * 195

SHAPES = (
    Shape(
        "one row",
        lambda _: "SELECT 1 AS a, 'x' AS s",
        lambda _: (Query("SELECT count(*), max(s) FROM {t}"), Query("SELECT * FROM {t}")),
        1,
        1,
    ),
    Shape(
        "no row",
        lambda _: "SELECT 1 AS a, 'x' AS s WHERE false",
        lambda _: (Query("SELECT count(*), max(s) FROM {t}"), Query("SELECT * FROM {t}")),
        1,
        1,
    ),
    Shape(
        "names of 200 characters",
        lambda size: (
            f"SELECT {', '.join(f'range + {place} AS {_LONG}{place}' for place in range(size))} FROM range(5000)"
        ),
        lambda size: (
            Query(f"SELECT sum({_LONG}0), max({_LONG}{size - 1}) FROM {{t}}"),
            Query(f"SELECT {_LONG}0 FROM {{t}} WHERE {_LONG}1 = 7"),
        ),
        20,
        100,
        table="t" * 200,
    ),
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return figures(SHAPES, runs, scale)
