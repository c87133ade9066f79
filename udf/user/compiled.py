"""Python functions compiled by numba, if possible: only over numbers and booleans."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, DataType

_TYPES: dict[DataType, str] = {
    BOOLEAN: "boolean",
    TINYINT: "int8",
    SMALLINT: "int16",
    INT: "int32",
    BIGINT: "int64",
    FLOAT: "float32",
    DOUBLE: "float64",
}
_lock = threading.Lock()
Columns = Callable[..., Any]
"""A function of read-only, contiguous NumPy arrays, one per argument."""


def compile_note(function: Callable[..., Any], types: Sequence[DataType], *, by_row: bool) -> str:
    """Return why the function is not compiled, or an empty text if it is."""
    if unknown := [str(dtype) for dtype in types if dtype not in _TYPES]:
        return f"numba takes no {unknown[0]} here"
    if not types:
        return "it has no arguments"
    try:
        (compile_rows if by_row else compile_columns)(function, tuple(types))
    except Exception as error:  # noqa: BLE001 - numba raises what its phases meet
        return _reason(error)
    return ""


@cache
def compile_rows(function: Callable[..., Any], types: tuple[DataType, ...]) -> Columns:
    """Compile a function of single values to a function of arrays. It raises the same errors as Python."""
    import numba

    with _lock:
        core = numba.njit(function)
        core.compile(tuple(getattr(numba.types, _TYPES[dtype]) for dtype in types))
        result = core.nopython_signatures[0].return_type
        if not isinstance(result, (numba.types.Integer, numba.types.Float, numba.types.Boolean)):
            raise TypeError(f"its result is {result}")
        names = [f"a{index}" for index in range(len(types))]
        items = ", ".join(f"{name}[i]" for name in names)
        # numba compiles loops over a fixed number of arrays.
        source = f"def loop(out, {', '.join(names)}):\n for i in range(out.shape[0]): out[i] = core({items})"
        scope: dict[str, Any] = {"core": core}
        exec(source, scope)
        loop = numba.njit(scope["loop"])
        loop.compile((numba.types.Array(result, 1, "C"), *_arrays(types)))
        dtype = np.dtype("bool") if isinstance(result, numba.types.Boolean) else np.dtype(str(result))

    def run(*columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        out = np.empty(len(columns[0]), dtype)
        loop(out, *map(_readonly, columns))
        return out

    return run


@cache
def compile_columns(function: Callable[..., Any], types: tuple[DataType, ...]) -> Columns:
    """Compile a function of arrays. numba fuses its loops, so temporary arrays disappear."""
    import numba

    with _lock:
        dispatcher = numba.njit(error_model="numpy")(function)
        dispatcher.compile(_arrays(types))

    def run(*columns: np.ndarray[Any, Any]) -> Any:
        return dispatcher(*map(_readonly, columns))

    return run


def _arrays(types: Sequence[DataType]) -> tuple[Any, ...]:
    from numba import types as known

    return tuple(known.Array(getattr(known, _TYPES[dtype]), 1, "C", readonly=True) for dtype in types)


def _readonly(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view


def _reason(error: Exception) -> str:
    """Return the first meaningful line of numba's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Failed in", "During:", "File ", "-"))]
    return (told or lines or [type(error).__name__])[0]
