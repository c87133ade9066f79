"""Python functions over columns as functions of a DuckDB database, among them the routines of user functions."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.user.function import Column, FunctionUse, Routine

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Function = TypeVar("Function", bound=Callable[..., Any])
_routine_functions: dict[str, Callable[..., Column]] = {}
_lock = threading.Lock()


def create_function(
    connection: DuckDBPyConnection,
    name: str,
    function: Callable[..., Any],
    parameters: Sequence[Any],
    result: Any,
    *,
    is_deterministic: bool = True,
) -> None:
    """Register a function over Arrow columns, which is also called for NULLs. An existing one in the shared database is
    kept.

    DuckDB calls `function` by its address, so the caller must keep it for the life of the process.
    """
    import duckdb
    from duckdb.func import FunctionNullHandling, PythonUDFType

    try:
        connection.create_function(
            name,
            function,
            list(parameters),
            result,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
            side_effects=not is_deterministic,
        )
    except (duckdb.NotImplementedException, duckdb.CatalogException) as error:
        if "already" not in str(error):
            raise


def with_parameters(function: Function, count: int) -> Function:
    """Give `function`, which takes any number of columns, a signature with `count` parameters."""
    names = (f"column{index}" for index in range(count))
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def install_functions(connection: DuckDBPyConnection, uses: Iterable[FunctionUse]) -> None:
    """Create DuckDB functions for the routines. They belong to the database that cursors share; existing ones
    are kept.
    """
    for use in uses:
        for routine in use.function.routines(use):
            with _lock:
                _install(connection, routine)


def _install(connection: DuckDBPyConnection, routine: Routine) -> None:
    # One function object for the life of the process.
    function = _routine_functions.setdefault(routine.name, _over_columns(routine))
    parameters = [duckdb_type(dtype) for dtype in routine.parameters]
    create_function(
        connection,
        routine.name,
        function,
        parameters,
        duckdb_type(routine.result),
        is_deterministic=routine.is_deterministic,
    )


def _over_columns(routine: Routine) -> Callable[..., Column]:
    """Wrap `run` with the number of parameters that DuckDB should see."""

    def call(*columns: Column) -> Column:
        return routine.run([_one_chunk(column) for column in columns], len(columns[0]))

    return with_parameters(call, len(routine.parameters))


def _one_chunk(column: Any) -> Column:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
