"""Installation of user functions' routines in a DuckDB database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.udf.create_function import create_function
from sharkpy.udf.parameter_count import with_parameters
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.udf.user.function import Column, FunctionUse, Routine

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_functions: dict[str, Callable[..., Column]] = {}
_lock = threading.Lock()


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
    function = _functions.setdefault(routine.name, _over_columns(routine))
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
        return routine.run([_whole(column) for column in columns], len(columns[0]))

    return with_parameters(call, len(routine.parameters))


def _whole(column: Any) -> Column:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
