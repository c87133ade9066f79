"""What a user is told where an algorithm ended before it arrived."""

from __future__ import annotations

import warnings


class ConvergenceWarning(UserWarning):
    """The model is fitted, and more iterations would make it better."""


def warn_not_converged(model: object, fact: str, advice: str) -> None:
    warnings.warn(f"{type(model).__name__}: {fact}; {advice}", ConvergenceWarning, stacklevel=3)
