"""Tables for rows that arrive after all their windows were closed: LATE ROWS TO table."""

from __future__ import annotations

from collections.abc import Mapping

from sharkpy.base.errors import TableNotFoundError
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import LateRows
from sharkpy.streaming.row_tables import check_fits, found_or_made
from sharkpy.streaming.targets import check_target

_ROLE = "table of late rows"


def late_row_table(wanted: LateRows | None, session: EngineSession) -> Table | None:
    """Return the table for late rows, or None if none is wanted. A missing table is created.

    Raise BindError 42809 if the table does not fit.
    """
    if wanted is None:
        return None
    found = found_or_made(wanted.database, wanted.name, wanted.schema, session)
    check_fits(found, "late rows", _ROLE, wanted.schema)
    return found


def known_late_rows(query: ContinuousQuery, tables: Mapping[str, Table]) -> Table | None:
    """Return the table for the late rows of a query, or None if it has none.

    `tables` are the existing tables of the query's definition, by id. Raise TableNotFoundError if the table was
    dropped.
    """
    if not query.late_rows:
        return None
    found = tables.get(query.late_rows)
    if found is None:
        raise TableNotFoundError("the table for late rows was dropped")
    check_target(found, _ROLE)
    return found
