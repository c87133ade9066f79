"""Hive partitions: their columns, values and filters in statements, and ADD, DROP and EXCHANGE PARTITION."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError, ColumnNotFoundError, SharkError, UnsupportedError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.catalog.hive_partition import DEFAULT_VALUE
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import (
    AddPartitions,
    Command,
    DropPartitions,
    ExchangePartition,
    PartitionFilter,
    PartitionSpec,
)
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import BINARY, Field, is_nested

_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def column_names(binder: CommandBinder) -> list[str] | None:
    """Read (name, …) without types, as in CREATE TABLE … PARTITIONED BY (ds) AS SELECT. Return None if types follow."""
    reader = binder.reader
    following = reader.tokens[reader.position + 2 : reader.position + 3]
    if not following or following[0].token_type not in (TokenType.COMMA, TokenType.R_PAREN):
        return None
    reader.expect("(")
    names: list[str] = []
    while True:
        names.append(reader.name("a column name"))
        if reader.match(")"):
            return names
        reader.expect(",")


def check_partition_fields(binder: CommandBinder, fields: Sequence[Field], token: Token | None) -> None:
    """Check that types can be written as text, since folder names contain the values."""
    for field in fields:
        if is_nested(field.dtype) or field.dtype == BINARY:
            message = f'the partition column "{field.name}" cannot be {field.dtype}'
            raise binder.error(message, token, UnsupportedError)


def partitioned_table(binder: CommandBinder, table: Table, token: Token | None) -> Table:
    """Return `table` if it is partitioned. Raise BindError 42809 if it is not."""
    if not table.is_partitioned:
        raise binder.error(f"{table.qualified_name} is not a partitioned table", token, sqlstate="42809")
    return table


def full_spec(binder: CommandBinder, table: Table) -> PartitionSpec:
    """Read PARTITION (…) with a value for each partition column."""
    token = binder.reader.current
    spec = values_spec(binder, table)
    if missing := [name for name in table.partition_columns if name not in dict(spec)]:
        raise _missing(binder, missing, token)
    return spec


def values_spec(binder: CommandBinder, table: Table) -> PartitionSpec:
    """Read PARTITION (…) with values for some or all partition columns."""
    token = binder.reader.current
    spec = _spec(binder, table)
    if without := [name for name, value in spec if value is None]:
        raise binder.error(f'the partition column "{without[0]}" needs a value here', token)
    return spec


def partial_spec(binder: CommandBinder, table: Table) -> PartitionSpec:
    """Read PARTITION (ds='x', hr) with some columns. A column without a value means all its values."""
    return _spec(binder, table)


def insert_spec(binder: CommandBinder, table: Table) -> PartitionSpec:
    """Read PARTITION (ds='x', hr) with all partition columns. Columns without a value come last, and are dynamic."""
    token = binder.reader.current
    spec = _spec(binder, table)
    if missing := [name for name in table.partition_columns if name not in dict(spec)]:
        raise _missing(binder, missing, token)
    dynamic = [value is None for _, value in spec]
    if dynamic != sorted(dynamic):
        static = spec[dynamic.index(False, dynamic.index(True))][0]
        message = f'the partition column "{static}" has a value, but one before it has none'
        raise binder.error(message, token, hint="dynamic partition columns come after the static ones")
    return spec


def partition_filter(binder: CommandBinder, table: Table) -> PartitionFilter:
    """Read PARTITION (ds < 'x', hr = 1) as a filter."""
    reader = binder.reader
    reader.expect("PARTITION")
    reader.expect("(")
    terms: list[tuple[str, str, str]] = []
    while True:
        name = _column(binder, table)
        sign = _COMPARISONS.get(reader.word())
        if sign is None:
            raise reader.error("a comparison expected")
        reader.take()
        terms.append((name, sign, _value(binder)))
        if reader.match(")"):
            return tuple(terms)
        reader.expect(",")


def _spec(binder: CommandBinder, table: Table) -> PartitionSpec:
    """Read PARTITION (…). Return the values in the table's order of columns."""
    reader = binder.reader
    partitioned_table(binder, table, reader.current)
    reader.expect("PARTITION")
    reader.expect("(")
    values: dict[str, str | None] = {}
    while True:
        token = reader.current
        name = _column(binder, table)
        if name in values:
            raise binder.error(f'the partition column "{name}" is given twice', token, sqlstate="42701")
        values[name] = _value(binder) if reader.match("=") else None
        if reader.match(")"):
            break
        reader.expect(",")
    return tuple((name, values[name]) for name in table.partition_columns if name in values)


def _column(binder: CommandBinder, table: Table) -> str:
    token = binder.reader.current
    name = binder.reader.name("a partition column")
    if name not in table.partition_columns:
        hint = did_you_mean(name, table.partition_columns)
        message = f'"{name}" is not a partition column of {table.qualified_name}'
        raise binder.error(message, token, ColumnNotFoundError, hint)
    return name


def _value(binder: CommandBinder) -> str:
    """Read the text of a literal. NULL becomes the name of Hive's default partition."""
    reader = binder.reader
    if reader.match("NULL"):
        return DEFAULT_VALUE
    for word in ("DATE", "TIMESTAMP"):
        reader.match(word)
    sign = "-" if reader.match("-") else ""
    token = reader.take()
    if token.token_type == TokenType.STRING and not sign:
        return str(token.text)
    is_word = token.text.upper() in ("TRUE", "FALSE") and token.token_type != TokenType.IDENTIFIER
    if token.token_type == TokenType.NUMBER or (is_word and not sign):
        return sign + token.text.lower()
    reader.position -= 1
    raise reader.error("a literal expected")


def _missing(binder: CommandBinder, names: Sequence[str], token: Token | None) -> SharkError:
    listed = ", ".join(f'"{name}"' for name in names)
    return binder.error(f"PARTITION lacks the partition column {listed}", token, BindError)


@dataclass(frozen=True, slots=True)
class AlterTarget:
    """Target of a clause: a table, or the Hive partition in PARTITION (…) before the clause."""

    table: Table
    partition: PartitionSpec | None = None

    def full_partition(self, binder: CommandBinder) -> PartitionSpec:
        """Return the values of all partition columns. Raise BindError if one is missing."""
        spec = self.partition or ()
        if missing := [name for name in self.table.partition_columns if name not in dict(spec)]:
            raise binder.error(f'PARTITION lacks the partition column "{missing[0]}"', None)
        return spec


_IGNORE_MISSING = "hive.exec.drop.ignorenonexistent"


def ignores_missing(conf: Conf) -> bool:
    """Return whether DROP of a missing object is not an error, which is Hive's default."""
    return conf.get(_IGNORE_MISSING, "true").lower() == "true"


def add_partitions(binder: CommandBinder, table: Table, if_not_exists: bool) -> Command:
    partitioned_table(binder, table, binder.reader.current)
    return AddPartitions(table, tuple(_added(binder, table)), if_not_exists)


def _added(binder: CommandBinder, table: Table) -> Iterator[tuple[PartitionSpec, str | None]]:
    reader = binder.reader
    while reader.peek("PARTITION"):
        yield full_spec(binder, table), reader.optional_string("LOCATION")
        reader.match(",")


def drop_partitions(binder: CommandBinder, table: Table, if_exists: bool) -> Command:
    reader = binder.reader
    partitioned_table(binder, table, reader.current)
    filters = [partition_filter(binder, table)]
    while reader.match(","):
        filters.append(partition_filter(binder, table))
    reader.match("IGNORE", "PROTECTION")
    reader.match("PURGE")
    return DropPartitions(table, tuple(filters), if_exists or ignores_missing(binder.context.conf))


def exchange_partition(binder: CommandBinder, table: Table) -> Command:
    """EXCHANGE PARTITION (…) WITH TABLE source: move these partitions of `source` here."""
    reader = binder.reader
    token = reader.current
    spec = values_spec(binder, table)
    reader.expect("WITH", "TABLE")
    source = partitioned_table(binder, binder.written_table("EXCHANGE PARTITION"), token)
    forms = [[(field.name, field.dtype) for field in one.schema] for one in (table, source)]
    if forms[0] != forms[1] or table.partition_columns != source.partition_columns:
        raise binder.error(f"{table.qualified_name} and {source.qualified_name} differ in their columns", token)
    return ExchangePartition(table, source, spec)
