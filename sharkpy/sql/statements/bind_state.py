"""Queries of continuous queries as what their state is made, folded and read by."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import Insert, KeptState, LateRows, MultiInsert, queries_of
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.incremental.check import division, division_to_give
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.incremental.given_queries import GivenQueries
from sharkpy.sql.queries.bind_from import scan
from sharkpy.sql.statements.bind_continuous_insert import epoch_inserts
from sharkpy.sql.statements.bind_insert import insertable
from sharkpy.sql.statements.command_binder import CommandBinder, find_insert
from sharkpy.values.types import Field, Schema


def state_folds(binder: CommandBinder, state: Table, *, is_first: bool) -> tuple[LogicalPlan, ...]:
    """Bind a continuous query, the whole text, as those that fold rows of its state, each for a file of its own;
    `is_first`: no rows are before them.
    """
    plans = divided_state(binder, state).folds(lambda: rows_of(binder, state), is_first=is_first)
    return tuple(insertable(binder, state, rows, None, None, state.schema) for rows in plans)


def state_watermark(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind a continuous query, the whole text, as one that gives the watermark of its state."""
    return divided_state(binder, state).watermark(lambda: rows_of(binder, state))


def state_progress(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind a continuous query, the whole text, as one that tells how far the times of its streams are."""
    return divided_state(binder, state).progress(lambda: rows_of(binder, state))


def divided_state(binder: CommandBinder, state: Table) -> DividedQuery:
    """Bind a continuous query, the whole text, and divide it; BindError 55000 where it has another state by now."""
    if state.gives:
        found: DividedQuery | None = given_queries(binder, state, queries_of_text(binder)[1]).state
    else:
        found = division(binder.query(), binder.context, state.emit, expires=state.expires)
    if found is None or found.schema.names != state.schema.names:
        raise binder.error("the query has another state than when it was defined", None, sqlstate="55000")
    return found


def given_queries(binder: CommandBinder, state: Table, queries: Sequence[LogicalPlan]) -> GivenQueries:
    """The queries of a continuous insert or sink, which were bound, with their state."""
    assert state.emit in (EmitMode.APPEND, EmitMode.UPDATE)  # others are refused
    return division_to_give(queries, binder.context, state.emit, expires=state.expires)


def queries_of_text(binder: CommandBinder) -> tuple[Sequence[Insert], Sequence[LogicalPlan]]:
    """Bind the INSERTs of a continuous insert, the whole text, or the query of a sink; the INSERTs, and all queries."""
    word = binder.reader.word()
    if word != "INSERT" and not (word in ("WITH", "FROM") and find_insert(binder.reader.rest) is not None):
        return (), (binder.query(),)
    command = epoch_inserts(binder)
    branches = command.inserts if isinstance(command, MultiInsert) else (command,)
    return [one for one in branches if isinstance(one, Insert)], queries_of(command)


def rows_of(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Scan of a state, without virtual columns that the query names."""
    return scan(dataclasses.replace(binder.context, text=""), state)


def kept_of(
    binder: CommandBinder, state: DividedQuery, emit: EmitMode | None, late_rows: tuple[str, str] | None
) -> KeptState:
    """What a new continuous query keeps; `late_rows`: the table for rows that come too late."""
    late = None if late_rows is None else LateRows(*late_rows, _late_rows(binder, state))
    added = state.delta(state.nothing)
    return KeptState(state.schema, added, state.shown_delta, state.labels, state.growth, emit, late, state.expires)


def _late_rows(binder: CommandBinder, state: DividedQuery) -> Schema:
    """Columns of the rows of a query that come too late."""
    found = state.late_rows(state.nothing)
    assert found is not None  # the clauses were checked
    names = [column.name for column in found.output]
    if len(set(names)) < len(names):
        message = "LATE ROWS TO a table, of rows with several columns of one name"
        raise binder.error(message, None, UnsupportedError, "name them in a subquery: FROM (SELECT … AS …)")
    return Schema(tuple(Field(one.name, one.dtype) for one in found.output))
