"""FROM table FOR SYSTEM_VERSION | SYSTEM_TIME AS OF: an earlier version of a table.

It is one of the last epochs of a continuous table, or a snapshot of a lake table.
"""

from __future__ import annotations

import dataclasses

from sqlglot import exp

from sharkpy.base.errors import ParseError, SharkError, UnsupportedError
from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.continuous_query import EpochPoint
from sharkpy.catalog.lake_tables import LakePoint, is_lake
from sharkpy.catalog.model import Table
from sharkpy.sql.context import Context
from sharkpy.sql.moment import MOMENT_HINT, milliseconds


def at_version(context: Context, table: Table, version: exp.Expr | None) -> Table:
    """Return the table as of the version that a query names. Its files are read, not its blocks."""
    if version is None:
        return table
    if is_lake(table):
        return _at_snapshot(context, table, version)
    point = _point(context, version)
    if not table.continuous:
        message = f"an earlier version of {table.qualified_name}, which is neither a continuous nor a lake table"
        raise context.error(message, version, UnsupportedError)
    return at_point(table, point)


def at_point(table: Table, point: EpochPoint) -> Table:
    return dataclasses.replace(table.from_files(f"@{point}"), as_of=point)


def _at_snapshot(context: Context, table: Table, version: exp.Expr) -> Table:
    """Return a lake table at a snapshot. VERSION is a snapshot's number, or the name of one."""
    value = _literal(context, version)
    if version.name.upper() == "VERSION":
        number = whole_number(value.name)
        point = LakePoint(name=value.name) if number is None else LakePoint(number)
    else:
        point = LakePoint(moment_ms=_moment(context, version, value))
    try:
        return context.catalog.lake_at(table, point)
    except SharkError as error:
        raise context.error(error.message, version, type(error), error.hint, error.sqlstate) from None


def _literal(context: Context, version: exp.Expr) -> exp.Literal:
    value = version.expression
    if version.args.get("kind") != "AS OF" or not isinstance(value, exp.Literal):
        raise context.error("AS OF and a literal expected", version, ParseError)
    return value


def _point(context: Context, version: exp.Expr) -> EpochPoint:
    value = _literal(context, version)
    if version.name.upper() == "VERSION":
        number = whole_number(value.name)
        if number is None:
            raise context.error(f'"{value.name}" is not the number of an epoch', version, sqlstate="22023")
        return EpochPoint(number)
    return EpochPoint(moment_ms=_moment(context, version, value))


def _moment(context: Context, version: exp.Expr, value: exp.Literal) -> int:
    moment = milliseconds(value.name, context.conf)
    if moment is None or not value.is_string:
        raise context.error(f'"{value.name}" is not a timestamp', version, hint=MOMENT_HINT, sqlstate="22007")
    return moment
