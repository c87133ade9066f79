"""RESTORE, VACUUM, UNDROP, and the words that name an earlier version in statements."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.plan.commands import Command, RestoreTable, UndropDatabase, UndropTable, VacuumTable
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.refused_statements import OLD_FILES
from sharkpy.sql.statements.stream_clauses import read_moment

_VERSION_WORDS = ("VERSION", "SYSTEM_VERSION")
_TIME_WORDS = ("TIMESTAMP", "SYSTEM_TIME")
VERSION_WORDS = ("FOR", *_VERSION_WORDS, *_TIME_WORDS)
"""Words that begin a version."""
_HOUR_SECONDS = 3600.0


def bind_restore(binder: CommandBinder) -> RestoreTable:
    """Bind RESTORE [TABLE] name TO VERSION AS OF n | TIMESTAMP AS OF 'moment'."""
    reader = binder.reader
    reader.expect("RESTORE")
    reader.match("TABLE")
    table = _versioned(binder, "RESTORE")
    reader.expect("TO")
    return RestoreTable(table, version_clause(binder))


def bind_vacuum(binder: CommandBinder) -> VacuumTable:
    """Bind VACUUM [TABLE] name [RETAIN n HOURS] [DRY RUN]."""
    reader = binder.reader
    reader.expect("VACUUM")
    reader.match("TABLE")
    table = _versioned(binder, "VACUUM")
    seconds = None
    if reader.match("RETAIN"):
        seconds = reader.whole_number("a number of hours") * _HOUR_SECONDS
        reader.expect_any("HOURS", "HOUR")
    is_dry = reader.match("DRY", "RUN")
    return VacuumTable(table, seconds, is_dry)


def bind_undrop(binder: CommandBinder) -> Command:
    """Bind UNDROP TABLE [database.]name | DATABASE name."""
    reader = binder.reader
    reader.expect("UNDROP")
    if reader.expect_any("TABLE", "DATABASE", "SCHEMA") == "TABLE":
        return UndropTable(*binder.new_name())
    return UndropDatabase(reader.name("a database name"))


def version_clause(binder: CommandBinder) -> VersionPoint:
    """Read VERSION AS OF n or TIMESTAMP AS OF 'moment', also by the words of Hive: FOR SYSTEM_VERSION, SYSTEM_TIME."""
    reader = binder.reader
    reader.match("FOR")
    word = reader.expect_any(*_VERSION_WORDS, *_TIME_WORDS)
    reader.expect("AS")
    reader.expect("OF")
    if word in _VERSION_WORDS:
        return VersionPoint(reader.whole_number("the number of a version"))
    return VersionPoint(moment_ms=read_moment(binder))


def _versioned(binder: CommandBinder, action: str) -> Table:
    """Read a table whose rows statements may change, and whose files the engine owns."""
    token = binder.reader.current
    table = binder.written_table(action)
    if is_lake(table):
        hint = OLD_FILES if action == "VACUUM" else None
        message = f"{action} of {table.qualified_name}, a table of {table.storage.name}, is not supported"
        raise binder.error(message, token, UnsupportedError, hint)
    return table
