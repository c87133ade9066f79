"""Logistic regression by L-BFGS over 10 M rows of 10 features from a cached table: pyspark.ml over a cached DataFrame,
scikit-learn over the same arrays with two threads; the same objective, and iterations that no side ends early.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from bench.figure import Figure
from bench.ml import data, fitted
from bench.ml.sides import Side, compared, farthest, run_side, seconds_an_iteration, spark_session

PENALTY = 1e-4
"""Weight of half the squared norm of the coefficients, relative to the mean loss."""
FEW, MANY = 2, 8
MOST_OFF = 1e-6


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    ours, spark, scikit = (run_side("logistic_regression", side, runs, scale) for side in SIDES)
    off, of_spark = (farthest(one["answer"], scikit["answer"]) for one in (ours, spark))
    return [
        *compared("logistic regression", ours, spark, scikit),
        Figure(
            "coefficients: off scikit-learn's",
            f"{off:.1e} (pyspark.ml {of_spark:.1e})",
            f"at most {MOST_OFF:g}",
            off <= MOST_OFF,
        ),
    ]


def _regularisation(rows: int) -> float:
    """C of scikit-learn for PENALTY: it weighs the summed loss."""
    return 1.0 / (PENALTY * rows)


def _ours(runs: int, scale: float) -> dict[str, Any]:
    from sharkpy.ml import LogisticRegression

    warnings.simplefilter("ignore")
    rows = max(int(data.ROWS * scale), 10 * data.CLUSTERS)
    model = partial(LogisticRegression, C=_regularisation(rows))
    found, best = fitted.measured(model, data.LABEL, FEW, MANY, runs, scale)
    found["of_floats"] = fitted.of_floats(model, data.LABEL, FEW, MANY, runs, scale)
    return {**found, "answer": [*best.coef_[0].tolist(), float(best.intercept_[0])]}


def _scikit(runs: int, scale: float) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    warnings.simplefilter("ignore")
    X, y = data.read_features(data.features(scale))
    model = partial(LogisticRegression, C=_regularisation(len(X)))

    def fit(iterations: int) -> int:
        return int(model(max_iter=iterations, tol=0.0).fit(X, y).n_iter_[0])

    iteration = seconds_an_iteration(fit, FEW, MANY, runs)
    best = model(max_iter=300, tol=1e-9).fit(X, y)
    return {"iteration": iteration, "answer": [*best.coef_[0].tolist(), float(best.intercept_[0])]}


def _spark(runs: int, scale: float) -> dict[str, Any]:
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    spark = spark_session()
    frame = spark.read.parquet(str(data.features(scale)))
    assembled = VectorAssembler(inputCols=list(data.COLUMNS), outputCol="features").transform(frame)
    cached = assembled.select("features", data.LABEL).cache()
    cached.count()

    def model(**parameters: Any) -> Any:
        # Without standardisation all sides have the same objective.
        return LogisticRegression(labelCol=data.LABEL, regParam=PENALTY, standardization=False, **parameters)

    def fit(size: float, iterations: int) -> int:
        return int(model(maxIter=iterations, tol=0.0, maxBlockSizeInMB=size).fit(cached).summary.totalIterations)

    size = min((0.0, 16.0), key=lambda one: seconds_an_iteration(partial(fit, one), FEW, MANY, 1))
    iteration = seconds_an_iteration(partial(fit, size), FEW, MANY, min(runs, 2))
    best = model(maxIter=300, tol=1e-12, maxBlockSizeInMB=size).fit(cached)
    return {"iteration": iteration, "answer": [*best.coefficients.toArray().tolist(), best.intercept]}


SIDES: dict[str, Side] = {"sharkpy": _ours, "pyspark.ml": _spark, "scikit-learn": _scikit}
