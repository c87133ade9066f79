"""GetInfo: one fact of the server for each number that ODBC and JDBC drivers ask for.

The product's name decides how tools treat a connection with a Hive driver. Report and integration tools compare the
name with "Apache Hive" to choose their dialect, and take any other name for an unknown database. With Spark's name,
"Spark SQL", some of them send Spark's own syntax. This server speaks HiveQL, so the product is "Apache Hive", and its
version is the Hive release whose language the server speaks. Drivers split the version at dots and expect numbers
first. Therefore sharkpy's name and version follow Hive's version. The name of the server is "sharkpy".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.base.version import __version__
from sharkpy.thrift.bindings import ttypes

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

Fact = Callable[["SharkContext"], Any]

HIVE_VERSION = "3.1.3"
ODBC_KEYWORDS = 10006
"""CLI_ODBC_KEYWORDS of newer service definitions."""
_NAME_LENGTH = 128
_KEYWORDS = """
    ADD ADMIN AFTER ANALYZE ANTI ARCHIVE BINARY BUCKET BUCKETS CACHE CHANGE CLEAR CLUSTER CLUSTERED COLLECTION COLUMNS
    COMMENT COMPACT COMPUTE CONCATENATE CUBE DATA DATABASE DATABASES DATETIME DBPROPERTIES DEFINED DELIMITED DIRECTORY
    DISTRIBUTE ESCAPED EXCHANGE EXPLAIN EXPORT EXTENDED FIELDS FILE FILEFORMAT FIRST FOLLOWING FORMAT FORMATTED
    FUNCTIONS IF IMPORT INDEX INPATH INPUTFORMAT ITEMS JAR KEYS LATERAL LAZY LIMIT LINES LOAD LOCATION LOCK LOCKS
    MACRO MAP MAPJOIN MATERIALIZED MINUS MSCK NULLS OFFSET ORC OUTPUTFORMAT OVER OVERWRITE PARQUET PARTITION PARTITIONED
    PARTITIONS PRECEDING PURGE RANGE READS REBUILD REDUCE REGEXP RELOAD RENAME REPAIR REPLACE RESET RLIKE ROLE ROLES
    ROLLUP ROW SEMI SERDE SERDEPROPERTIES SETS SHOW SKEWED SORT SORTED STATISTICS STORED STREAMTABLE STRING STRUCT
    TABLES TABLESAMPLE TBLPROPERTIES TEMPORARY TERMINATED TEXTFILE TINYINT TOUCH TRANSFORM TRUNCATE UNARCHIVE
    UNBOUNDED UNCACHE UNIONTYPE UNLOCK UNSET URI USE UTC VIEWS WINDOW
"""
"""Words of HiveQL that SQL-92 does not have."""


def _text(value: str) -> Fact:
    return lambda session: ttypes.TGetInfoValue(stringValue=value)  # noqa: ARG005


def _short(value: int) -> Fact:
    return lambda session: ttypes.TGetInfoValue(smallIntValue=value)  # noqa: ARG005


def _mask(value: int) -> Fact:
    return lambda session: ttypes.TGetInfoValue(integerBitmask=value)  # noqa: ARG005


def _flag(value: int) -> Fact:
    return lambda session: ttypes.TGetInfoValue(integerFlag=value)  # noqa: ARG005


def _length(value: int) -> Fact:
    return lambda session: ttypes.TGetInfoValue(lenValue=value)  # noqa: ARG005


def _data_source(session: SharkContext) -> Any:
    return ttypes.TGetInfoValue(stringValue=session.current_database)


def _user(session: SharkContext) -> Any:
    return ttypes.TGetInfoValue(stringValue=user_name(session.conf))


_Type = ttypes.TGetInfoType
FACTS: dict[int, Fact] = {
    _Type.CLI_MAX_DRIVER_CONNECTIONS: _short(0),
    _Type.CLI_MAX_CONCURRENT_ACTIVITIES: _short(0),
    _Type.CLI_DATA_SOURCE_NAME: _data_source,
    _Type.CLI_FETCH_DIRECTION: _mask(0x01 | 0x02),  # next, first
    _Type.CLI_SERVER_NAME: _text("sharkpy"),
    _Type.CLI_SEARCH_PATTERN_ESCAPE: _text("\\"),
    _Type.CLI_DBMS_NAME: _text("Apache Hive"),
    _Type.CLI_DBMS_VER: _text(f"{HIVE_VERSION} (sharkpy {__version__})"),
    _Type.CLI_ACCESSIBLE_TABLES: _text("Y"),
    _Type.CLI_ACCESSIBLE_PROCEDURES: _text("N"),
    _Type.CLI_CURSOR_COMMIT_BEHAVIOR: _short(2),  # cursors stay open
    _Type.CLI_DATA_SOURCE_READ_ONLY: _text("N"),
    _Type.CLI_DEFAULT_TXN_ISOLATION: _mask(0),  # no transactions
    _Type.CLI_IDENTIFIER_CASE: _short(2),  # stored in lower case, not sensitive
    _Type.CLI_IDENTIFIER_QUOTE_CHAR: _text("`"),
    _Type.CLI_MAX_COLUMN_NAME_LEN: _short(_NAME_LENGTH),
    _Type.CLI_MAX_CURSOR_NAME_LEN: _short(0),
    _Type.CLI_MAX_SCHEMA_NAME_LEN: _short(_NAME_LENGTH),
    _Type.CLI_MAX_CATALOG_NAME_LEN: _short(0),
    _Type.CLI_MAX_TABLE_NAME_LEN: _short(_NAME_LENGTH),
    _Type.CLI_SCROLL_CONCURRENCY: _mask(0x01),  # read only
    _Type.CLI_TXN_CAPABLE: _short(0),
    _Type.CLI_USER_NAME: _user,
    _Type.CLI_TXN_ISOLATION_OPTION: _mask(0),
    _Type.CLI_INTEGRITY: _text("N"),
    _Type.CLI_GETDATA_EXTENSIONS: _mask(0x01 | 0x02),  # any column, in any order
    _Type.CLI_NULL_COLLATION: _short(1),  # NULL sorts low
    _Type.CLI_ALTER_TABLE: _mask(0x01),  # ADD COLUMN
    _Type.CLI_ORDER_BY_COLUMNS_IN_SELECT: _text("N"),
    _Type.CLI_SPECIAL_CHARACTERS: _text(""),
    _Type.CLI_MAX_COLUMNS_IN_GROUP_BY: _short(0),  # 0: no limit, here and below
    _Type.CLI_MAX_COLUMNS_IN_INDEX: _short(0),
    _Type.CLI_MAX_COLUMNS_IN_ORDER_BY: _short(0),
    _Type.CLI_MAX_COLUMNS_IN_SELECT: _short(0),
    _Type.CLI_MAX_COLUMNS_IN_TABLE: _short(0),
    _Type.CLI_MAX_INDEX_SIZE: _length(0),
    _Type.CLI_MAX_ROW_SIZE: _length(0),
    _Type.CLI_MAX_STATEMENT_LEN: _length(0),
    _Type.CLI_MAX_TABLES_IN_SELECT: _short(0),
    _Type.CLI_MAX_USER_NAME_LEN: _short(0),
    _Type.CLI_OJ_CAPABILITIES: _mask(0x7F),  # left, right, full, nested, any order, with inner, any comparison
    _Type.CLI_XOPEN_CLI_YEAR: _text("1995"),
    _Type.CLI_CURSOR_SENSITIVITY: _flag(1),  # insensitive
    _Type.CLI_DESCRIBE_PARAMETER: _text("N"),
    _Type.CLI_CATALOG_NAME: _text("N"),
    _Type.CLI_COLLATION_SEQ: _text("UTF-8"),
    _Type.CLI_MAX_IDENTIFIER_LEN: _short(_NAME_LENGTH),
    ODBC_KEYWORDS: _text(",".join(_KEYWORDS.split())),
}


def info(info_type: int, session: SharkContext) -> Any:
    """Return the TGetInfoValue for a number of TGetInfoType. Raise UnsupportedError for an unknown number."""
    fact = FACTS.get(info_type)
    if fact is None:
        raise UnsupportedError(f"GetInfo of type {info_type}")
    return fact(session)
