"""SHOW: a table of listings, each with its binder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from sqlglot.tokenizer_core import TokenType

from sharkpy.base.errors import BindError, DatabaseNotFoundError, did_you_mean
from sharkpy.base.settings import SETTINGS
from sharkpy.catalog.names import GLOBAL_TEMP
from sharkpy.catalog.system_tables import SYSTEM_DATABASES
from sharkpy.plan.commands import (
    Command,
    ShowColumns,
    ShowConf,
    ShowContinuousTables,
    ShowCreateDatabase,
    ShowCreateTable,
    ShowDatabases,
    ShowEmpty,
    ShowFunctions,
    ShowPartitions,
    ShowQueries,
    ShowQuery,
    ShowSettings,
    ShowStreams,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Project
from sharkpy.sql.context import Cte
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.statements.bind_continuous import bind_show_epochs
from sharkpy.sql.statements.bind_partition import partitioned_table, values_spec
from sharkpy.sql.statements.command_binder import CommandBinder

_NAMES = "__partitions"
_NAME = "__name"

_MOST_LISTED = 1_000_000_000
"""Limit for LIMIT: no history has so many statements."""


def bind_show(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("SHOW")
    for words, bind in SHOWN:
        if reader.match(*words.split()):
            return bind(binder)
    error = reader.error("DATABASES, TABLES, PARTITIONS or another listing expected")
    error.hint = did_you_mean(reader.word(), [words for words, _ in SHOWN])
    raise error


def _databases(binder: CommandBinder) -> Command:
    return ShowDatabases(_pattern(binder))


def _tables(binder: CommandBinder) -> Command:
    return ShowTables(_database(binder), _pattern(binder))


def _views(binder: CommandBinder) -> Command:
    return ShowTables(_database(binder), _pattern(binder), views_only=True)


def _table_extended(binder: CommandBinder) -> Command:
    """Bind EXTENDED [(IN | FROM) database] LIKE 'pattern' [PARTITION (…)]. PARTITION requires a table's name."""
    reader = binder.reader
    reader.expect("EXTENDED")
    database = _database(binder)
    reader.expect("LIKE")
    start, token = reader.position, reader.current
    is_text = token is not None and token.token_type == TokenType.STRING
    pattern = reader.string("a pattern") if is_text else reader.name("a table name")
    if not reader.peek("PARTITION"):
        return ShowTableExtended(database, pattern)
    assert token is not None  # string() or name() took it
    with binder.place_of(reader.tokens[start]):
        table = binder.context.catalog.table(database, pattern)
    return ShowTableExtended(database, table.name, values_spec(binder, table))


def _columns(binder: CommandBinder) -> Command:
    """Bind (IN | FROM) table [(IN | FROM) database] [LIKE 'pattern']."""
    reader = binder.reader
    reader.expect_any("IN", "FROM")
    database, name, token = binder.name()
    if reader.peek("IN") or reader.peek("FROM"):
        database = _database(binder)
    with binder.place_of(token):
        return ShowColumns(binder.context.catalog.table(database, name), _pattern(binder))


def _partitions(binder: CommandBinder) -> Command:
    """Bind table [PARTITION (…)] [WHERE …] [ORDER BY …] [LIMIT n], over partition columns."""
    reader = binder.reader
    token = reader.current
    table = binder.table()
    if table.is_view and not table.is_partitioned:
        message = f"{table.qualified_name} is a view: SHOW PARTITIONS needs a table"
        raise binder.error(message, token, sqlstate="42809")
    partitioned_table(binder, table, token)
    shown = ShowPartitions(table, values_spec(binder, table) if reader.peek("PARTITION") else None)
    if reader.current is None:
        return shown
    if not any(reader.peek(*words) for words in (("WHERE",), ("ORDER", "BY"), ("LIMIT",))):
        reader.expect_end()
    columns = [f"CAST(NULL AS {field.dtype}) AS `{field.name}`" for field in table.partition_schema]
    text = f"SELECT {', '.join(columns)}, CAST(NULL AS STRING) AS `{_NAME}`"
    context = binder.context
    inner = Cte(_NAMES, parse_query(text, tokenize(text)), (), context)
    over = dataclasses.replace(binder, context=dataclasses.replace(context, ctes={_NAMES: inner}))
    query = over.query([*tokenize(f"SELECT `{_NAME}` FROM `{_NAMES}`"), *reader.rest])
    reader.position = len(reader.tokens)
    leaf = next(node for node in query.walk() if isinstance(node, Project) and _is_leaf(node))
    return dataclasses.replace(shown, query=query, names=leaf)


def _is_leaf(node: Project) -> bool:
    """Return whether a node is the SELECT without FROM that represents the Hive partitions."""
    return not node.child.output and not any(isinstance(item, ColumnRef) for item in node.items)


def _create(binder: CommandBinder) -> Command:
    reader = binder.reader
    if reader.match_any("DATABASE", "SCHEMA"):
        token = reader.current
        name = reader.name("a database name")
        assert token is not None  # name() took it
        with binder.place_of(token):
            return ShowCreateDatabase(binder.context.catalog.database(name).name)
    reader.match_any("TABLE", "VIEW")
    return ShowCreateTable(binder.table())


def _properties(binder: CommandBinder) -> Command:
    table, reader = binder.table(), binder.reader
    key = None
    if reader.match("("):
        key = reader.key()
        reader.expect(")")
    return ShowTableProperties(table, key)


def _conf(binder: CommandBinder) -> Command:
    reader = binder.reader
    token = reader.current
    start = reader.position
    if token is not None and token.token_type == TokenType.STRING:
        key = reader.string()
    else:
        reader.key("a setting")
        key = "".join(token.text for token in reader.tokens[start : reader.position])
    known = [setting.key for setting in SETTINGS]
    if key.lower() not in known:
        raise binder.error(f'no setting "{key}" is known', token, BindError, did_you_mean(key, known))
    return ShowConf(key.lower())


def _settings(binder: CommandBinder) -> Command:
    return ShowSettings(_pattern(binder))


def _functions(binder: CommandBinder) -> Command:
    is_regex = binder.reader.current is not None and not binder.reader.peek("LIKE")
    pattern = _pattern(binder)
    if binder.reader.match("."):
        pattern = f"{pattern}.{binder.reader.name('a function')}"
    return ShowFunctions(pattern, is_regex)


def _queries(binder: CommandBinder) -> Command:
    """[LIKE 'pattern'] [LIMIT n]."""
    reader = binder.reader
    pattern = reader.optional_string("LIKE")
    if not reader.match("LIMIT"):
        return ShowQueries(pattern)
    count = reader.whole_number("a number of statements")
    return ShowQueries(pattern, min(count, _MOST_LISTED))


def _query(binder: CommandBinder) -> Command:
    return ShowQuery(binder.reader.string("the id of a statement"))


def _streams(binder: CommandBinder) -> Command:
    return ShowStreams(_database(binder), _pattern(binder))


def _continuous(binder: CommandBinder) -> Command:
    return ShowContinuousTables(_database(binder), _pattern(binder))


def _materialized(binder: CommandBinder) -> Command:
    return ShowContinuousTables(_database(binder), _pattern(binder), as_views=True)


def _empty(*columns: str) -> Callable[[CommandBinder], Command]:
    """Bind a listing without rows. All words after it are ignored."""

    def bind(binder: CommandBinder) -> Command:
        binder.reader.position = len(binder.reader.tokens)
        return ShowEmpty(columns)

    return bind


def _database(binder: CommandBinder) -> str:
    reader = binder.reader
    if not reader.match_any("IN", "FROM"):
        return binder.context.database
    token = reader.current
    name = reader.name("a database name")
    assert token is not None  # name() took it
    with binder.place_of(token):
        try:
            return binder.context.catalog.database(name).name
        except DatabaseNotFoundError:
            if name not in (*SYSTEM_DATABASES, GLOBAL_TEMP):
                raise
            return name


def _pattern(binder: CommandBinder) -> str | None:
    reader = binder.reader
    is_quoted = reader.current is not None and reader.current.token_type == TokenType.STRING
    if reader.match("LIKE"):
        is_name = reader.current is not None and reader.current.token_type == TokenType.IDENTIFIER
        return reader.name() if is_name else reader.string("a pattern")
    return reader.string("a pattern") if is_quoted else reader.name() if reader.current is not None else None


_GRANTS = ("database", "table", "partition", "column", "principal_name", "principal_type", "privilege")
_GRANTED = ("grant_option", "grant_time", "grantor")
_INDEXES = ("idx_name", "tab_name", "col_names", "idx_tab_name", "idx_type", "comment")
SHOWN: tuple[tuple[str, Callable[[CommandBinder], Command]], ...] = (
    ("DATABASES", _databases),
    ("SCHEMAS", _databases),
    ("TABLES", _tables),
    ("TABLE", _table_extended),
    ("VIEWS", _views),
    ("COLUMNS", _columns),
    ("FUNCTIONS", _functions),
    ("CREATE", _create),
    ("TBLPROPERTIES", _properties),
    ("PARTITIONS", _partitions),
    ("CONF", _conf),
    ("SETTINGS", _settings),
    ("QUERIES", _queries),
    ("QUERY", _query),
    ("STREAMS", _streams),
    ("CONTINUOUS TABLES", _continuous),
    ("STREAMING TABLES", _continuous),
    ("EPOCHS", bind_show_epochs),
    ("MATERIALIZED VIEWS", _materialized),
    ("LOCKS", _empty("tab_name", "mode")),
    ("ROLES", _empty("role")),
    ("CURRENT ROLES", _empty("role")),
    ("ROLE GRANT", _empty("role", *_GRANTED)),
    ("PRINCIPALS", _empty("principal_name", "principal_type", *_GRANTED)),
    ("GRANT", _empty(*_GRANTS, *_GRANTED)),
    ("TRANSACTIONS", _empty("txnid", "state", "startedtime", "lastheartbeattime", "user", "host")),
    ("COMPACTIONS", _empty("compactionid", "dbname", "tabname", "partname", "type", "state", "workerid", "starttime")),
    ("FORMATTED INDEXES", _empty(*_INDEXES)),
    ("FORMATTED INDEX", _empty(*_INDEXES)),
    ("INDEXES", _empty(*_INDEXES)),
    ("INDEX", _empty(*_INDEXES)),
    ("RESOURCE PLANS", _empty("rp_name", "status", "query_parallelism")),
)
"""Listings by their words.

Listings with `_empty` are of objects that do not exist here: clients ask for them, and get Hive's columns.
"""
