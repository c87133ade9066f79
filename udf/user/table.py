"""Python table functions: any number of rows per input row, and more at the end of a task."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sharkpy.base.cached_property import cached_property
from sharkpy.base.records import dataclass
from sharkpy.udf.function import NullPolicy, TableFunction
from sharkpy.udf.signatures import takes
from sharkpy.udf.user import vectors
from sharkpy.udf.user.function import Column, FunctionUse, Routine, Shipped, UserFunction, make_key
from sharkpy.udf.user.python_code import PythonCode, naming_errors, wrong_result
from sharkpy.values.python_values import python_values
from sharkpy.values.types import DataType, StructType


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows that a table function made from a batch, by columns: `counts[i]` consecutive rows for row i."""

    counts: np.ndarray[Any, Any]
    columns: list[Column]


class TableCalls(Protocol):
    """A running table function in one task: `rows` for each batch, then `last_rows`."""

    def rows(self, columns: Sequence[Column], num_rows: int) -> TableRows: ...

    def last_rows(self) -> list[Column]: ...


class UserTable(UserFunction, Protocol):
    """A user function whose row is a TableFunction. `has_last_rows`: it may make rows at the end of a task. These
    depend on the distribution of rows over tasks.
    """

    @property
    def has_last_rows(self) -> bool: ...

    def calls(self, use: FunctionUse) -> TableCalls:
        """Return the function prepared for a task. The result of `use` is the struct of its columns."""


@dataclass(frozen=True)
class PythonTable(Shipped):
    """A generator function, or a class of process and close, whose rows have `columns`."""

    name: str
    code: PythonCode
    arguments: tuple[DataType, ...]
    columns: StructType
    nulls: NullPolicy = NullPolicy.CUSTOM
    repeats: bool = False
    doc: str = ""
    optional: int = 0
    """Number of last arguments that a call may omit, since they have defaults."""

    @cached_property
    def key(self) -> str:
        return make_key(self.name, self.code.payload, *self.arguments, "to", self.columns, self.nulls, self.repeats)

    @cached_property
    def row(self) -> TableFunction:
        fields = tuple(zip(self.columns.names, self.columns.types, strict=True))
        arguments = takes(*self.arguments, optional=self.optional, repeat=self.repeats)
        return TableFunction(self.key, arguments, lambda _types: fields, None, doc=self.doc)

    @cached_property
    def has_last_rows(self) -> bool:
        made = self.code.load()
        return inspect.isclass(made) and hasattr(made, "close")

    def routines(self, use: FunctionUse) -> Sequence[Routine]:  # noqa: ARG002
        """Return no routines: it runs between two queries of its stage."""
        return ()

    def facts(self) -> Sequence[str]:
        last = "..." if self.repeats else ""
        return (
            f"Signature: {self.name}({', '.join(map(str, self.arguments))}{last}) yields {self.columns}",
            "Python table function, row by row",
            f"Defined in {self.code.place}",
        )

    def calls(self, use: FunctionUse) -> TableCalls:  # noqa: ARG002
        return _PythonCalls(self)


class _PythonCalls:
    def __init__(self, function: PythonTable) -> None:
        self._function = function
        self._width = len(function.columns.names)
        with naming_errors(function.name, function.code):
            self._process: Any = function.code.load()
            self._instance: Any = None
            if inspect.isclass(self._process):
                made: Any = self._process
                self._instance = made()
                self._process = self._instance.process

    def rows(self, columns: Sequence[Column], num_rows: int) -> TableRows:
        rows = zip(*map(python_values, columns), strict=True) if columns else itertools.repeat((), num_rows)
        made: list[Any] = []
        ends = np.zeros(num_rows + 1, np.int64)
        skips = self._function.nulls is NullPolicy.PROPAGATE
        process = self._process
        with naming_errors(self._function.name, self._function.code):
            for index, row in enumerate(rows, 1):
                if not (skips and None in row):
                    made.extend(process(*row) or ())
                ends[index] = len(made)
        return TableRows(np.diff(ends), self._columns(made))

    def last_rows(self) -> list[Column]:
        close = getattr(self._instance, "close", None)
        made: list[Any] = []
        if close is not None:
            with naming_errors(self._function.name, self._function.code):
                made.extend(close() or ())
        return self._columns(made)

    def _columns(self, items: list[Any]) -> list[Column]:
        function = self._function
        columns = zip(*map(self._row, items), strict=True) if items else [()] * self._width
        return [
            vectors.column_of(function.name, function.code, values, dtype)
            for values, dtype in zip(columns, function.columns.types, strict=True)
        ]

    def _row(self, item: Any) -> tuple[Any, ...] | list[Any]:
        """Return a yielded row. With one column, a value that is not a tuple is the column's value."""
        is_row = isinstance(item, tuple) or (self._width > 1 and isinstance(item, list))
        row = item if is_row else (item,)
        if len(row) != self._width:
            fact = f"yielded {len(row)} values for {self._width} columns"
            raise wrong_result(self._function.name, self._function.code, fact)
        return row
