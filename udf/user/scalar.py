"""Python scalar functions: over whole columns, or row by row; numba compiles functions of numbers and booleans."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cached_property import cached_property
from sharkpy.base.records import dataclass
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.signatures import returns, takes
from sharkpy.udf.user import vectors
from sharkpy.udf.user.function import Column, FunctionUse, Routine, Shipped, Types, make_key, routine_name
from sharkpy.udf.user.python_code import PythonCode, naming_errors
from sharkpy.values.python_values import python_values
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, DataType, to_arrow

_NUMBA_TYPES: dict[DataType, str] = {
    BOOLEAN: "boolean",
    TINYINT: "int8",
    SMALLINT: "int16",
    INT: "int32",
    BIGINT: "int64",
    FLOAT: "float32",
    DOUBLE: "float64",
}
_lock = threading.Lock()
CompiledFunction = Callable[..., Any]
"""A function of read-only, contiguous NumPy arrays, one per argument."""


def compile_note(function: Callable[..., Any], types: Sequence[DataType], *, by_row: bool) -> str:
    """Return why the function is not compiled, or an empty text if it is."""
    if unknown := [str(dtype) for dtype in types if dtype not in _NUMBA_TYPES]:
        return f"numba takes no {unknown[0]} here"
    if not types:
        return "it has no arguments"
    try:
        (compile_rows if by_row else compile_columns)(function, tuple(types))
    except Exception as error:  # noqa: BLE001 - numba raises what its phases meet
        return _numba_reason(error)
    return ""


@cache
def compile_rows(function: Callable[..., Any], types: tuple[DataType, ...]) -> CompiledFunction:
    """Compile a function of single values to a function of arrays. It raises the same errors as Python."""
    import numba

    with _lock:
        core = numba.njit(function)
        core.compile(tuple(getattr(numba.types, _NUMBA_TYPES[dtype]) for dtype in types))
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
        loop.compile((numba.types.Array(result, 1, "C"), *_array_types(types)))
        dtype = np.dtype("bool") if isinstance(result, numba.types.Boolean) else np.dtype(str(result))

    def run(*columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        out = np.empty(len(columns[0]), dtype)
        loop(out, *map(_readonly, columns))
        return out

    return run


@cache
def compile_columns(function: Callable[..., Any], types: tuple[DataType, ...]) -> CompiledFunction:
    """Compile a function of arrays. numba fuses its loops, so temporary arrays disappear."""
    import numba

    with _lock:
        dispatcher = numba.njit(error_model="numpy")(function)
        dispatcher.compile(_array_types(types))

    def run(*columns: np.ndarray[Any, Any]) -> Any:
        return dispatcher(*map(_readonly, columns))

    return run


def _array_types(types: Sequence[DataType]) -> tuple[Any, ...]:
    from numba import types as known

    return tuple(known.Array(getattr(known, _NUMBA_TYPES[dtype]), 1, "C", readonly=True) for dtype in types)


def _readonly(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view


def _numba_reason(error: Exception) -> str:
    """Return the first meaningful line of numba's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Failed in", "During:", "File ", "-"))]
    return (told or lines or [type(error).__name__])[0]


FORMS = ("numpy", "arrow", "row")
"""Forms of a function's arguments: NumPy arrays, Arrow arrays, or the values of one row."""
DUMMY = "0"
"""The argument that DuckDB passes to a function without arguments. It carries the number of rows."""


@dataclass(frozen=True)
class PythonScalar(Shipped):
    """A Python function of columns or rows. `repeats`: the last argument may be repeated."""

    name: str
    code: PythonCode
    arguments: tuple[DataType, ...]
    result: DataType
    form: str = "numpy"
    nulls: NullPolicy = NullPolicy.PROPAGATE
    is_deterministic: bool = True
    is_compiled: bool = False
    repeats: bool = False
    doc: str = ""
    note: str = ""
    """The reason why it is not compiled."""

    @cached_property
    def key(self) -> str:
        flags = (self.form, self.nulls, self.is_deterministic, self.is_compiled, self.repeats)
        return make_key(self.name, self.code.payload, *self.arguments, "to", self.result, *flags)

    @cached_property
    def row(self) -> ScalarFunction:
        return ScalarFunction(
            self.key,
            takes(*self.arguments, repeat=self.repeats),
            returns(self.result),
            self._lowered,
            self.nulls,
            self.is_deterministic,
            doc=self.doc,
        )

    def _lowered(self, args: Sequence[str], types: Types, _result: DataType) -> str:
        return f"{routine_name(self.key, 'call', types)}({', '.join(args) or DUMMY})"

    def routines(self, use: FunctionUse) -> Sequence[Routine]:
        name = routine_name(self.key, "call", use.types)
        run = self._run if use.types else _without_dummy(self._run)
        return (Routine(name, use.types or (INT,), use.result, run, self.is_deterministic),)

    def facts(self) -> Sequence[str]:
        how = "row by row" if self.form == "row" else f"over {'NumPy' if self.form == 'numpy' else 'Arrow'} arrays"
        mode = "compiled by numba" if self.is_compiled else "interpreted" + (f": {self.note}" if self.note else "")
        last = "..." if self.repeats else ""
        return (
            f"Signature: {self.name}({', '.join(map(str, self.arguments))}{last}) returns {self.result}",
            f"Python, {how}, {mode}",
            f"Defined in {self.code.place}",
        )

    def _run(self, columns: Sequence[Column], num_rows: int) -> Column:
        valid = vectors.valid_rows(columns, num_rows) if self.nulls is NullPolicy.PROPAGATE else None
        if valid is None:
            return self._values(columns, num_rows)
        if not valid.any():
            return pa.array([None] * num_rows, to_arrow(self.result))
        kept = pa.array(valid)
        return vectors.fill_invalid_rows(
            self._values([column.filter(kept) for column in columns], int(valid.sum())), valid
        )

    def _values(self, columns: Sequence[Column], num_rows: int) -> Column:
        with naming_errors(self.name, self.code):
            if self.is_compiled and not any(column.null_count for column in columns):
                made = _compiled(self.code, _declared(self, len(columns)), self.form)(
                    *map(vectors.numpy_values, columns)
                )
            elif self.form == "row":
                made = self._by_row(columns, num_rows)
            else:
                function = self.code.load()
                made = function(*(columns if self.form == "arrow" else map(vectors.numpy_values, columns)))
        if self.form == "row":
            return vectors.column_of(self.name, self.code, made, self.result)
        return vectors.result_column(self.name, self.code, made, num_rows, self.result)

    def _by_row(self, columns: Sequence[Column], num_rows: int) -> list[Any]:
        function = self.code.load()
        if not columns:
            return [function() for _ in range(num_rows)]
        return [function(*row) for row in zip(*map(python_values, columns), strict=True)]


def _declared(function: PythonScalar, count: int) -> tuple[DataType, ...]:
    return function.arguments + function.arguments[-1:] * (count - len(function.arguments))


@lru_cache(256)
def _compiled(code: PythonCode, types: tuple[DataType, ...], form: str) -> Callable[..., Any]:
    return (compile_rows if form == "row" else compile_columns)(code.load(), types)


def _without_dummy(run: Callable[[Sequence[Column], int], Column]) -> Callable[[Sequence[Column], int], Column]:
    return lambda _columns, num_rows: run((), num_rows)
