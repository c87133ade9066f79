"""Data on which logistic regressions are compared."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris


def standardized(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


CANCER, IS_BENIGN = load_breast_cancer(return_X_y=True)
CANCER = standardized(CANCER)
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = standardized(IRIS)


def random_data(num_rows: int, num_features: int, num_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows, num_features))
    scores = X @ rng.normal(size=(num_features, num_classes)) + rng.gumbel(size=(num_rows, num_classes))
    return X, scores.argmax(axis=1)


DATA = {
    "cancer": (CANCER, IS_BENIGN),
    "iris": (IRIS, SPECIES),
    "five classes": random_data(3000, 4, 5),
    "one feature": random_data(400, 1, 2),
    "constant column": (np.column_stack([CANCER[:, :3], np.ones(len(CANCER))]), IS_BENIGN),
}
