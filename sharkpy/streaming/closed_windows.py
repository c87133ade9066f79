"""Streams of the windows that a continuous table's watermark closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.catalog.stream_kinds import HISTORY, has_spans
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.sql.binder import bind_state_watermark
from sharkpy.streaming.sources.closed_spans import add_span, end_of_span, spans_of

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession

_BEGIN = -62_135_596_800_000_000
"""The first moment of the year 1, in microseconds since 1970: no window ends before it."""


def tell_closed(query: ContinuousQuery, state: Table, session: EngineSession) -> None:
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
    """Return the watermark of a table of windows in microseconds since 1970, or `_BEGIN` if it has none yet."""
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
    add_span(stream, _BEGIN if has_history else until, until, catalog)


def _watermark(query: ContinuousQuery, state: Table, session: EngineSession) -> int:
    plan = bind_state_watermark(query.text, state, session.catalog, session.conf, query.database)
    with session.as_statement():
        found = [value for batch in query_rows(session, plan) for value in batch.column(0).cast(pa.int64()).to_pylist()]
    return max((one for one in found if one is not None), default=_BEGIN)
