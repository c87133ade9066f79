"""Python aggregates: states are built from lists of a group's rows, merged, and finished.

DuckDB collects the arguments of a group's rows in a list, and `update` folds the list into a state, already in map
tasks. If the class has no `merge`, one task has all rows of a group, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cached_property import cached_property
from sharkpy.base.records import dataclass
from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import AggregateFunction, NullPolicy
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import returns, takes
from sharkpy.udf.user import vectors
from sharkpy.udf.user.function import Column, FunctionUse, Routine, Shipped, Types, make_key, routine_name
from sharkpy.udf.user.python_code import PythonCode, naming_errors, pickled, unpickled
from sharkpy.values.python_values import python_values
from sharkpy.values.types import BIGINT, INT, TIMESTAMP, ArrayType, DataType, StructType

_Bounds = Sequence[tuple[int, int]]
_Start = tuple[Any, int] | None
"""A state to resume, and the time of its last row in microseconds. None for a new state."""
_NO_TIME = "CAST(NULL AS TIMESTAMP)"
_FIRST = "TIMESTAMP '0001-01-01 00:00:00'"
_NEVER = -(1 << 62)
"""A time long before any other time, further than any timeout. It represents NULL."""


@dataclass(frozen=True)
class PythonAggregate(Shipped):
    """A class of init, update or update_batch, merge and finish. `is_pickled`: its states are of any Python type.

    Without a merge, its states can be resumed with later rows.
    """

    name: str
    code: PythonCode
    arguments: tuple[DataType, ...]
    result: DataType
    state: DataType
    is_pickled: bool = True
    takes_batches: bool = False
    nulls: NullPolicy = NullPolicy.PROPAGATE
    doc: str = ""
    merges: bool = True
    """False: the class has no merge, and takes the rows of a group in the order of the arguments."""
    timeout: int | None = None
    """Microseconds between the times of two rows (their first arguments) after which a new state begins."""

    @cached_property
    def key(self) -> str:
        parts = (*self.arguments, "to", self.result, self.state, self.nulls, self.is_pickled, self.timeout)
        return make_key(self.name, self.code.payload, *parts)

    @cached_property
    def row(self) -> AggregateFunction:
        return self._merging if self.merges else self._resuming

    @property
    def _merging(self) -> AggregateFunction:
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

    @property
    def _resuming(self) -> AggregateFunction:
        """States are numbered, and the highest number is the latest state. With a timeout, the latest time decides
        first, since numbers start over after a timeout.
        """
        num_parts = 2 if self.timeout is None else 3
        order = "{0}" if self.timeout is None else f"struct_pack(t := coalesce({{2}}, {_FIRST}), n := {{0}})"
        return AggregateFunction(
            self.key,
            takes(*self.arguments),
            returns(self.result),
            self._over_list("complete"),
            partial_types=lambda _types: (BIGINT, self.state, TIMESTAMP)[:num_parts],
            merges=("max({0})", f"struct_extract(arg_max(struct_pack(s := {{1}}), {order}), 's')", "max({2})")[
                :num_parts
            ],
            finish=f"{self._routine('finish')}({{1}})",
            resumes=(
                "CAST(coalesce(max({0}), 0) + CAST(count(*){over} > 0 AS BIGINT) AS BIGINT)",
                self._resumed,
                self._last,
            )[:num_parts],
            doc=self.doc,
            timeout=self.timeout,
        )

    @property
    def _before(self) -> StructType:
        """Type of a state to resume. It is NULL for a new one."""
        return StructType(("s", "t"), (self.state, TIMESTAMP))

    @cached_property
    def empty_value(self) -> object:
        """The value over no rows."""
        with naming_errors(self.name, self.code):
            instance = self.code.load()()
            value = instance.finish(instance.init())
        return python_values(vectors.column_of(self.name, self.code, [value], self.result))[0]

    def _routine(self, part: str) -> str:
        return routine_name(self.key, part)

    def _over_list(self, part: str) -> Callable[[Sequence[str], Types, DataType], str]:
        return lambda args, _types, _result: f"{self._routine(part)}({self._list(args)})"

    def _resumed(self, args: Sequence[str], _types: Types, _result: DataType) -> str:
        (number, state), rest = args[:2], args[2:]
        last, own = (_NO_TIME, rest) if self.timeout is None else (rest[0], rest[1:])
        before = f"CAST(any_value(struct_pack(s := {state}, t := {last})) AS {duckdb_type(self._before)})"
        known = f"CASE WHEN max({number}) IS NOT NULL THEN {before} END"
        return f"{self._routine('resume')}({known}, {self._list(own)})"

    def _last(self, args: Sequence[str], _types: Types, _result: DataType) -> str:
        """Return the time of the last row that the aggregate takes."""
        last, own = args[2], args[3:]
        time = own[0]
        if self.nulls is NullPolicy.PROPAGATE:
            time = f"CASE WHEN {' AND '.join(f'{arg} IS NOT NULL' for arg in own)} THEN {time} END"
        return f"greatest(max({last}), max({time}){OVER})"

    def _list(self, args: Sequence[str]) -> str:
        """Return SQL of the rows of a group."""
        values = ", ".join(f"a{index} := {arg}" for index, arg in enumerate(args))
        row = f"struct_pack({values})" if args else "0"
        rows = f"list({DISTINCT}{row}){OVER}"
        return rows if self.merges else f"list_sort({rows})"

    def routines(self, use: FunctionUse) -> Sequence[Routine]:  # noqa: ARG002
        names = tuple(f"a{index}" for index in range(len(self.arguments)))
        rows = ArrayType(StructType(names, self.arguments) if names else INT)
        common = (
            Routine(self._routine("complete"), (rows,), self.result, self._complete),
            Routine(self._routine("finish"), (self.state,), self.result, self._finish),
        )
        if not self.merges:
            return (*common, Routine(self._routine("resume"), (self._before, rows), self.state, self._resume))
        return (
            *common,
            Routine(self._routine("update"), (rows,), self.state, self._update),
            Routine(self._routine("merge"), (ArrayType(self.state),), self.state, self._merge),
        )

    def facts(self) -> Sequence[str]:
        state = "pickled states" if self.is_pickled else f"states of {self.state}"
        how = "all rows of a group at once" if self.takes_batches else "row by row"
        how += "" if self.merges else " in the order of its arguments"
        return (
            f"Signature: {self.name}({', '.join(map(str, self.arguments))}) returns {self.result}",
            f"Python aggregate, {how}, {state}",
            f"Defined in {self.code.place}",
        )

    def _complete(self, columns: Sequence[Column], _num_rows: int) -> Column:
        return self._finished(self._states(columns[0]))

    def _update(self, columns: Sequence[Column], _num_rows: int) -> Column:
        return self._stored(list(self._states(columns[0])))

    def _resume(self, columns: Sequence[Column], _num_rows: int) -> Column:
        before, lists = columns
        is_known = before.is_valid()
        known, times = (column.filter(is_known) for column in before.flatten())
        starts = iter(zip(self._loaded(known), _microseconds(times).tolist(), strict=True))
        return self._stored(list(self._states(lists, [next(starts) if one else None for one in is_known.to_pylist()])))

    def _merge(self, columns: Sequence[Column], _num_rows: int) -> Column:
        merged = []
        states, lists = self._loaded(_flattened(columns[0])), _ranges(columns[0])
        with naming_errors(self.name, self.code):
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
        with naming_errors(self.name, self.code):
            instance = self.code.load()()
            values = [instance.finish(state) for state in states]
        return vectors.column_of(self.name, self.code, values, self.result)

    def _states(self, lists: Column, starts: Sequence[_Start] | None = None) -> Iterator[Any]:
        """Yield a state for each list of rows, resumed from `starts`. Rows with NULLs are skipped unless the class asks
        for them.
        """
        rows = _flattened(lists)
        columns = rows.flatten() if self.arguments else []
        bounds: _Bounds = _ranges(lists)
        valid = vectors.valid_rows(columns, len(rows)) if self.nulls is NullPolicy.PROPAGATE else None
        if valid is not None:
            before = np.concatenate(([0], np.cumsum(valid)))
            bounds = [(int(before[start]), int(before[end])) for start, end in bounds]
            columns = [column.filter(pa.array(valid)) for column in columns]
        starts = [None] * len(bounds) if starts is None else starts
        if self.timeout is not None:
            bounds, starts = _behind_gaps(_microseconds(columns[0]), self.timeout, bounds, starts)
        fold = self._batches if self.takes_batches else self._rows
        with naming_errors(self.name, self.code):
            yield from fold(self.code.load()(), columns, bounds, starts)

    @staticmethod
    def _batches(instance: Any, columns: Sequence[Column], bounds: _Bounds, starts: Sequence[_Start]) -> Iterator[Any]:
        arrays = [vectors.numpy_values(column) for column in columns]
        for (start, end), known in zip(bounds, starts, strict=True):
            state = instance.init() if known is None else known[0]
            yield instance.update_batch(state, *(array[start:end] for array in arrays)) if end > start else state

    @staticmethod
    def _rows(instance: Any, columns: Sequence[Column], bounds: _Bounds, starts: Sequence[_Start]) -> Iterator[Any]:
        values = [python_values(column) for column in columns]
        for (start, end), known in zip(bounds, starts, strict=True):
            state = instance.init() if known is None else known[0]
            for row in zip(*(column[start:end] for column in values), strict=True) if values else [()] * (end - start):
                state = instance.update(state, *row)
            yield state

    def _stored(self, states: list[Any]) -> Column:
        if self.is_pickled:
            with naming_errors(self.name, self.code):
                return pa.array([pickled(state) for state in states], pa.binary())
        return vectors.column_of(self.name, self.code, states, self.state)

    def _loaded(self, column: Column) -> list[Any]:
        if self.is_pickled:
            return [unpickled(state) for state in column.to_pylist()]
        return python_values(column)


def _microseconds(times: Column) -> Any:
    """Return times as a NumPy array of integers."""
    return times.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(_NEVER).to_numpy(zero_copy_only=False)


def _behind_gaps(
    times: Any, timeout: int, bounds: _Bounds, starts: Sequence[_Start]
) -> tuple[_Bounds, Sequence[_Start]]:
    """Return the rows of each list after its last gap that exceeds the timeout, and their start states. Earlier rows
    are forgotten.
    """
    kept, begun = list[tuple[int, int]](), list[_Start]()
    for (start, end), known in zip(bounds, starts, strict=True):
        own = times[start:end]
        latest = np.maximum.accumulate(np.concatenate(([_NEVER if known is None else known[1]], own)))[:-1]
        gaps = np.flatnonzero((own - latest > timeout) & (own != _NEVER))
        kept.append((start + int(gaps[-1]) if len(gaps) else start, end))
        begun.append(None if len(gaps) else known)
    return kept, begun


def _flattened(lists: Column) -> Column:
    """Return the items of all lists in sequence. NULL lists are left out."""
    return lists.flatten()


def _ranges(lists: Column) -> list[tuple[int, int]]:
    """Return the start and end of each list's items in `_flattened`. A NULL list has none."""
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    return list(zip((ends - lengths).tolist(), ends.tolist(), strict=True))
