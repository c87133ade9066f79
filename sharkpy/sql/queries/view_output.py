"""Columns of a view among those of its query, which may have more by now."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.catalog.model import Table
from sharkpy.plan.expr import ColumnRef

_COLUMN = "view.query.out.col.{}"


def view_output(view: Table, output: Sequence[ColumnRef]) -> list[ColumnRef]:
    """Columns of the query in the order of the view's.

    Hive, and this engine, keep the columns that `*` stood for in the view's text: all columns are the view's. Spark
    keeps `*` itself, and notes the names of the columns.
    """
    properties = dict(view.properties)
    names = [properties.get(_COLUMN.format(index), "").lower() for index in range(len(view.schema))]
    by_name = {column.name: column for column in reversed(output)}
    return [by_name[name] for name in names] if by_name.keys() >= set(names) else list(output)
