"""Cursors of PEP 249, over the engine's results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sharkpy.base.cancellation import Cancellation
from sharkpy.dbapi.batch_inserts import InsertRows, find_insert, staged_rows
from sharkpy.dbapi.exceptions import InterfaceError, ProgrammingError, translated
from sharkpy.session.result import Result, Row
from sharkpy.sql.parameters import BoundText, Parameters, bind_parameters
from sharkpy.values.types import CharType, DataType, DecimalType, Field, VarcharType

if TYPE_CHECKING:
    import pandas  # noqa: TID251 - only for the type of fetch_df
    import pyarrow as pa

    from sharkpy.dbapi.connection import Connection
    from sharkpy.execution.statement import ProgressListener
    from sharkpy.session.prepared_statement import PreparedStatement

ColumnDescription = tuple[str, DataType, None, int | None, int | None, int | None, bool]
"""Name, type, display size, internal size, precision, scale, whether NULLs are possible."""


class Cursor:
    """Cursor over the rows of one statement at a time.

    1. A query's rows are computed while they are fetched. `rowcount` is known for INSERT, UPDATE, DELETE, MERGE and
       CREATE TABLE AS; else it is -1.
    2. One thread at a time may use a cursor; only `cancel` may come from another thread.
    3. Rows are fetched either one by one or as Arrow batches, not both.
    4. The next `execute`, or `close`, ends the running statement.
    """

    lastrowid = None

    def __init__(self, connection: Connection) -> None:
        """Take the cursor's connection; called by `Connection.cursor`."""
        self.connection = connection
        self.arraysize = 1
        self.rowcount = -1
        self._result: Result | None = None
        self._prepared: PreparedStatement | None = None
        self._planning = Cancellation()
        """Cancellation of a statement that is not prepared yet."""
        self._text = BoundText("", "")
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    # Statements

    def execute(
        self, operation: str, parameters: Parameters | None = None, *, listener: ProgressListener | None = None
    ) -> Self:
        """Run one statement. `?` takes a sequence of parameters, `:name` a mapping.

        `listener` is called with the progress, from any thread; it must not block.
        """
        self._begin()
        self._execute(operation, parameters, listener)
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Parameters]) -> Self:
        """Run `operation` with each of the parameters. An INSERT … VALUES (…) writes all rows by one statement."""
        self._begin()
        sets = list(seq_of_parameters)
        with translated():
            insert = find_insert(operation) if len(sets) > 1 and isinstance(sets[0], Sequence) else None
        if insert is not None:
            self._insert(insert, sets)
            return self
        counts = []
        for parameters in sets:
            self._clear()
            self._execute(operation, parameters)
            if self.description is not None:
                self._begin()
                raise ProgrammingError("executemany of a statement that yields rows")
            counts.append(self.rowcount)
        self.rowcount = -1 if -1 in counts else sum(counts)
        return self

    def cancel(self) -> None:
        """Cancel the cursor's statement, from any thread. A thread that waits for it gets OperationalError, SQLSTATE
        57014.
        """
        self._planning.cancel()
        prepared = self._prepared
        if prepared is not None:
            prepared.cancel()

    def close(self) -> None:
        """Close the cursor. Idempotent."""
        self._is_closed = True
        self._end_result()

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Do nothing: parameters have the types of their values."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing: values are never cut."""

    # Rows

    @property
    def description(self) -> list[ColumnDescription] | None:
        """One entry per column; None for a statement without rows."""
        if self._result is None or not self._result.columns:
            return None
        return [_described(field) for field in self._result.schema]

    @property
    def result(self) -> Result:
        """Return the engine's result that rows are fetched from. Raise ProgrammingError if there is none."""
        self._check_open()
        if self._result is None or not self._result.columns:
            raise ProgrammingError("there are no rows: execute a query first")
        return self._result

    def fetchone(self) -> Row | None:
        result = self.result
        with translated(self._text.place):
            return result.fetchone()

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Fetch at most `size` rows (default: `arraysize`). Return an empty list after the last row."""
        result = self.result
        with translated(self._text.place):
            return result.fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        result = self.result
        with translated(self._text.place):
            return result.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    # Columns

    def fetch_arrow_table(self) -> pa.Table:
        """Fetch all remaining rows as one table."""
        result = self.result
        with translated(self._text.place):
            return result.to_arrow()

    def fetch_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Fetch the remaining rows batch by batch, as they are computed."""
        batches = self.result.batches()
        while True:
            with translated(self._text.place):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def fetch_df(self) -> pandas.DataFrame:
        """Fetch all remaining rows as a data frame; needs the package pandas."""
        result = self.result
        with translated(self._text.place):
            return result.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow PyCapsule stream of the remaining rows."""
        result = self.result
        with translated(self._text.place):
            return result.__arrow_c_stream__(requested_schema)

    # Steps

    def _begin(self) -> None:
        self._check_open()
        self._clear()
        self._planning = Cancellation()

    def _clear(self) -> None:
        self._end_result()
        self.rowcount = -1

    def _execute(
        self, operation: str, parameters: Parameters | None = None, listener: ProgressListener | None = None
    ) -> None:
        with translated(), self._planning.active():
            text = bind_parameters(operation, parameters)
        self._run(text, listener)
        if self._result is not None and self._result.rows_written is not None:
            self.rowcount = self._result.rows_written

    def _run(self, text: BoundText, listener: ProgressListener | None = None) -> None:
        session, planning = self.connection.session, self._planning
        self._text = text
        with translated(text.place):
            with planning.active():
                prepared = self._prepared = session.prepare(text.text, listener=listener)
            if planning.is_cancelled:
                prepared.cancel()
            self._result = prepared.run()

    def _insert(self, insert: InsertRows, sets: Sequence[Parameters]) -> None:
        with translated(), self._planning.active(), staged_rows(self.connection.session, insert, sets) as staged:
            self._run(staged or insert.text(sets))
        self.rowcount = len(sets)

    def _end_result(self) -> None:
        result, self._result, self._prepared = self._result, None, None
        if result is not None:
            result.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("this cursor is closed")
        _ = self.connection.session


def _described(field: Field) -> ColumnDescription:
    match field.dtype:
        case DecimalType(precision, scale):
            return (field.name, field.dtype, None, None, precision, scale, True)
        case VarcharType(length) | CharType(length):
            return (field.name, field.dtype, None, length, None, None, True)
    return (field.name, field.dtype, None, None, None, None, True)
