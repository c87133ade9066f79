"""Time of a model's iterations, fitted from SQL over a cached table, in this process and as RDD tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bench.ml import data
from bench.ml.sides import TimedBlocks, cached_table, seconds_an_iteration, session

_COLUMNS = ", ".join(f"{name} double" for name in (*data.COLUMNS, data.LABEL))
_FLOATS = ", ".join(f"CAST({name} AS FLOAT) AS {name}" for name in (*data.COLUMNS, data.LABEL))
_PASSES = 8
Model = Callable[..., Any]
"""Makes the model of given parameters: `max_iter`, `tol`."""


def measured(
    model: Model, label: str | None, few: int, many: int, runs: int, scale: float
) -> tuple[dict[str, float], Any]:
    """Measure `iteration`, `first` and `later`, `as_tasks` in seconds; and the model fitted until it converged.

    `first` is from the text of the query to the end of the first pass; each run makes the features again, and the one
    with the median of them counts.
    """
    folder = data.features(scale)
    with session() as context:
        cached_table(context, "points", folder, _COLUMNS)
        # What a process does once, such as compiling kernels, is done.
        model(max_iter=2, tol=0.0).fit(_features(context, label, "LIMIT 10000").blocks())
        firsts = [_first(context, model, label) for _ in range(max(runs, 1))]
        first, later = sorted(firsts)[len(firsts) // 2]
        blocks = _features(context, label).cache().blocks()

        def fit(iterations: int) -> int:
            return _iterations(model(max_iter=iterations, tol=0.0).fit(blocks))

        iteration = seconds_an_iteration(fit, few, many, runs)
        context.sql("SET shark.placement.driver=false").close()
        fit(1)
        as_tasks = seconds_an_iteration(fit, few, many, 1)
        context.sql("SET shark.placement.driver=true").close()
        best = model(max_iter=300, tol=1e-9).fit(blocks)
    return {"iteration": iteration, "first": first, "later": later, "as_tasks": as_tasks}, best


def of_floats(model: Model, label: str | None, few: int, many: int, runs: int, scale: float) -> float:
    """Seconds of an iteration over FLOAT columns: half the memory, sums in float64 as before."""
    with session() as context:
        cached_table(context, "doubles", data.features(scale), _COLUMNS)
        made = f"CREATE TABLE points TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT {_FLOATS} FROM doubles"
        context.sql(made).close()
        context.sql("UNCACHE TABLE doubles").close()
        blocks = _features(context, label, dtype="float32").cache().blocks()

        def fit(iterations: int) -> int:
            return _iterations(model(max_iter=iterations, tol=0.0).fit(blocks))

        return seconds_an_iteration(fit, few, many, runs)


def _features(context: Any, label: str | None, more: str = "", dtype: str = "float64") -> Any:
    query = f"SELECT {', '.join((*data.COLUMNS, data.LABEL))} FROM points {more}"
    return context.sql2rdd(query).features(list(data.COLUMNS), label=label, dtype=dtype)


def _first(context: Any, model: Model, label: str | None) -> tuple[float, float]:
    start = time.perf_counter()
    features = _features(context, label)
    blocks = TimedBlocks(features.cache().blocks(), start)
    model(max_iter=_PASSES, tol=0.0).fit(blocks)
    found = blocks.first_and_later()
    features.unpersist()
    return found


def _iterations(model: Any) -> int:
    made = model.n_iter_
    return int(made if isinstance(made, int) else max(made))
