"""ALTER TABLE and ALTER VIEW: a table of clauses, each with its binder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import TableExistsError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.kafka_options import PREFIXES
from sharkpy.catalog.model import CLAUSE_PROPERTIES, Table, TableKind
from sharkpy.catalog.names import GLOBAL_TEMP
from sharkpy.catalog.stream_kinds import FOLDER, KAFKA
from sharkpy.plan.commands import (
    AlterTable,
    Command,
    CreateView,
    RenamePartition,
    RenameTable,
    RepairTable,
    SetTableProperties,
)
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.statements.bind_alter_table import (
    add_columns,
    change_column,
    clustered,
    into_buckets,
    merge_files,
    not_clustered,
    not_in_directories,
    not_skewed,
    not_sorted,
    partition_column,
    replace_columns,
    set_file_format,
    set_location,
    set_serde,
    set_serde_properties,
    skewed,
    touch,
    unset_keys,
    unset_serde_properties,
)
from sharkpy.sql.statements.bind_constraints import check_names, table_constraint
from sharkpy.sql.statements.bind_continuous import bind_alter_continuous
from sharkpy.sql.statements.bind_database import bind_alter_database
from sharkpy.sql.statements.bind_partition import (
    AlterTarget,
    add_partitions,
    drop_partitions,
    exchange_partition,
    full_spec,
    partitioned_table,
    values_spec,
)
from sharkpy.sql.statements.bind_statistics import update_statistics
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.stored_queries import bind_view_query, global_view_name
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class Clause:
    """Clause of ALTER.

    It begins with `words`; `bind` reads the words after the bar. `of` are the targets it may follow.
    """

    words: str
    bind: Callable[[CommandBinder, AlterTarget], Command]
    of: tuple[str, ...] = ("table",)

    def begins(self, reader: TokenReader) -> bool:
        """Take the clause's own words if the clause comes next. Return whether it does."""
        own, _, ahead = self.words.partition(" | ")
        return reader.peek(*own.split(), *ahead.split()) and reader.match(*own.split())


def bind_alter(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("ALTER")
    if reader.match_any("DATABASE", "SCHEMA"):
        return bind_alter_database(binder)
    if reader.peek("CONTINUOUS"):
        return bind_alter_continuous(binder)
    is_view = reader.expect_any("TABLE", "VIEW") == "VIEW"
    token = reader.current
    table = binder.table()
    if table.is_view != is_view and not (table.is_view and table.has_state):
        kind = "view" if table.is_view else "table"
        hint = f"use ALTER {kind.upper()}"
        raise binder.error(f"{table.qualified_name} is a {kind}", token, hint=hint, sqlstate="42809")
    if table.streaming_kind:
        _check_stream_clause(binder, table, token)
    spec = None
    if reader.peek("PARTITION") and not reader.peek("PARTITION", "COLUMN"):
        partitioned_table(binder, table, reader.current)
        spec = values_spec(binder, table)
    place = "view" if is_view else "partition" if spec is not None else "table"
    for clause in CLAUSES:
        if place in clause.of and clause.begins(reader):
            return clause.bind(binder, AlterTarget(table, spec))
    words = " ".join(token.text.upper() for token in reader.rest[:2])
    title = "ALTER TABLE … PARTITION" if spec is not None else f"ALTER {place.upper()}"
    if words.startswith(UNSUPPORTED):
        raise reader.unsupported(f"{title} {words}")
    known = ", ".join(clause.words.replace(" | ", " ") for clause in CLAUSES if place in clause.of)
    error = reader.error(f"a clause of {title} expected")
    error.hint = _INSTEAD.get(reader.word()) or f"there are {known}"
    raise error


_OF_STREAMS = (("RENAME", "TO"), ("SET", "TBLPROPERTIES"), ("UNSET", "TBLPROPERTIES"), ("SET", "OWNER"))
_OF_FOLDERS = (("ADD", "COLUMNS"), ("ADD", "COLUMN"))
"""Clauses for streams whose files other programs write."""


def _check_stream_clause(binder: CommandBinder, table: Table, token: Token | None) -> None:
    """Refuse clauses that change the rows of a stream or continuous query, or the format of their files."""
    is_of_files = table.stream is not None and table.stream.kind == FOLDER.name
    clauses = (*_OF_STREAMS, *_OF_FOLDERS) if is_of_files else () if table.is_state else _OF_STREAMS
    if not any(binder.reader.peek(*words) for words in clauses):
        known = ", ".join(" ".join(words) for words in clauses)
        message = f"{table.qualified_name} is a {table.streaming_kind}: ALTER TABLE cannot change it so"
        raise binder.error(message, token, hint=f"there are {known}" if known else None, sqlstate="42809")


_INSTEAD = {
    "ALTER": "CHANGE name name type gives a column another type",
    "DROP": "REPLACE COLUMNS (name type, …) leaves columns out",
    "EXECUTE": "table.maintenance.expire_snapshots() of pyiceberg removes snapshots, CONCATENATE writes few files",
    "MODIFY": "CHANGE name name type gives a column another type",
    "RENAME": "RENAME TO name is for tables, CHANGE old new type for columns",
}
"""Constructs of other systems -> Hive's clause for them."""


# Names and properties


def _rename(binder: CommandBinder, target: AlterTarget) -> Command:
    if target.partition is not None:
        return RenamePartition(target.table, target.full_partition(binder), full_spec(binder, target.table))
    token = binder.reader.current
    database, name = global_view_name(binder) if target.table.database == GLOBAL_TEMP else binder.new_name()
    if binder.context.catalog.find_table(database, name) is not None:
        raise binder.error(f"the table {database}.{name} exists already", token, TableExistsError)
    return RenameTable(target.table, database, name)


def _set_properties(binder: CommandBinder, target: AlterTarget) -> Command:
    token, properties = binder.reader.current, binder.reader.properties()
    if target.table.stream is not None and target.table.stream.kind == KAFKA.name:
        for key, _ in properties:
            if key.startswith(PREFIXES):
                message = f'changing the property "{key}" of a stream FROM KAFKA is not supported'
                hint = "DROP STREAM and make it again: the records stay in the topic"
                raise binder.error(message, token, UnsupportedError, hint)
    _check_own(binder, target.table, [key for key, _ in properties], token)
    return SetTableProperties(target.table, properties)


def _unset_properties(binder: CommandBinder, target: AlterTarget) -> Command:
    token, keys = binder.reader.current, unset_keys(binder, dict(target.table.properties), "the table")
    _check_own(binder, target.table, keys, token)
    return SetTableProperties(target.table, (), keys)


def _check_own(binder: CommandBinder, table: Table, keys: Iterable[str], token: Token | None) -> None:
    """Refuse changes of properties that clauses of a continuous query have set."""
    if table.continuous and (key := next((key for key in keys if key in CLAUSE_PROPERTIES), None)) is not None:
        message = f'{table.qualified_name} is a {table.streaming_kind}: its property "{key}" cannot be changed'
        raise binder.error(message, token, hint="for other clauses, create a new one", sqlstate="42809")


def _set_owner(binder: CommandBinder, target: AlterTarget) -> Command:
    binder.reader.expect_any("USER", "ROLE", "GROUP")
    return AlterTable(target.table, dataclasses.replace(target.table, owner=binder.reader.name("an owner")))


def _view_query(binder: CommandBinder, target: AlterTarget) -> Command:
    view = target.table
    is_temporary = view.kind is TableKind.TEMPORARY_VIEW
    facts = (view.comment, view.properties, view.partition_columns)
    return bind_view_query(
        binder, CreateView(view.database, view.name, Schema(()), "", False, True, is_temporary, *facts), None
    )


# Constraints


def _add_constraint(binder: CommandBinder, target: AlterTarget) -> Command:
    table, token = target.table, binder.reader.current
    made = table_constraint(binder, table.schema.fields)
    constraints = (*table.constraints, made)
    check_names(binder, constraints, token)
    return AlterTable(table, dataclasses.replace(table, constraints=constraints))


def _drop_constraint(binder: CommandBinder, target: AlterTarget) -> Command:
    table, token = target.table, binder.reader.current
    name = binder.reader.name("a constraint")
    kept = tuple(one for one in table.constraints if one.name != name)
    if len(kept) == len(table.constraints):
        raise binder.error(f'{table.qualified_name} has no constraint "{name}"', token, sqlstate="42704")
    return AlterTable(table, dataclasses.replace(table, constraints=kept))


def _recover_partitions(binder: CommandBinder, target: AlterTarget) -> Command:
    return RepairTable(partitioned_table(binder, target.table, None), adds=True, drops=False)


_EVERY, _NAMED = ("table", "partition"), ("table", "view")
CLAUSES: tuple[Clause, ...] = (
    Clause("RENAME TO", _rename, ("table", "partition", "view")),
    Clause("SET TBLPROPERTIES", _set_properties, _NAMED),
    Clause("UNSET TBLPROPERTIES", _unset_properties, _NAMED),
    Clause("AS", _view_query, ("view",)),
    Clause("SET OWNER", _set_owner, _NAMED),
    Clause("SET LOCATION", set_location, _EVERY),
    Clause("SET FILEFORMAT", set_file_format, _EVERY),
    Clause("SET SERDEPROPERTIES", set_serde_properties, _EVERY),
    Clause("UNSET SERDEPROPERTIES", unset_serde_properties),
    Clause("SET SERDE", set_serde, _EVERY),
    Clause("ADD COLUMNS", add_columns, _EVERY),
    Clause("ADD COLUMN", add_columns, _EVERY),
    Clause("REPLACE COLUMNS", replace_columns, _EVERY),
    Clause("CHANGE COLUMN", change_column, _EVERY),
    Clause("CHANGE", change_column, _EVERY),
    Clause("PARTITION COLUMN", partition_column),
    Clause("UPDATE STATISTICS", update_statistics, _EVERY),
    Clause("ADD | CONSTRAINT", _add_constraint),
    Clause("DROP CONSTRAINT", _drop_constraint),
    Clause("ADD IF NOT EXISTS | PARTITION", lambda binder, target: add_partitions(binder, target.table, True), _NAMED),
    Clause("ADD | PARTITION", lambda binder, target: add_partitions(binder, target.table, False), _NAMED),
    Clause("DROP IF EXISTS | PARTITION", lambda binder, target: drop_partitions(binder, target.table, True), _NAMED),
    Clause("DROP | PARTITION", lambda binder, target: drop_partitions(binder, target.table, False), _NAMED),
    Clause("EXCHANGE | PARTITION", lambda binder, target: exchange_partition(binder, target.table)),
    Clause("RECOVER PARTITIONS", _recover_partitions),
    Clause("CLUSTERED BY", clustered),
    Clause("INTO", into_buckets),
    Clause("NOT CLUSTERED", not_clustered),
    Clause("NOT SORTED", not_sorted),
    Clause("SKEWED BY", skewed),
    Clause("NOT SKEWED", not_skewed),
    Clause("NOT STORED AS DIRECTORIES", not_in_directories),
    Clause("TOUCH", touch),
    Clause("CONCATENATE", merge_files, _EVERY),
    Clause("COMPACT", merge_files, _EVERY),
)
UNSUPPORTED = (
    *("ARCHIVE", "UNARCHIVE", "ENABLE", "DISABLE", "SET SKEWED", "EXCHANGE", "UNSET"),
    *("CLUSTERED", "INTO", "NOT", "SKEWED", "TOUCH", "MERGE", "ADD PARTITION", "DROP PARTITION"),
)
"""Known clauses of Hive that are not supported."""
