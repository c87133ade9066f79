"""DB-API 2.0 (PEP 249) for an engine in this process.

from sharkpy import dbapi

with dbapi.connect("warehouse") as connection, connection.cursor() as cursor:
    cursor.execute("SELECT name FROM people WHERE age > ?", [30])
    print(cursor.fetchall())
"""

from sharkpy.dbapi.connection import Connection, connect
from sharkpy.dbapi.cursor import Cursor
from sharkpy.dbapi.exceptions import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - the name is PEP 249's
)
from sharkpy.dbapi.type_objects import (
    BINARY,
    DATETIME,
    NESTED,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

apilevel = "2.0"
threadsafety = 2
"""Threads may share the module and connections: a session runs statements of several threads at once, each with its own
Result. Only one thread at a time may use a Result, and so a cursor.
"""
paramstyle = "qmark"
"""`?` means nothing else in HiveQL, while `%` is an operator and `:` belongs to types. A mapping binds `:name`."""

__all__ = [
    "BINARY",
    "DATETIME",
    "NESTED",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
