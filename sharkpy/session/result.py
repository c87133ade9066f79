"""Result of one statement: a stream of Arrow batches that is read once, from start to end."""

from __future__ import annotations

import html
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from sharkpy.base.cleanup import finalize_at_once
from sharkpy.base.errors import ExecutionError
from sharkpy.base.thread_call import interruptible
from sharkpy.values.types import INTERVAL_DAY_TIME, Schema, arrow_schema, distinct_names

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from sharkpy.execution.stages.profile import QueryProfile

Row = tuple[Any, ...]
HTML_ROWS = 20


class Result:
    """Rows of a statement.

    1. Rows are computed while they are read: a statement's stages run when the first row is requested.
    2. Reading consumes rows: to_arrow and similar methods refuse a result that was read to its end. `show` and the
       notebook's display look ahead and consume nothing.
    3. Values are plain Python: Decimal, date, datetime without zone, timedelta, list, dict for MAP and STRUCT; an
       interval of months is text, `1-2`. In Arrow intervals are numbers of months or microseconds.
    4. `close` ends the statement at once; reading after that raises ExecutionError.
    5. Only one thread may use a result, except for `cancel`. Several threads may use the context that made it.
    """

    def __init__(
        self,
        schema: Schema,
        batches: Iterable[pa.RecordBatch] = (),
        *,
        profile: Callable[[], QueryProfile] | None = None,
        on_close: Callable[[], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
        is_text: bool = False,
        is_complete: Callable[[], bool] | None = None,
        rows_written: int | None = None,
    ) -> None:
        """`is_complete`: returns whether the batch read last is known to be the last one. A sequence of batches is
        complete.
        """
        self.schema = schema
        self.is_text = is_text
        """True if the rows are lines of text, such as a plan, and not a table."""
        self.rows_written = rows_written
        """Number of rows that an INSERT, CREATE TABLE or GENERATE has written, or that an UPDATE, DELETE or MERGE has
        changed; None for other statements.
        """
        self._source = iter(batches)
        self._ahead: deque[pa.RecordBatch] = deque()
        self._rows: Iterator[Row] | None = None
        """Unread rows of the batch that is read row by row."""
        self._profile = profile
        self._on_close = on_close
        self._on_cancel = on_cancel
        self._is_at_hand = isinstance(batches, Sequence)
        self._is_complete = is_complete
        self._is_closed = self._has_given = self._is_read = False
        close = getattr(self._source, "close", None)
        self._forget_end = finalize_at_once(self, close) if close else None

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    @property
    def profile(self) -> QueryProfile | None:
        """Profile of the query's run: `stages` in the order they ended (rows, bytes, tasks, seconds, malformed lines),
        `decisions`, `physical`, the plan that was run, and `seconds` in all. A decision has a `rule`, a `text`,
        `figures` (pairs of name and number) and `is_planned`. Rules of planning: placement, choose_buckets, plan_join,
        co_partitioned. Rules of run time: placement of a stage that differs from its plan, broadcast_small_side,
        reduce_side, learned_filter, spread_heavy_keys, pack_buckets, single_task.

        Complete after all rows were read. None for a command.
        """
        return self._profile() if self._profile else None

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_complete(self) -> bool:
        """True if all rows are computed, so that reading to the end does not wait. False if that is unknown."""
        return self._is_at_hand or (self._is_complete is not None and self._is_complete())

    def cancel(self) -> None:
        """Cancel the statement, from any thread: the reader of its rows gets CancelledError. Do nothing after the last
        row.
        """
        if self._on_cancel:
            self._on_cancel()

    def close(self) -> None:
        """End the statement and free its resources. Closing twice is allowed."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._forget_end:
            self._forget_end()
        self._ahead.clear()
        self._rows = None
        close_source = getattr(self._source, "close", None)
        if close_source:
            close_source()
        if self._on_close:
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the unread rows as Arrow batches with the result's names and logical types."""
        self._check_unread()
        while True:
            self._check_open()
            batch = self._ahead.popleft() if self._ahead else self._next_batch()
            if batch is None:
                self._is_read = self._has_given
                return
            self._has_given = True
            yield batch

    def __iter__(self) -> Iterator[Row]:
        rows: Iterator[Row] | None = self._unread_rows()
        while rows is not None:
            for row in rows:
                yield row
                self._check_open()
            rows = self._next_rows()

    def fetchone(self) -> Row | None:
        """Read the next row; return None after the last one."""
        rows: Iterator[Row] | None = self._unread_rows()
        while rows is not None:
            for row in rows:
                return row
            rows = self._next_rows()
        return None

    def fetchmany(self, size: int = 1000) -> list[Row]:
        """Read at most `size` next rows; return an empty list after the last one."""
        found: list[Row] = []
        rows: Iterator[Row] | None = self._unread_rows()
        while rows is not None:
            found += itertools.islice(rows, size - len(found))
            rows = self._next_rows() if len(found) < size else None
        return found

    def fetchall(self) -> list[Row]:
        """Read all remaining rows."""
        return self.fetchmany(sys.maxsize)

    def to_arrow(self) -> pa.Table:
        """Read all remaining rows as a table with the result's names and logical types."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches()), schema=arrow_schema(self.schema))

    def to_pandas(self) -> pandas.DataFrame:
        """Read all remaining rows as a data frame; DATE as datetime.date, DECIMAL as Decimal, intervals as in rows."""
        import pandas
        import pyarrow as pa

        from sharkpy.values.python_values import holds_interval, typed_values

        table = self.to_arrow()
        frame = table.to_pandas()
        for place, field in enumerate(self.schema):
            if field.dtype == INTERVAL_DAY_TIME:
                frame.isetitem(place, table.column(place).cast(pa.duration("us")).to_pandas())
            elif holds_interval(field.dtype):
                values = typed_values(table.column(place).combine_chunks(), field.dtype)
                frame.isetitem(place, pandas.Series(values, index=frame.index, dtype=object))
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Read all remaining rows as a Polars data frame; needs the package polars.

        Repeated names get numbers: `a`, `a_1`.
        """
        import polars

        table = self.to_arrow()
        return polars.DataFrame(table.rename_columns(distinct_names(table.column_names)))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a stream of the Arrow PyCapsule interface, which pyarrow.table, polars.DataFrame, DuckDB and pandas
        read.
        """
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(arrow_schema(self.schema), self.batches())
        return reader.__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]

    def show(self, num_rows: int = 20) -> None:
        """Print the next rows as a table, or a plan as its lines, without consuming them."""
        from sharkpy.session.output_formats import write_lines, write_table
        from sharkpy.values.visible_text import for_terminal

        if not self.columns:
            return
        batches, is_more = self._peek(sys.maxsize if self.is_text else num_rows)
        write = write_lines if self.is_text else write_table
        write(for_terminal(sys.stdout), self.schema, batches)
        if is_more:
            sys.stdout.write(f"only the first {num_rows} rows are shown\n")

    def _repr_html_(self) -> str:
        """Return the next rows as an HTML table for a notebook, or a line about a result without such rows."""
        from sharkpy.values.value_text import readable_texts

        if not self.columns or self._is_closed or self._is_read or self._rows is not None:
            return f"<code>{html.escape(repr(self))}</code>"
        if self.is_text:
            texts = (str(line) for batch in self._peek(sys.maxsize)[0] for line in batch.column(0).to_pylist())
            return f"<pre>{html.escape(chr(10).join(texts))}</pre>"
        batches, is_more = self._peek(HTML_ROWS)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        lines = [f"<table><thead><tr>{head}</tr></thead><tbody>"]
        for batch in batches:
            columns = zip(batch.columns, self.schema, strict=True)
            rows = zip(*(readable_texts(column, field.dtype) for column, field in columns), strict=True)
            lines += ["<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows]
        lines.append("</tbody></table>")
        if is_more:
            lines.append(f"<p>only the first {HTML_ROWS} rows are shown</p>")
        return "".join(lines)

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open"
        columns = ", ".join(f"{field.name} {field.dtype}" for field in self.schema) or "without columns"
        return f"<Result {columns} ({state})>"

    def _check_open(self) -> None:
        if self._is_closed:
            raise ExecutionError("this result is closed", hint="run the statement again", sqlstate="24000")

    def _check_unread(self) -> None:
        self._check_open()
        how = "one by one" if self._rows is not None else "to the end" if self._is_read else ""
        if how:
            hint = "a result can be read once: store the answer of to_arrow() or fetchall(), or run the statement again"
            raise ExecutionError(f"rows of this result were already read {how}", hint=hint, sqlstate="24000")

    def _next_batch(self) -> pa.RecordBatch | None:
        if self._is_at_hand:
            return self._made_batch()
        try:
            return interruptible(self._made_batch, self.cancel)
        except (KeyboardInterrupt, SystemExit):
            # The statement was cancelled, so it ends itself: another thread may still read its rows.
            self._is_closed = True
            raise

    def _made_batch(self) -> pa.RecordBatch | None:
        for batch in self._source:
            if batch.num_rows:
                return conform(batch, self.schema)
        return None

    def _unread_rows(self) -> Iterator[Row]:
        """Return the unread rows of the current batch, which all ways of reading single rows share."""
        self._check_open()
        if self._rows is None:
            self._rows = iter(())
        return self._rows

    def _next_rows(self) -> Iterator[Row] | None:
        """Make the rows of the next batch the unread ones and return them; None after the last batch."""
        from sharkpy.values.python_values import typed_values

        self._check_open()
        batch = self._ahead.popleft() if self._ahead else self._next_batch()
        if batch is None:
            return None
        types = [field.dtype for field in self.schema]
        self._rows = zip(*map(typed_values, batch.columns, types), strict=True)
        return self._rows

    def _peek(self, num_rows: int) -> tuple[list[pa.RecordBatch], bool]:
        """Return batches of at most `num_rows` next rows, and whether more rows follow. The rows remain unread."""
        self._check_unread()
        while sum(batch.num_rows for batch in self._ahead) <= num_rows:
            batch = self._next_batch()
            if batch is None:
                break
            self._ahead.append(batch)
        shown, left = [], num_rows
        for batch in self._ahead:
            shown.append(batch.slice(0, left))
            left -= shown[-1].num_rows
        return shown, sum(batch.num_rows for batch in self._ahead) > num_rows


def conform(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Return `batch` under the schema's names, with its columns decoded to the schema's Arrow types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from sharkpy.values.nested_arrow import cast_column

    target = arrow_schema(schema)
    columns = []
    for column, field in zip(batch.columns, target, strict=True):
        if pa.types.is_run_end_encoded(column.type):
            column = pc.call_function("run_end_decode", [column])
        columns.append(cast_column(column, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=target)
