"""Measurements of machine learning, compared with pyspark.ml, scikit-learn and plain RDDs: one file each."""

from __future__ import annotations

LIBRARIES = ("sharkpy", "pyspark", "scikit-learn", "scipy", "numpy")
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = ("logistic_regression", "kmeans", "page_rank")
"""Modules of the package, each with `measure(runs: int, scale: float) -> list[Figure]`; its docstring describes the
comparison.
"""
