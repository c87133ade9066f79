"""Running a stage's SQL in DuckDB, with a workaround for a fault of its optimizer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import duckdb
from duckdb import _seam

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

_FAULTY_OPTIMIZER = "projection_pullup"
_FAULT = "Failed to bind column reference"
"""Error of one optimizer pass of DuckDB 2.0 for some nested joins. Without the pass, TPC-H 18 takes twice as long."""
_lock = threading.Lock()


def run_query(connection: DuckDBPyConnection, sql: str, batch_rows: int) -> pa.RecordBatchReader:
    """Stream the rows of a SELECT. If the optimizer fails, plan again without the faulty pass."""
    try:
        return _reader(connection, sql, batch_rows)
    except duckdb.InternalException as error:
        if _FAULT not in str(error):
            raise
    # The setting is for the whole database, so other queries planned at this moment lack the pass too.
    with _lock, connection.cursor() as other:
        ((before,),) = other.execute("SELECT current_setting('disabled_optimizers')").fetchall()
        other.execute(f"SET disabled_optimizers = '{','.join(filter(None, (before, _FAULTY_OPTIMIZER)))}'")
        try:
            return _reader(connection, sql, batch_rows)
        finally:
            other.execute(f"SET disabled_optimizers = '{before}'")


def _reader(connection: DuckDBPyConnection, sql: str, batch_rows: int) -> pa.RecordBatchReader:
    """Return a reader like `connection.sql(sql).to_arrow_reader(batch_rows)`, which parses and binds the text twice.

    That takes 0.1 ms for SELECT 1, and 0.1 s for 2,000 expressions. No public method does it once without holding all
    rows.
    """
    reader: pa.RecordBatchReader = _seam.submit(connection, sql, None, "stream", batch_rows).arrow_reader()
    return reader
