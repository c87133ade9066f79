"""Tables by name, not by pattern; an empty name means all tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sharkpy.catalog.model import Table

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext


def named_tables(session: SharkContext, database: str | None, name: str | None) -> Iterator[Table]:
    catalog = session.catalog
    known = catalog.database_names()
    for one in [database.lower()] if database else known:
        if one not in known:
            continue
        if not name:
            yield from catalog.tables(one)
        elif (table := catalog.find_table(one, name)) is not None:
            yield table
