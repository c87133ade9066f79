"""Large values: texts of a megabyte, arrays of 300,000 elements, structs of 30 levels; and a million groups."""

from __future__ import annotations

import functools

from bench.figure import Figure
from bench.shapes.shape import Query, Shape, figures

_LEVELS = 30
_DEEP = functools.reduce(lambda inner, level: f"{{'f{level}': {inner}}}", range(_LEVELS), "range")
_PATH = ".".join(["s", *(f"f{level}" for level in reversed(range(_LEVELS)))])

SHAPES = (
    Shape(
        "texts of a megabyte",
        lambda size: f"SELECT range AS id, repeat(chr(CAST(97 + range % 26 AS INT)), {size}) AS s FROM range(60)",
        lambda _: (
            Query("SELECT sum(length(s)), count(DISTINCT s) FROM {t}"),
            Query("SELECT * FROM {t} WHERE id = 3"),
        ),
        50_000,
        1_000_000,
    ),
    Shape(
        "arrays of 300,000",
        lambda size: f"SELECT range AS id, range({size}) AS a FROM range(10)",
        lambda size: (
            Query(
                f"SELECT sum(size(a)), max(a[{size - 1}]) FROM {{t}}", f"SELECT sum(len(a)), max(a[{size}]) FROM {{t}}"
            ),
            Query(
                "SELECT sum(x), count(*) FROM {t} LATERAL VIEW explode(a) e AS x",
                "SELECT sum(x), count(*) FROM (SELECT unnest(a) AS x FROM {t})",
            ),
            Query("SELECT a FROM {t} WHERE id = 4"),
        ),
        3_000,
        300_000,
    ),
    Shape(
        "structs of 30 levels",
        lambda size: f"SELECT range AS id, {_DEEP} AS s FROM range({size})",
        lambda _: (
            Query(f"SELECT sum({_PATH}), count(DISTINCT s) FROM {{t}}"),
            Query("SELECT id, s FROM {t} WHERE id = 3"),
        ),
        100,
        20_000,
    ),
    Shape(
        "a million groups",
        lambda size: f"SELECT (range * 7919) % {size + 3} AS k, 'k' || k AS s, range AS v FROM range({size * 3 // 2})",
        lambda _: (
            Query("SELECT count(*), max(c) FROM (SELECT s, sum(v) AS c FROM {t} GROUP BY s) x"),
            Query("SELECT count(DISTINCT k), count(DISTINCT s) FROM {t}"),
        ),
        2_000,
        1_000_000,
    ),
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return figures(SHAPES, runs, scale)
