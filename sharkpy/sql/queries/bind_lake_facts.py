"""Metadata tables of a lake table, such as FROM t.snapshots."""

from __future__ import annotations

from sqlglot import exp

from sharkpy.base.errors import SharkError
from sharkpy.catalog.lake_tables import FACTS, is_lake
from sharkpy.catalog.model import Table
from sharkpy.plan.arrow_data import ArrowRows, GivenRows
from sharkpy.plan.logical import Given, LogicalPlan
from sharkpy.sql.context import Context
from sharkpy.sql.queries.bind_version import at_version


def lake_facts(context: Context, node: exp.Expr) -> LogicalPlan | None:
    """Bind [database.]table.what, or return None if this is not a metadata table of a lake table.

    An ordinary table with that name takes precedence.
    """
    if not isinstance(node, exp.Table):
        return None
    *place, table_name, what = (part.name.lower() for part in node.parts)
    if what not in FACTS or len(place) > 1:
        return None
    database = place[0] if place else context.database
    if not place and context.catalog.find_entry(table_name, what) is not None:
        return None
    table = _lake_table(context, database, table_name)
    if table is None:
        return None
    table = at_version(context, table, node.args.get("version"))
    try:
        found = context.catalog.lake_facts(table, what)
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None
    columns = tuple(context.column(field.name, field.dtype) for field in found.schema)
    return Given(columns, GivenRows(f"{table.qualified_name}.{what}", found.schema, ArrowRows(), here=found))


def _lake_table(context: Context, database: str, name: str) -> Table | None:
    found = context.catalog.find_entry(database, name)
    return context.catalog.find_table(database, name) if found is not None and is_lake(found) else None
