"""Tables that the epochs of a continuous query write, as the catalog has them now."""

from __future__ import annotations

from sharkpy.base.errors import TableNotFoundError
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.store import Catalog
from sharkpy.sql.statements.bind_epoch import EpochTables
from sharkpy.streaming.late_rows import known_late_rows


def tables_of(query: ContinuousQuery, catalog: Catalog) -> EpochTables:
    """Tables of a query's epochs; TableNotFoundError if one was dropped."""
    written, owner = catalog.current_table(query.table_id), catalog.named(query)
    if written is None or owner is None:
        raise TableNotFoundError(f"the table of the continuous query {query.query_id} was dropped")
    return EpochTables(written, owner, late_rows=known_late_rows(query, catalog))
