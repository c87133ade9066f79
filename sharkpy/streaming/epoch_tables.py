"""Tables that the epochs of a continuous query write."""

from __future__ import annotations

from sharkpy.base.errors import TableNotFoundError
from sharkpy.sql.statements.bind_epoch import EpochTables
from sharkpy.streaming.epoch_view import EpochView
from sharkpy.streaming.late_rows import known_late_rows


def tables_of(view: EpochView) -> EpochTables:
    """Return the tables that a query's epochs write. Raise TableNotFoundError if one was dropped."""
    written, owner = view.table, view.owner
    if written is None or owner is None:
        raise TableNotFoundError(f"the table of the continuous query {view.query.query_id} was dropped")
    return EpochTables(written, owner, late_rows=known_late_rows(view.query, view.tables))
