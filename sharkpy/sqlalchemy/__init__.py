"""SQLAlchemy dialect for an engine in this process.

    create_engine("sharkpy:///path/to/warehouse?master=local[4]&database=sales&shark.block.rows=100000")

The path is the warehouse's and absolute, as in a file URL; `sharkpy://` is the default warehouse, and the parameter
`warehouse` takes any path. Other parameters: `master`, `database` (the current one of each connection, "default" if not
given), and settings. A server is reached with PyHive's `hive://host:port/database`.

Keys (primary, foreign, unique, NOT NULL) and indexes are declarations for SQLAlchemy's mappers: tables have none, and
nothing checks them.
"""

from sharkpy.sqlalchemy.dialect import SharkDialect
from sharkpy.sqlalchemy.types import ARRAY, MAP, STRING, STRUCT, TINYINT

__all__ = ["ARRAY", "MAP", "STRING", "STRUCT", "TINYINT", "SharkDialect"]
