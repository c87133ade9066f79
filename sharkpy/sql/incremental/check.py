"""Check that a query over streams can be kept up to date epoch by epoch, and divide one that needs state."""

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

_OF_NEW = "make a new one: the state of this one would lack what has come before"


class NoStreamError(BindError):
    """The query of a continuous query reads no stream."""


def check_row_wise(query: LogicalPlan) -> None:
    """NoStreamError if the query reads no stream; UnsupportedError, naming the operator, if it needs rows of other
    epochs than the one that it computes.
    """
    if (fault := row_wise_fault(query, _streams_of(query))) is not None:
        fault.hint = fault.hint or _OF_NEW
        raise fault


def needs_state(queries: Sequence[LogicalPlan]) -> bool:
    """True if one of the queries is not row-wise; NoStreamError if one reads no stream."""
    faults = [row_wise_fault(query, _streams_of(query)) for query in queries]
    return any(fault is not None for fault in faults)


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
    return divided([found], streams, context, emit, expires=expires)


def division_to_give(
    queries: Sequence[LogicalPlan], context: Context, emit: EmitMode, *, expires: bool = False
) -> GivenQueries:
    """As `division`, of the queries of a continuous insert or sink, of which one `needs_state`: epochs give `emit` of
    them to others, APPEND or UPDATE, and what was given may be forgotten.
    """
    first, *others = queries
    # A source that they share is in all of them.
    if others and any(map(has_subqueries, queries)):
        raise refused("a subquery beside several INSERTs of which one needs state", "INSERTs of their own have it")
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
