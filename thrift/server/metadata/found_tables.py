"""Tables and views that match a metadata call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sharkpy.base.errors import DatabaseNotFoundError
from sharkpy.catalog.model import Table
from sharkpy.thrift.metadata.patterns import name_test

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext


def found_tables(session: SharkContext, schema: str | None, table: str | None) -> Iterator[Table]:
    """Yield tables by database and name, including the session's temporary tables. Read the catalog once per database.

    Nothing is bound or planned: a view is listed as it was created, even if its query no longer works.
    """
    takes_schema, takes_table = name_test(schema), name_test(table)
    for database in session.catalog.database_names():
        if takes_schema(database):
            try:
                tables = session.catalog.tables(database)
            except DatabaseNotFoundError:
                continue  # dropped meanwhile
            yield from (one for one in tables if takes_table(one.name))
