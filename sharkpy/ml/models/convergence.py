"""Warnings for an algorithm that ended before it converged."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_HEARD: ContextVar[Callable[[str], bool] | None] = ContextVar("convergence_heard", default=None)


class ConvergenceWarning(UserWarning):
    """Warning that more iterations would improve the fitted model."""


@contextlib.contextmanager
def warnings_to(hear: Callable[[str], bool]) -> Iterator[None]:
    """Pass warnings of this thread's fits inside to `hear`. If it returns False, the warning becomes a Python
    warning.
    """
    token = _HEARD.set(hear)
    try:
        yield
    finally:
        _HEARD.reset(token)


def warn_not_converged(model: object, fact: str, advice: str) -> None:
    warn(f"{type(model).__name__}: {fact}; {advice}", stacklevel=4)


def warn(text: str, stacklevel: int = 3) -> None:
    """Raise a ConvergenceWarning at the caller's caller, or `stacklevel` frames up."""
    hear = _HEARD.get()
    if hear is None or not hear(text):
        warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel)
