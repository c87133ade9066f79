"""FROM table FOR SYSTEM_VERSION | SYSTEM_TIME AS OF: a continuous table as it was at one of its last epochs."""

from __future__ import annotations

import dataclasses

from sqlglot import exp

from sharkpy.base.digits import whole_number
from sharkpy.base.errors import ParseError, UnsupportedError
from sharkpy.catalog.continuous_query import EpochPoint
from sharkpy.catalog.model import Table
from sharkpy.sql.context import Context
from sharkpy.sql.moment import MOMENT_HINT, milliseconds


def at_version(context: Context, table: Table, version: exp.Expr | None) -> Table:
    """Table whose rows are those of the version that a query names. Its files are read, not its blocks."""
    if version is None:
        return table
    point = _point(context, version)
    if not table.continuous:
        message = f"an earlier version of {table.qualified_name}, which is no continuous table"
        raise context.error(message, version, UnsupportedError)
    return at_point(table, point)


def at_point(table: Table, point: EpochPoint) -> Table:
    return dataclasses.replace(table.from_files(f"@{point}"), as_of=point)


def _point(context: Context, version: exp.Expr) -> EpochPoint:
    value = version.expression
    if version.args.get("kind") != "AS OF" or not isinstance(value, exp.Literal):
        raise context.error("AS OF and a literal expected", version, ParseError)
    if version.name.upper() == "VERSION":
        number = whole_number(value.name)
        if number is None:
            raise context.error(f'"{value.name}" is no number of an epoch', version, sqlstate="22023")
        return EpochPoint(number)
    moment = milliseconds(value.name, context.conf)
    if moment is None or not value.is_string:
        raise context.error(f'"{value.name}" is no moment', version, hint=MOMENT_HINT, sqlstate="22007")
    return EpochPoint(moment_ms=moment)
