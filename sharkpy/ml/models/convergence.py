"""What a user is told where an algorithm ended before it arrived."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_HEARD: ContextVar[Callable[[str], bool] | None] = ContextVar("convergence_heard", default=None)


class ConvergenceWarning(UserWarning):
    """The model is fitted, and more iterations would make it better."""


@contextlib.contextmanager
def told_to(hear: Callable[[str], bool]) -> Iterator[None]:
    """Warnings of what this thread fits inside are given to `hear`; those for which it returns False are Python's."""
    token = _HEARD.set(hear)
    try:
        yield
    finally:
        _HEARD.reset(token)


def warn_not_converged(model: object, fact: str, advice: str) -> None:
    warn(f"{type(model).__name__}: {fact}; {advice}", stacklevel=4)


def warn(text: str, stacklevel: int = 3) -> None:
    """A ConvergenceWarning, of the caller's caller, or as far up as `stacklevel` says."""
    hear = _HEARD.get()
    if hear is None or not hear(text):
        warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel)
