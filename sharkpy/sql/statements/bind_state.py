"""Continuous queries as the queries that create, fold and read their state."""

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
    """Bind a continuous query, the whole text, as queries that fold rows of its state, one for each file.

    `is_first`: the state has no rows before these.
    """
    plans = divided_state(binder, state).folds(lambda: rows_of(binder, state), is_first=is_first)
    return tuple(insertable(binder, state, rows, None, None, state.schema) for rows in plans)


def state_watermark(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind a continuous query, the whole text, as a query for the watermark of its state."""
    return divided_state(binder, state).watermark(lambda: rows_of(binder, state))


def state_progress(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind a continuous query, the whole text, as a query for the watermarks of its streams."""
    return divided_state(binder, state).progress(lambda: rows_of(binder, state))


def divided_state(binder: CommandBinder, state: Table) -> DividedQuery:
    """Bind and divide a continuous query, the whole text.

    Raise BindError 55000 if its state is now different from the stored one.
    """
    if state.gives:
        found: DividedQuery | None = given_queries(binder, state, queries_of_text(binder)[1]).state
    else:
        found = division(binder.query(), binder.context, state.emit, expires=state.expires)
    if found is None or found.schema.names != state.schema.names:
        raise binder.error("the query has another state than when it was defined", None, sqlstate="55000")
    return found


def given_queries(binder: CommandBinder, state: Table, queries: Sequence[LogicalPlan]) -> GivenQueries:
    """Return the bound queries of a continuous insert or sink, with their state."""
    assert state.emit in (EmitMode.APPEND, EmitMode.UPDATE)  # other modes are refused
    return division_to_give(queries, binder.context, state.emit, expires=state.expires)


def queries_of_text(binder: CommandBinder) -> tuple[Sequence[Insert], Sequence[LogicalPlan]]:
    """Bind the INSERTs of a continuous insert, or the query of a sink, from the whole text.

    Return the INSERTs, and all queries.
    """
    word = binder.reader.word()
    if word != "INSERT" and not (word in ("WITH", "FROM") and find_insert(binder.reader.rest) is not None):
        return (), (binder.query(),)
    command = epoch_inserts(binder)
    branches = command.inserts if isinstance(command, MultiInsert) else (command,)
    return [one for one in branches if isinstance(one, Insert)], queries_of(command)


def rows_of(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Scan a state, without virtual columns that the query names."""
    return scan(dataclasses.replace(binder.context, text=""), state)


def kept_of(
    binder: CommandBinder, state: DividedQuery, emit: EmitMode | None, late_rows: tuple[str, str] | None
) -> KeptState:
    """Return the state that a new continuous query stores. `late_rows` is the table for late rows."""
    late = None if late_rows is None else LateRows(*late_rows, _late_rows(binder, state))
    added = state.delta(state.nothing)
    return KeptState(state.schema, added, state.shown_delta, state.labels, state.growth, emit, late, state.expires)


def _late_rows(binder: CommandBinder, state: DividedQuery) -> Schema:
    """Columns of the late rows of a query."""
    found = state.late_rows(state.nothing)
    assert found is not None  # the clauses were checked
    names = [column.name for column in found.output]
    if len(set(names)) < len(names):
        message = "LATE ROWS TO a table, of rows with several columns of one name"
        raise binder.error(message, None, UnsupportedError, "name them in a subquery: FROM (SELECT … AS …)")
    return Schema(tuple(Field(one.name, one.dtype) for one in found.output))
