"""Policies for NULL and NaN in features and labels: `na` of estimators and of features."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import ParameterError, did_you_mean
from sharkpy.columnar.encodings.matrix import NotFinite

__all__ = ["POLICIES", "NotFinite", "check_policy"]

POLICIES = ("error", "drop", "mean")
"""Names of the policies. error: raise an error; drop: leave out rows without one of the features or the label; mean:
replace a missing feature by the mean of its column, and raise an error for a missing label.
"""


def check_policy(na: str, policies: Sequence[str] = POLICIES) -> None:
    """Raise ParameterError if `na` is not one of `policies`."""
    if na not in policies:
        known = "one of " + ", ".join(f'"{name}"' for name in policies)
        raise ParameterError(f'no policy "{na}" for missing values', hint=did_you_mean(na, policies) or known)
