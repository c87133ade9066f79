"""Users' functions that supersteps call. They are shipped by value, and each failure is an error that names the
function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sharkpy.base.errors import SharkError
from sharkpy.ml.rdd.task_errors import as_task_error
from sharkpy.udf.user.python_code import PythonCode, python_code


@dataclass(frozen=True, slots=True)
class UserCode:
    name: str
    code: PythonCode

    @classmethod
    def of(cls, function: Callable[..., Any]) -> UserCode:
        """Pickle a function. Raise BindError if it cannot be shipped to tasks."""
        name = getattr(function, "__name__", type(function).__name__)
        return cls(name, python_code(name, function))

    def load(self) -> Callable[..., Any]:
        loaded: Callable[..., Any] = self.code.load()
        return loaded


@contextlib.contextmanager
def running(place: str) -> Iterator[None]:
    """Turn exceptions of a user's function into an ExecutionError that names the function and `place`."""
    try:
        yield
    except SharkError:
        raise
    except Exception as error:
        raise as_task_error(error, place) from error
