"""Python aggregates: states made from lists of a group's rows, merged, and finished.

DuckDB gathers the arguments of a group's rows in a list; `update` folds the list into a state, in map tasks already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.udf.function import AggregateFunction, NullPolicy
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import returns, takes
from sharkpy.udf.user import vectors
from sharkpy.udf.user.function import Column, FunctionUse, Routine, Shipped, Types, make_key, routine_name
from sharkpy.udf.user.python_code import PythonCode, naming, pickled, unpickled
from sharkpy.values.types import INT, ArrayType, DataType, StructType


@dataclass(frozen=True)
class PythonAggregate(Shipped):
    """A class of init, update or update_batch, merge and finish; `is_pickled`: its states are of any Python type."""

    name: str
    code: PythonCode
    arguments: tuple[DataType, ...]
    result: DataType
    state: DataType
    is_pickled: bool = True
    takes_batches: bool = False
    nulls: NullPolicy = NullPolicy.PROPAGATE
    doc: str = ""

    @cached_property
    def key(self) -> str:
        return make_key(self.name, self.code.payload, *self.arguments, "to", self.result, self.state, self.nulls)

    @cached_property
    def row(self) -> AggregateFunction:
        return AggregateFunction(
            self.key,
            takes(*self.arguments),
            returns(self.result),
            self._over_list("complete"),
            partials=(self._over_list("update"),),
            partial_types=lambda _types: (self.state,),
            merges=(f"{self._routine('merge')}(list({{0}}))",),
            finish=f"{self._routine('finish')}({{0}})",
            doc=self.doc,
        )

    @cached_property
    def empty_value(self) -> object:
        """The value over no rows."""
        with naming(self.name, self.code):
            instance = self.code.load()()
            value = instance.finish(instance.init())
        return vectors.python_values(vectors.column_of(self.name, self.code, [value], self.result))[0]

    def _routine(self, part: str) -> str:
        return routine_name(self.key, part)

    def _over_list(self, part: str) -> Callable[[Sequence[str], Types, DataType], str]:
        def lowered(args: Sequence[str], _types: Types, _result: DataType) -> str:
            values = ", ".join(f"a{index} := {arg}" for index, arg in enumerate(args))
            row = f"struct_pack({values})" if args else "0"
            return f"{self._routine(part)}(list({DISTINCT}{row}){OVER})"

        return lowered

    def routines(self, use: FunctionUse) -> Sequence[Routine]:  # noqa: ARG002
        names = tuple(f"a{index}" for index in range(len(self.arguments)))
        rows = ArrayType(StructType(names, self.arguments) if names else INT)
        return (
            Routine(self._routine("complete"), (rows,), self.result, self._complete),
            Routine(self._routine("update"), (rows,), self.state, self._update),
            Routine(self._routine("merge"), (ArrayType(self.state),), self.state, self._merge),
            Routine(self._routine("finish"), (self.state,), self.result, self._finish),
        )

    def facts(self) -> Sequence[str]:
        state = "pickled states" if self.is_pickled else f"states of {self.state}"
        how = "all rows of a group at once" if self.takes_batches else "row by row"
        return (
            f"Signature: {self.name}({', '.join(map(str, self.arguments))}) returns {self.result}",
            f"Python aggregate, {how}, {state}",
            f"Defined in {self.code.place}",
        )

    def _complete(self, columns: Sequence[Column], _num_rows: int) -> Column:
        return self._finished(self._states(columns[0]))

    def _update(self, columns: Sequence[Column], _num_rows: int) -> Column:
        return self._stored(list(self._states(columns[0])))

    def _merge(self, columns: Sequence[Column], _num_rows: int) -> Column:
        merged = []
        states, lists = self._loaded(_flattened(columns[0])), _ranges(columns[0])
        with naming(self.name, self.code):
            instance = self.code.load()()
            for start, end in lists:
                total = instance.init()
                for index in range(start, end):
                    total = states[index] if index == start else instance.merge(total, states[index])
                merged.append(total)
        return self._stored(merged)

    def _finish(self, columns: Sequence[Column], _num_rows: int) -> Column:
        return self._finished(self._loaded(columns[0]))

    def _finished(self, states: Iterator[Any] | list[Any]) -> Column:
        with naming(self.name, self.code):
            instance = self.code.load()()
            values = [instance.finish(state) for state in states]
        return vectors.column_of(self.name, self.code, values, self.result)

    def _states(self, lists: Column) -> Iterator[Any]:
        """A state for each list of rows; rows with NULLs are left out where these are not asked for."""
        rows = _flattened(lists)
        columns = rows.flatten() if self.arguments else []
        bounds = _ranges(lists)
        valid = vectors.valid_rows(columns, len(rows)) if self.nulls is NullPolicy.PROPAGATE else None
        if valid is not None:
            before = np.concatenate(([0], np.cumsum(valid)))
            bounds = [(int(before[start]), int(before[end])) for start, end in bounds]
            columns = [column.filter(pa.array(valid)) for column in columns]
        fold = self._batches if self.takes_batches else self._rows
        with naming(self.name, self.code):
            yield from fold(self.code.load()(), columns, bounds)

    @staticmethod
    def _batches(instance: Any, columns: Sequence[Column], bounds: Sequence[tuple[int, int]]) -> Iterator[Any]:
        arrays = [vectors.numpy_values(column) for column in columns]
        for start, end in bounds:
            state = instance.init()
            yield instance.update_batch(state, *(array[start:end] for array in arrays)) if end > start else state

    @staticmethod
    def _rows(instance: Any, columns: Sequence[Column], bounds: Sequence[tuple[int, int]]) -> Iterator[Any]:
        values = [vectors.python_values(column) for column in columns]
        for start, end in bounds:
            state = instance.init()
            for row in zip(*(column[start:end] for column in values), strict=True) if values else [()] * (end - start):
                state = instance.update(state, *row)
            yield state

    def _stored(self, states: list[Any]) -> Column:
        if self.is_pickled:
            with naming(self.name, self.code):
                return pa.array([pickled(state) for state in states], pa.binary())
        return vectors.column_of(self.name, self.code, states, self.state)

    def _loaded(self, column: Column) -> list[Any]:
        if self.is_pickled:
            return [unpickled(state) for state in column.to_pylist()]
        return vectors.python_values(column)


def _flattened(lists: Column) -> Column:
    """The items of all lists, one after the other, NULL lists left out."""
    return lists.flatten()


def _ranges(lists: Column) -> list[tuple[int, int]]:
    """Start and end of each list's items in `_flattened`; a NULL list has none."""
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    return list(zip((ends - lengths).tolist(), ends.tolist(), strict=True))
