"""The queries in any statement."""

from __future__ import annotations

from sharkpy.plan.commands.command import Command
from sharkpy.plan.commands.streams import CreateContinuousInsert
from sharkpy.plan.commands.writes import ChangeRows, GenerateTable, MultiInsert, StateInserts
from sharkpy.plan.logical import LogicalPlan, with_source

Statement = LogicalPlan | Command


def queries_of(command: Command) -> tuple[LogicalPlan, ...]:
    """Return the queries that a command runs, with their shared source filled in."""
    found: tuple[LogicalPlan | None, ...]
    match command:
        case MultiInsert(_, inserts):
            found = tuple(one.query for one in inserts)
        case StateInserts(added, _, kept, given):
            found = (added, *(one.query for one in (*kept, *given)))
        case ChangeRows():
            found = (command.changed, command.rows, command.added)
        case CreateContinuousInsert():
            return queries_of(command.inserts)
        case GenerateTable():
            found = command.queries
        case _:
            found = (getattr(command, "query", None),)
    source = getattr(command, "source", None)
    return tuple(with_source(query, source) for query in found if query is not None)
