"""Streams FROM TABLE of the windows that a continuous table's watermark closes.

Their items are spans. A span is a file with one row: the watermark before and after it has advanced. Windows that end
within a span do not change any more. A reader of the stream computes them from the table's state. So an item is the
same at each read, and no window is stored twice.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.base.errors import InternalError
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.stream_kinds import HISTORY, SPANS, has_spans
from sharkpy.catalog.stream_store import REWRITE, StreamFile
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.sources import staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sql.binder import bind_state_watermark
from sharkpy.streaming.sources.table_reader import TableReader

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery, Position
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot


class ClosedSpans(TableReader):
    """Reader of spans. The last span stays after all queries have read it, since the next one begins at its end."""

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        """Raise SourceError also if the state was replaced after the spans: it may lack some of their windows."""
        state = self._catalog.streams.feeding(self._stream.table_id)
        table = None if state is None else self._catalog.current_table(state)
        if table is not None:
            # This takes the current state: a later replacement of it is not seen.
            snapshot.scan_source(table)
        super().give(snapshot, start, end)
        self._check_rewritten(self._catalog.streams.files(self._stream.table_id, end[0], self.look()[0]))

    def release(self, end: Position) -> None:
        spans = spans_of(self._stream, self._catalog)
        super().release((min(end[0], spans[-1].number),) if end and spans else end)


def spans_of(stream: Table, catalog: Catalog) -> list[StreamFile]:
    """Return the existing spans, in their order."""
    files = catalog.streams.files(stream.table_id, 0, catalog.streams.end(stream.table_id))
    return [one for one in files if not one.name.startswith(REWRITE)]


def end_of_span(span: StreamFile) -> int:
    """Return the watermark at the end of a span, in microseconds since 1970."""
    return int(Path(span.name).stem)


def add_span(stream: Table, after: int, until: int, catalog: Catalog) -> None:
    """Add a span as the last item of a stream, inside a transaction. Watermarks are in microseconds since 1970."""
    root = Path(local_path(stream.location or ""))
    name = f"{uuid.uuid4().hex}/{until}.parquet"
    path = root / name
    times = [pa.array([moment]).cast(pa.timestamp("us")) for moment in (after, until)]
    try:
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table(times, names=list(SPANS.names)), path)
        staged_files.sync_staged(str(path.parent))
        staged_files.sync_folders([str(path.parent), str(root)])
        found = path.stat()
    except OSError as error:
        raise io_error(error, str(path)) from None
    catalog.streams.add_files(stream.table_id, [StreamFile(0, name, found.st_size, found.st_mtime_ns)])


_BEFORE_ALL_WINDOWS = -62_135_596_800_000_000
"""The first moment of the year 1, in microseconds since 1970: no window ends before it."""


def add_closed_windows(query: ContinuousQuery, state: Table, session: EngineSession) -> None:
    """Add an item to each stream of a query's windows, if the watermark has advanced since the last item.

    `state` is the query's state table.
    """
    catalog = session.catalog
    fed = catalog.streams.fed_by(state.table_id)
    streams = [stream for stream in map(catalog.current_table, fed) if stream is not None and has_spans(stream)]
    if not streams:
        return
    until = _watermark(query, state, session)
    for stream in streams:
        with catalog.transaction():
            spans = spans_of(stream, catalog)
            if spans and (after := end_of_span(spans[-1])) < until:
                add_span(stream, after, until, catalog)


def watermark_of(table: Table, session: EngineSession) -> int:
    """Return the watermark of a table of windows in microseconds since 1970; without one, `_BEFORE_ALL_WINDOWS`."""
    catalog = session.catalog
    state = catalog.state_table(table)
    if state is None:
        raise InternalError(f"{table.qualified_name} has no state")
    return _watermark(catalog.streams.get(state.continuous), state, session)


def feed_windows(stream: Table, table: Table, until: int, catalog: Catalog) -> None:
    """Feed a new stream with the windows that a table's watermark closes, in the transaction that creates the stream.

    The stream begins at the watermark `until`, or with the option `history` at the first window.
    """
    state = catalog.state_table(table)
    if state is None:
        raise InternalError(f"{table.qualified_name} has no state")
    catalog.require(state)
    catalog.streams.add_feed(stream.table_id, state.table_id)
    has_history = stream.stream is not None and dict(stream.stream.options).get(HISTORY) == "true"
    add_span(stream, _BEFORE_ALL_WINDOWS if has_history else until, until, catalog)


def _watermark(query: ContinuousQuery, state: Table, session: EngineSession) -> int:
    plan = bind_state_watermark(query.text, state, session.catalog, session.conf, query.database)
    with session.as_statement():
        found = [value for batch in query_rows(session, plan) for value in batch.column(0).cast(pa.int64()).to_pylist()]
    return max((one for one in found if one is not None), default=_BEFORE_ALL_WINDOWS)
