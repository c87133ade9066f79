"""Policies for NULL and NaN in features and labels: `na` of estimators and of features."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import ParameterError, did_you_mean
from sharkpy.columnar.not_finite import NotFinite

__all__ = ["POLICIES", "NotFinite", "check_policy"]

POLICIES = ("error", "drop", "mean")
"""Names of the policies. error: refused; drop: rows without one of the features or the label are left out; mean: a
missing feature becomes the mean of its column, a missing label is refused.
"""


def check_policy(na: str, policies: Sequence[str] = POLICIES) -> None:
    """Raise ParameterError if `na` is none of `policies`."""
    if na not in policies:
        known = "one of " + ", ".join(f'"{name}"' for name in policies)
        raise ParameterError(f'no policy "{na}" for missing values', hint=did_you_mean(na, policies) or known)
