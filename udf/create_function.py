"""Registration of Python functions over columns in a DuckDB database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from duckdb import DuckDBPyConnection


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
