"""Data of the program as tables of its queries: registered under a name, or a variable of the caller of `ctx.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.base.errors import ParameterError
from sharkpy.ml.tables.given_data import given_rows

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.plan.arrow_data import GivenRows

_TABLES = ("DataFrame", "LazyFrame", "Table", "RecordBatch", "RecordBatchReader", "Dataset", "DuckDBPyRelation")
_LIBRARIES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")


def rows_of(session: EngineSession, data: object) -> GivenRows:
    """Return registered data as rows of a plan. Raise ParameterError or DataError if it cannot be read as a table."""
    if data is None or hasattr(data, "plan"):
        hint = "save_as_table makes a table of a TableRDD"
        raise ParameterError(f"{type(data).__name__} cannot be registered", hint=hint)
    return given_rows(session, data, None)


def rows_of_variable(session: EngineSession, value: object) -> GivenRows | None:
    """Return the value of a variable as rows of a plan, or None if it is not a table of the known libraries. Lists and
    arrays do not count: a misspelt name could find one.
    """
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    is_table = any(library in _LIBRARIES and kind in _TABLES for library, kind in kinds)
    return given_rows(session, value, None) if is_table else None
