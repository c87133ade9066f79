"""K-means, k = 10, over 10 M rows of 10 features from a cached table: pyspark.ml over a cached DataFrame from random
centres, scikit-learn over the same arrays with two threads from the same centres as ours.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from bench.figure import Figure
from bench.ml import data, fitted
from bench.ml.sides import Side, compared, run_side, seconds_an_iteration, spark_session

FEW, MANY = 2, 8
MOST_OFF = 0.01
_OWN_ITERATIONS = 40


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    ours, spark, scikit = (run_side("kmeans", side, runs, scale) for side in SIDES)
    off = abs(ours["inertia"] / scikit["inertia"] - 1)
    own = ours["own_inertia"] / min(scikit["own_inertia"], spark["own_inertia"]) - 1
    return [
        *compared("k-means", ours, spark, scikit),
        Figure(
            "inertia from the same centres: off scikit-learn's", f"{off:.1e}", f"at most {MOST_OFF:g}", off <= MOST_OFF
        ),
        Figure(
            "inertia from k-means‖: above the lower one of the others' own starts",
            f"{own:.1%}: scikit-learn's k-means++ {scikit['own_inertia']:.6g}, pyspark.ml's k-means‖ "
            f"{spark['own_inertia']:.6g}",
        ),
    ]


def _centres() -> np.ndarray:
    """Start centres, the same for all sides: none is a row of the data, and all are among the data."""
    return np.random.default_rng(data.SEED + 1).normal(0.0, 2.0, (data.CLUSTERS, data.FEATURES))


def _ours(runs: int, scale: float) -> dict[str, Any]:
    from sharkpy.ml import KMeans

    warnings.simplefilter("ignore")
    model = partial(KMeans, data.CLUSTERS, init=_centres(), n_init=1)
    found, best = fitted.measured(model, None, FEW, MANY, runs, scale)
    found["of_floats"] = fitted.of_floats(model, None, FEW, MANY, runs, scale)
    X, _ = data.read_features(data.features(scale))
    own = KMeans(data.CLUSTERS, max_iter=_OWN_ITERATIONS, random_state=0).fit(X)
    return {**found, "inertia": float(best.inertia_), "own_inertia": float(own.inertia_)}


def _scikit(runs: int, scale: float) -> dict[str, Any]:
    from sklearn.cluster import KMeans

    warnings.simplefilter("ignore")
    X, _ = data.read_features(data.features(scale))
    # Its kernels take rows.
    X = np.ascontiguousarray(X)
    model = partial(KMeans, data.CLUSTERS, init=_centres(), n_init=1, algorithm="lloyd", copy_x=False)

    def fit(iterations: int) -> int:
        return int(model(max_iter=iterations, tol=0.0).fit(X).n_iter_)

    iteration = seconds_an_iteration(fit, FEW, MANY, runs)
    best = model(max_iter=300, tol=1e-9).fit(X)
    own = KMeans(data.CLUSTERS, n_init=1, max_iter=_OWN_ITERATIONS, random_state=0).fit(X)
    return {"iteration": iteration, "inertia": float(best.inertia_), "own_inertia": float(own.inertia_)}


def _spark(runs: int, scale: float) -> dict[str, Any]:
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler

    spark = spark_session()
    frame = spark.read.parquet(str(data.features(scale)))
    assembled = VectorAssembler(inputCols=list(data.COLUMNS), outputCol="features").transform(frame)
    cached = assembled.select("features").cache()
    cached.count()

    def model(solver: str, **parameters: Any) -> Any:
        return KMeans(k=data.CLUSTERS, seed=1, solver=solver, **parameters)

    def fit(solver: str, iterations: int) -> int:
        made = model(solver, initMode="random", maxIter=iterations, tol=0.0).fit(cached)
        return int(made.summary.numIter)

    solver = min(("row", "block"), key=lambda one: seconds_an_iteration(partial(fit, one), FEW, MANY, 1))
    iteration = seconds_an_iteration(partial(fit, solver), FEW, MANY, min(runs, 2))
    own = model(solver, maxIter=_OWN_ITERATIONS, tol=1e-4).fit(cached)
    return {"iteration": iteration, "own_inertia": float(own.summary.trainingCost)}


SIDES: dict[str, Side] = {"sharkpy": _ours, "pyspark.ml": _spark, "scikit-learn": _scikit}
