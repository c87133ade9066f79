"""Tables of rows that come when all their windows are closed: LATE ROWS TO table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError, TableNotFoundError
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.commands.create_table import create_table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateTable, LateRows
from sharkpy.streaming.targets import check_target

if TYPE_CHECKING:
    from sharkpy.catalog.store import Catalog


def late_row_table(wanted: LateRows | None, session: EngineSession) -> Table | None:
    """Table for late rows, which is made if it is not there; None if there is to be none. BindError 42809 for a table
    that does not fit.
    """
    if wanted is None:
        return None
    catalog = session.catalog
    if catalog.find_table(wanted.database, wanted.name) is None:
        command = CreateTable(wanted.database, wanted.name, TableKind.MANAGED, wanted.schema, True)
        create_table(command, session, session.snapshot())
    found = catalog.table(wanted.database, wanted.name)
    if found.is_view or found.streaming_kind:
        kind = found.streaming_kind or "view"
        raise BindError(f"late rows cannot go to {found.qualified_name}, a {kind}", sqlstate="42809")
    check_target(found, "table of late rows")
    types, known = ({one.name: one.dtype for one in schema} for schema in (wanted.schema, found.schema))
    if types != known or found.is_partitioned or found.constraints:
        listed = ", ".join(f"{name} {str(dtype).upper()}" for name, dtype in types.items())
        hint = f"such a table has the columns {listed}, in any order, no partitions and no constraints"
        raise BindError(f"{found.qualified_name} does not fit late rows", hint=hint, sqlstate="42809")
    return found


def known_late_rows(query: ContinuousQuery, catalog: Catalog) -> Table | None:
    """Table to which the late rows of a query go, if there is one; TableNotFoundError if it was dropped."""
    if not query.late_rows:
        return None
    found = catalog.current_table(query.late_rows)
    if found is None:
        raise TableNotFoundError("the table for late rows was dropped")
    check_target(found, "table of late rows")
    return found
