"""Views and continuous tables with state, in FROM."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.catalog.model import Table
from sharkpy.plan.expr import ColumnRef

_COLUMN = "view.query.out.col.{}"


def view_output(view: Table, output: Sequence[ColumnRef]) -> list[ColumnRef]:
    """Return the columns of the query in the order of the view's columns.

    Hive and this engine store the expanded `*` in the view's text, so all columns belong to the view. Spark stores `*`
    itself, and the names of the columns.
    """
    properties = dict(view.properties)
    names = [properties.get(_COLUMN.format(index), "").lower() for index in range(len(view.schema))]
    by_name = {column.name: column for column in reversed(output)}
    return [by_name[name] for name in names] if by_name.keys() >= set(names) else list(output)
