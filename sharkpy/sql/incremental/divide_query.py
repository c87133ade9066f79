"""Check that a query over streams can be maintained epoch by epoch, and divide a query that needs state.

`divide_query` is for a continuous table, whose result is read from the state. `divide_emitting_queries` is for a
continuous insert or sink, whose epochs emit new or changed rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.logical import LogicalPlan, Union
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.aggregate_state import AggregateState
from sharkpy.sql.incremental.divided_query import DividedQuery, replace_parts
from sharkpy.sql.incremental.outer_join import OuterJoinState, SemiJoinState
from sharkpy.sql.incremental.resumed_state import ResumedState
from sharkpy.sql.incremental.row_state import RowState
from sharkpy.sql.incremental.row_wise import RECOMPUTE, Streams, has_subqueries, row_wise_error, unsupported
from sharkpy.sql.incremental.running_totals import with_resumable_functions
from sharkpy.sql.incremental.session_state import SessionState
from sharkpy.sql.incremental.state import EpochState, StoredState
from sharkpy.sql.incremental.state_builder import build_state
from sharkpy.sql.incremental.stream_join import narrow_joins, with_new_ids
from sharkpy.sql.incremental.window_state import PassedRows

_OF_NEW = "create a new one: the state of this one lacks the earlier input"


class NoStreamError(BindError):
    """A continuous query reads no stream."""


def check_row_wise(query: LogicalPlan) -> None:
    """Check that a query needs only the rows of the epoch that it computes.

    Raise NoStreamError if the query reads no stream, or UnsupportedError, which names the operator, if it needs rows of
    other epochs.
    """
    if (fault := row_wise_error(query, _streams_of(query))) is not None:
        fault.hint = fault.hint or _OF_NEW
        raise fault


def needs_state(queries: Sequence[LogicalPlan]) -> bool:
    """Return whether one of the queries is not row-wise. Raise NoStreamError if one reads no stream."""
    faults = [row_wise_error(query, _streams_of(query)) for query in queries]
    return any(fault is not None for fault in faults)


def divide_query(
    query: LogicalPlan, context: Context, emit: EmitMode | None, *, expires: bool = False
) -> DividedQuery | None:
    """Divide a query into state and result, or return None if it needs no state.

    The query was bound in `context`. `emit` is its output mode. With `expires`, rows of stream joins are kept only
    while watermarks allow a match, if the times of both sides are bounded. Raise NoStreamError if the query reads no
    stream, or UnsupportedError, which names the operator, if its result cannot be maintained in that mode.
    """
    streams = _streams_of(query)
    if row_wise_error(query, streams) is None:
        return None
    found = narrow_joins(query, streams)
    if emit is EmitMode.APPEND:
        found = with_resumable_functions(found, context.column)
    return build_state([found], streams, context, emit, expires=expires)


def divide_emitting_queries(
    queries: Sequence[LogicalPlan], context: Context, emit: EmitMode, *, expires: bool = False
) -> EmittingQueries:
    """Divide the queries of a continuous insert or sink, of which at least one `needs_state`; see `divide_query`.

    Epochs emit their rows in mode `emit`, APPEND or UPDATE. Emitted rows may be forgotten.
    """
    first, *others = queries
    # The queries share the FROM clause: each of them contains it.
    if others and any(map(has_subqueries, queries)):
        raise unsupported("a subquery with several INSERTs, one of which needs state,", "write separate INSERTs")
    found = [first, *(with_new_ids(query, context.column) for query in others)]
    found = [with_resumable_functions(narrow_joins(query, Streams()), context.column) for query in found]
    try:
        divided_queries = build_state(found, Streams(), context, emit, expires=expires, emits=True)
    except UnsupportedError as error:
        if error.hint and RECOMPUTE in error.hint:
            error.hint = error.hint.replace(RECOMPUTE, f"CREATE CONTINUOUS TABLE … {RECOMPUTE}")
        raise
    return EmittingQueries(divided_queries, tuple(found), emit)


def _streams_of(query: LogicalPlan) -> Streams:
    streams = Streams()
    if not streams.below(query):
        hint = "CREATE TABLE … AS SELECT, or INSERT"
        raise NoStreamError("the continuous query reads no stream", hint=hint, sqlstate="42809")
    return streams


_EMITTING_PARTS = (AggregateState, SessionState, ResumedState, RowState, PassedRows, SemiJoinState, OuterJoinState)


@dataclass(frozen=True, slots=True)
class EmittingQueries:
    """Queries that share a state.

    1. An epoch computes the rows of `state.delta`, and adds `state.kept_of` of them to the state.
    2. `emitted` returns the rows of each query that the epoch emits.
    """

    state: DividedQuery
    queries: tuple[LogicalPlan, ...]
    emit: EmitMode

    def emitted(self, scan: Callable[[], LogicalPlan], added: Callable[[], LogicalPlan]) -> list[LogicalPlan]:
        """Rows of each query that an epoch emits.

        Each call of `scan` returns a new scan of the state before the epoch. Each call of `added` returns a new scan of
        the epoch's rows, with the columns of `state.added_schema`.
        """
        parts, new_column, columns = self.state.parts, self.state.new_column, self.state.columns
        before = self.state.kept(scan)

        def added_to(place: int) -> LogicalPlan:
            return columns.rows_of(place, added())

        def rows(place: int) -> LogicalPlan:
            known = before.rows(place)
            both = tuple(new_column(column.name, column.dtype) for column in known.output)
            return Union((known, added_to(place)), both)

        def read(place: int) -> LogicalPlan:
            return parts[place][1].read(rows(place), after)

        after = StoredState(read, rows)
        epoch = EpochState(self.emit, before, after, added_to)

        def emitted(place: int) -> LogicalPlan:
            part = parts[place][1]
            assert isinstance(part, _EMITTING_PARTS)  # other parts replace no operator
            return part.emitted(place, epoch)

        return [replace_parts(query, self.state.places, emitted) for query in self.queries]
