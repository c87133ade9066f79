"""Query over streams that calls functions of the program, converted from functions of rows or batches.

Functions of the engine take values or arrays. The query's text calls them by names that only the program knows.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sharkpy.base.errors import BindError, ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.execution.commands.user_functions import store_function
from sharkpy.execution.queries.plan_query import substituted
from sharkpy.ml.rdd.rows import Row, row_class
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind
from sharkpy.udf.user.declare import Declared, Options, result_columns, result_type
from sharkpy.udf.user.function import intern
from sharkpy.udf.user.make import user_function
from sharkpy.values.nested_arrow import cast_column, fields_by_name
from sharkpy.values.types import TIMESTAMP, ArrayType, DataType, Schema, StructType, to_arrow

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.plan.commands import Statement
    from sharkpy.udf.user.declare import Returns

_numbers = itertools.count(1)
_NAMES = re.compile(r"\bsharkpy_program_[0-9]+\b")
"""Names of functions of the program. No name is used twice."""
_SEPARATOR = "__function_"
"""Separator between the name of a table and the number of a function of its query."""


@dataclass(frozen=True, slots=True)
class ProgramQuery:
    """Text of a query, and the functions of the program that it calls by names known only to the program."""

    text: str
    functions: Mapping[str, Declared] = field(default_factory=dict)
    table: str = ""
    """Name of the table or stream that the query reads as a whole; empty for other queries."""

    @classmethod
    def of_table(cls, table: Table) -> Self:
        name = f"`{table.database}`.`{table.name}`"
        return cls(f"SELECT * FROM {name}", table=name)

    @property
    def relation(self) -> str:
        """The query as an item of FROM, without its alias."""
        return self.table or f"({self.text})"

    def bound(self, session: EngineSession) -> LogicalPlan:
        """Bind the query. Raise BindError 42601 if its text is another statement."""
        plan = self.bound_in("", session)
        if not isinstance(plan, LogicalPlan):
            raise BindError(f"{self.text} is not a query", sqlstate="42601")
        return plan

    def bound_in(self, begin: str, session: EngineSession) -> Statement:
        """Bind the statement that consists of `begin` and the query."""
        catalog = session.catalog.for_session()
        for name, function in self.functions.items():
            catalog.functions.add_temporary(name, intern(user_function(name, function)))
        return bind(substituted(session, begin + self.text), catalog, session.conf, session.current_database)

    def kept(self, database: str, table: str, session: EngineSession) -> str:
        """Return the text of the query for a table that outlives the program, after making its functions permanent.

        Their names begin with the table's name, and are the same in each run of the program.
        """
        kept = dict[str, str]()
        for number, name in enumerate(dict.fromkeys(_NAMES.findall(self.text)), 1):
            permanent = f"{table}{_SEPARATOR}{number}"
            function = intern(user_function(permanent, self.functions[name]))
            store_function(f"{database}.{permanent}", function, session, replace=True)
            kept[name] = f"`{database}`.`{permanent}`"
        return _NAMES.sub(lambda found: kept[found[0]], self.text)


def drop_stored_functions(database: str, table: str, catalog: Catalog) -> None:
    """Drop the functions that `ProgramQuery.kept` has made for a table."""
    for entry in catalog.functions.entries(database):
        if entry.name.startswith(f"{table}{_SEPARATOR}"):
            catalog.functions.drop(database, entry.name)


def named(function: Declared) -> tuple[str, dict[str, Declared]]:
    """Name a function for the texts of this program. Return the name, and the function by its name."""
    name = f"sharkpy_program_{next(_numbers)}"
    return name, {name: function}


RowFunction = Callable[[Row], Any]
_ANY_NUMBER = inspect.Signature([inspect.Parameter("values", inspect.Parameter.VAR_POSITIONAL)])


def predicate(f: RowFunction, schema: Schema) -> Declared:
    """Convert a condition on a row to a scalar function of the row's values."""
    new = _rows(schema)
    wrapped = _as_written(f, lambda *values: bool(f(new(values))))
    return Declared("scalar", wrapped, Options(_types(schema), "boolean", "row", "call", compiled=False))


def each_row(f: RowFunction, schema: Schema, returns: Returns) -> Declared:
    """Convert a function from a row to a row to a table function of the row's values."""
    new, columns = _rows(schema), columns_of(f, returns)

    def process(*values: Any) -> Iterator[Any]:
        yield _as_tuple(f(new(values)), columns.names)

    return _table_function(f, process, schema, columns)


def many_rows(f: RowFunction, schema: Schema, returns: Returns) -> Declared:
    """Convert a function from a row to any number of rows to a table function of the row's values."""
    new, columns = _rows(schema), columns_of(f, returns, of_many=True)

    def process(*values: Any) -> Iterator[Any]:
        return (_as_tuple(one, columns.names) for one in f(new(values)) or ())

    return _table_function(f, process, schema, columns)


def each_batch(f: Callable[[pa.RecordBatch], Any], schema: Schema, returns: Returns) -> Declared:
    """Convert a function from a batch to a batch of as many rows.

    The result is a function from arrays to an array of structs.
    """
    columns, names = columns_of(f, returns), list(schema.names)
    wanted = to_arrow(columns)

    def call(*arrays: Any) -> Any:
        given = pa.RecordBatch.from_arrays([_plain(array) for array in arrays], names=names)
        return _structs(f(given), wanted, given.num_rows)

    options = Options(_types(schema), columns, "arrow", "call")
    return Declared("scalar", _as_written(f, call), options)


def reduction(f: Callable[[Any, Any], Any], dtype: DataType) -> Declared:
    """Convert an associative function of two values to an aggregate. It leaves out NULLs, and its state is a value."""

    class Reduction:
        def init(self) -> Any:
            return None

        def update(self, state: Any, value: Any) -> Any:
            return value if state is None else f(state, value)

        def merge(self, state: Any, other: Any) -> Any:
            return other if state is None else state if other is None else f(state, other)

        def finish(self, state: Any) -> Any:
            return state

    return Declared("aggregate", _in_module_of(f, Reduction), Options((dtype,), dtype, "row", state=dtype))


def state_update(
    update: Callable[[Any, Row], Any],
    schema: Schema,
    initial: Any,
    finish: Callable[[Any], Any] | None,
    options: Options,
    *,
    is_by_clock: bool = False,
) -> Declared:
    """Convert a function from a state and a row to the next state to an aggregate that continues from its states.

    Without `finish` a state has the type of the result. `is_by_clock`: the first argument is a time and not part of the
    row.
    """
    new, num_before = _rows(schema), int(is_by_clock)

    class StateUpdate:
        def init(self) -> Any:
            return copy.deepcopy(initial)

        def update(self, state: Any, *values: Any) -> Any:
            return update(state, new(values[num_before:]))

        def finish(self, state: Any) -> Any:
            return state if finish is None else finish(state)

    state = options.state
    if state is None and finish is None and not isinstance(options.returns, Mapping):
        state = options.returns
    types = (TIMESTAMP, *_types(schema)) if is_by_clock else _types(schema)
    told = dataclasses.replace(options, arguments=types, state=state)
    return Declared("aggregate", _in_module_of(update, StateUpdate), told)


def columns_of(f: Callable[..., Any], returns: Returns, *, of_many: bool = False) -> StructType:
    """Return the columns of a function's result, which is one row or `of_many`.

    They are declared by `returns`, or by the function itself.
    """
    name = getattr(f, "__name__", "function")
    if returns is None and not inspect.isgeneratorfunction(f):
        dtype = result_type(name, f, Options(), f)
        returns = dtype.element if of_many and isinstance(dtype, ArrayType) else dtype
    return result_columns(name, f, Options(None, returns), f)


def _table_function(f: RowFunction, process: Callable[..., Any], schema: Schema, columns: StructType) -> Declared:
    return Declared("table", _as_written(f, process), Options(_types(schema), columns, "row", "call"))


def _types(schema: Schema) -> tuple[DataType, ...]:
    return tuple(field.dtype for field in schema)


def _rows(schema: Schema) -> Callable[[tuple[Any, ...]], Row]:
    return functools.partial(tuple.__new__, row_class(schema))


def _as_written(f: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """Make a wrapper look like the user's function: it is shipped with that function, and errors name its place."""
    functools.update_wrapper(made, f)
    made.__signature__ = _ANY_NUMBER  # type: ignore[attr-defined]
    return made


def _in_module_of(f: Callable[..., Any], made: type) -> type:
    made.__module__ = getattr(f, "__module__", made.__module__)
    made.__doc__ = inspect.getdoc(f)
    return made


def _as_tuple(row: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Convert a row to a tuple. For one column, an object other than a tuple or dict is the column's value."""
    if isinstance(row, Mapping):
        if unknown := [name for name in row if name.lower() not in names]:
            raise ExecutionError(f"the row has {', '.join(unknown)}, which it is not said to return", sqlstate="39000")
        known = {name.lower(): value for name, value in row.items()}
        return tuple(known.get(name) for name in names)
    if isinstance(row, (tuple, list)) and (len(names) > 1 or isinstance(row, tuple)):
        return tuple(row)
    return (row,)


def _plain(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _structs(made: Any, wanted: Any, num_rows: int) -> Any:
    """Convert columns to an array of structs of the type.

    Raise ExecutionError for another number of rows, or for a missing column.
    """
    table = made if isinstance(made, (pa.RecordBatch, pa.Table)) else pa.table(made)
    if table.num_rows != num_rows:
        message = f"map_batches returned {table.num_rows} rows for {num_rows}"
        raise ExecutionError(message, hint="flat_map returns any number of rows", sqlstate="39000")
    fields = [wanted.field(place) for place in range(wanted.num_fields)]
    names = {name.lower(): name for name in reversed(table.schema.names)}
    if missing := [one.name for one in fields if one.name not in names]:
        raise ExecutionError(f"map_batches returned no column {', '.join(missing)}", sqlstate="39000")
    given = [_plain(table.column(names[one.name])) for one in fields]
    columns = [cast_column(fields_by_name(array, one.type), one.type) for array, one in zip(given, fields, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=fields)
