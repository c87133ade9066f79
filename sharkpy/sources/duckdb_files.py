"""DuckDB as a reader of files: queries that end with their statement, and Parquet files that Arrow cannot open.

Such files have maps with optional keys, as Presto writes them, or decimals with more digits than Arrow allows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import duckdb
import pyarrow as pa

from sharkpy.base.cancellation import current_cancellation
from sharkpy.udf.duckdb_sql import quote_identifier, quote_string

if TYPE_CHECKING:
    from sharkpy.sources.parquet_footer import ParquetFooter


@contextlib.contextmanager
def interrupted_with_statement(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupt the connection's queries in the body if this thread's statement is cancelled."""
    statement = current_cancellation()
    if statement is None:
        yield
        return
    forget = statement.on_cancel(connection.interrupt)
    try:
        yield
    finally:
        forget()


class DuckDBParquet:
    """The part of pyarrow.parquet.ParquetFile that readers use, by DuckDB. Failures are pyarrow.ArrowInvalid."""

    metadata = None

    def __init__(self, path: str, footer: ParquetFooter) -> None:
        # DuckDB replaces an invalid byte by a question mark.
        self._relation = f"read_parquet({quote_string(path)}, file_row_number = true, utf8_validation = 'replace')"
        self._rows = footer.rows
        self.schema_arrow: pa.Schema = self._read("* EXCLUDE (file_row_number)", "false").schema

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: each read has a connection of its own."""

    def read_row_group(self, group: int, columns: Sequence[str], **_: bool) -> pa.Table:
        return self.read_row_groups([group], columns)

    def read_row_groups(self, groups: Sequence[int], columns: Sequence[str], **_: bool) -> pa.Table:
        start = sum(self._rows[: groups[0]])
        end = start + sum(self._rows[group] for group in groups)
        wanted = ", ".join(map(quote_identifier, columns))
        return self._read(wanted, f"file_row_number >= {start} AND file_row_number < {end}")

    def _read(self, columns: str, condition: str) -> pa.Table:
        with _connection() as connection:
            try:
                sql = f"SELECT {columns} FROM {self._relation} WHERE {condition}"
                rows: pa.Table = connection.sql(sql).to_arrow_table()
            except duckdb.Error as error:
                raise pa.ArrowInvalid(str(error)) from None
        return rows


@contextmanager
def _connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with (
        duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False}) as connection,
        interrupted_with_statement(connection),
    ):
        yield connection
