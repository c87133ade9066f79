"""Check that a query over streams can be kept up to date epoch by epoch, and divide one that needs state."""

from __future__ import annotations

from sharkpy.base.errors import BindError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.incremental.division import divided
from sharkpy.sql.incremental.narrowed import narrowed
from sharkpy.sql.incremental.row_wise import Streams, row_wise_fault
from sharkpy.sql.incremental.window_parts import with_parts

_OF_TABLES = (
    "a continuous table keeps such a query up to date; with EMIT APPEND, CREATE STREAM … FROM TABLE brings its rows "
    "into sinks and inserts, each once"
)


class NoStreamError(BindError):
    """The query of a continuous query reads no stream."""


def check_row_wise(query: LogicalPlan) -> None:
    """NoStreamError if the query reads no stream; UnsupportedError, naming the operator, if it needs rows of other
    epochs than the one that it computes.
    """
    if (fault := row_wise_fault(query, _streams_of(query))) is not None:
        fault.hint = fault.hint or _OF_TABLES
        raise fault


def division(
    query: LogicalPlan, context: Context, emit: EmitMode | None, *, expires: bool = False
) -> DividedQuery | None:
    """Divide a query that was bound in a context; None for one that needs no state. NoStreamError if it reads no
    stream; UnsupportedError, naming the operator, if it cannot be kept up to date so that `emit` of it is given.
    `expires`: rows of joins of streams are kept only as long as watermarks say that others may match them, where the
    times of both are bounded.
    """
    streams = _streams_of(query)
    if row_wise_fault(query, streams) is None:
        return None
    found = narrowed(query, streams)
    if emit is EmitMode.APPEND:
        found = with_parts(found, context.column)
    return divided(found, streams, context, emit, expires=expires)


def _streams_of(query: LogicalPlan) -> Streams:
    streams = Streams()
    if not streams.below(query):
        hint = "CREATE TABLE … AS SELECT, or INSERT"
        raise NoStreamError("the continuous query reads no stream", hint=hint, sqlstate="42809")
    return streams
