"""Signatures of Python functions for DuckDB: a fixed number of parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def with_parameters(function: Function, count: int) -> Function:
    """Give `function`, which takes any number of columns, a signature with `count` parameters."""
    names = (f"column{index}" for index in range(count))
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function
