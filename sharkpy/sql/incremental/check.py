"""Check that a query over streams can be maintained epoch by epoch, and divide a query that needs state."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.incremental.division import divided
from sharkpy.sql.incremental.given_queries import GivenQueries
from sharkpy.sql.incremental.narrowed import narrowed
from sharkpy.sql.incremental.row_wise import RECOMPUTE, Streams, has_subqueries, refused, row_wise_fault
from sharkpy.sql.incremental.stream_join import apart
from sharkpy.sql.incremental.window_parts import with_parts

_OF_NEW = "create a new one: the state of this one lacks the earlier input"


class NoStreamError(BindError):
    """A continuous query reads no stream."""


def check_row_wise(query: LogicalPlan) -> None:
    """Check that a query needs only the rows of the epoch that it computes.

    Raise NoStreamError if the query reads no stream, or UnsupportedError, which names the operator, if it needs rows of
    other epochs.
    """
    if (fault := row_wise_fault(query, _streams_of(query))) is not None:
        fault.hint = fault.hint or _OF_NEW
        raise fault


def needs_state(queries: Sequence[LogicalPlan]) -> bool:
    """Return whether one of the queries is not row-wise. Raise NoStreamError if one reads no stream."""
    faults = [row_wise_fault(query, _streams_of(query)) for query in queries]
    return any(fault is not None for fault in faults)


def division(
    query: LogicalPlan, context: Context, emit: EmitMode | None, *, expires: bool = False
) -> DividedQuery | None:
    """Divide a query into state and result, or return None if it needs no state.

    The query was bound in `context`. `emit` is its output mode. With `expires`, rows of stream joins are kept only
    while watermarks allow a match, if the times of both sides are bounded. Raise NoStreamError if the query reads no
    stream, or UnsupportedError, which names the operator, if its result cannot be maintained in that mode.
    """
    streams = _streams_of(query)
    if row_wise_fault(query, streams) is None:
        return None
    found = narrowed(query, streams)
    if emit is EmitMode.APPEND:
        found = with_parts(found, context.column)
    return divided([found], streams, context, emit, expires=expires)


def division_to_give(
    queries: Sequence[LogicalPlan], context: Context, emit: EmitMode, *, expires: bool = False
) -> GivenQueries:
    """Divide the queries of a continuous insert or sink, of which at least one `needs_state`; see `division`.

    Epochs emit their rows in mode `emit`, APPEND or UPDATE. Emitted rows may be forgotten.
    """
    first, *others = queries
    # The queries share the FROM clause: each of them contains it.
    if others and any(map(has_subqueries, queries)):
        raise refused("a subquery with several INSERTs, one of which needs state,", "write separate INSERTs")
    found = [first, *(apart(query, context.column) for query in others)]
    found = [with_parts(narrowed(query, Streams()), context.column) for query in found]
    try:
        divided_queries = divided(found, Streams(), context, emit, expires=expires, gives=True)
    except UnsupportedError as error:
        if error.hint and RECOMPUTE in error.hint:
            error.hint = error.hint.replace(RECOMPUTE, f"CREATE CONTINUOUS TABLE … {RECOMPUTE}")
        raise
    return GivenQueries(divided_queries, tuple(found), emit)


def _streams_of(query: LogicalPlan) -> Streams:
    streams = Streams()
    if not streams.below(query):
        hint = "CREATE TABLE … AS SELECT, or INSERT"
        raise NoStreamError("the continuous query reads no stream", hint=hint, sqlstate="42809")
    return streams
