"""Clauses of ALTER TABLE for columns, location of data, file format, buckets, skew, and merging of files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import BindError, ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.catalog.hive_formats import holds_untyped_values
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Constraint, Table
from sharkpy.plan.commands import AlterPartition, AlterTable, Command, Insert, TouchTable
from sharkpy.sql.statements import bind_storage
from sharkpy.sql.statements.bind_buckets import bucket_spec, clustered_by, num_buckets, skewed_by
from sharkpy.sql.statements.bind_columns import check_column, column_fields
from sharkpy.sql.statements.bind_constraints import check_condition, check_names, column_constraint
from sharkpy.sql.statements.bind_partition import AlterTarget, check_partition_fields, partitioned_table, values_spec
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    DataType,
    DecimalType,
    Field,
    Schema,
    is_nested,
    is_string,
)

_STRICT = "hive.metastore.disallow.incompatible.col.type.changes"


def add_columns(binder: CommandBinder, target: AlterTarget) -> Command:
    """ADD COLUMNS (…) [CASCADE | RESTRICT]: append columns to the columns in files.

    Hive partitions show the added columns with either word.
    """
    table = target.table
    added, constraints = column_fields(binder, table.shown_schema.fields if target.partition is None else ())
    if table.is_stream and constraints:
        raise binder.reader.unsupported("a constraint of a stream")
    columns = (*table.data_schema, *(field for field in added if field.name not in table.schema.names))
    return _altered(binder, target, columns, (*target.table.constraints, *constraints), None)


def replace_columns(binder: CommandBinder, target: AlterTarget) -> Command:
    """REPLACE COLUMNS (…) [CASCADE | RESTRICT]: replace all columns in files."""
    token = binder.reader.current
    columns, constraints = column_fields(binder, target.table.partition_schema.fields)
    kept = tuple(one for one in target.table.constraints if {field.name for field in columns}.issuperset(one.columns))
    return _altered(binder, target, tuple(columns), (*kept, *constraints), token)


def change_column(binder: CommandBinder, target: AlterTarget) -> Command:
    """CHANGE [COLUMN] old new type [constraint] [COMMENT 'text'] [FIRST | AFTER column] [CASCADE | RESTRICT]."""
    reader, table = binder.reader, target.table
    token = reader.current
    old = _known(binder, table, reader.name("a column name"), token)
    after = reader.current
    others = [field for field in table.data_schema if field.name != old.name]
    field = Field(reader.name("the new name of the column"), reader.data_type(), old.comment)
    constraint = column_constraint(binder, field, others)
    comment = reader.optional_string("COMMENT")
    field = dataclasses.replace(field, comment=old.comment if comment is None else comment)
    check_column(binder, [other.name for other in (*others, *table.partition_schema)], field, after)
    place = table.data_schema.names.index(old.name)
    if reader.match("FIRST"):
        place = 0
    elif reader.match("AFTER"):
        token = reader.current
        before = _known(binder, table, reader.name("a column name"), token)
        if before.name == old.name:
            raise binder.error(f'the column "{old.name}" cannot be placed after itself', token)
        place = [other.name for other in others].index(before.name) + 1
    if field.dtype != old.dtype:
        _check_type(binder, old, field, after)
    columns = (*others[:place], field, *others[place:])
    constraints = [_renamed(one, old.name, field.name) for one in table.constraints]
    if constraint is not None:
        constraints = [one for one in constraints if (one.kind, one.columns) != (constraint.kind, constraint.columns)]
        constraints.append(constraint)
    return _altered(binder, target, columns, constraints, None, (old.name, field.name))


def partition_column(binder: CommandBinder, target: AlterTarget) -> Command:
    """PARTITION COLUMN (name type): change the type of the values in names of Hive partitions."""
    reader, table = binder.reader, target.table
    reader.expect("(")
    token = reader.current
    name = reader.name("a partition column")
    if name not in table.partition_columns:
        hint = did_you_mean(name, table.partition_columns)
        message = f'"{name}" is not a partition column of {table.qualified_name}'
        raise binder.error(message, token, ColumnNotFoundError, hint)
    field = dataclasses.replace(table.schema[name], dtype=reader.data_type())
    reader.expect(")")
    check_partition_fields(binder, [field], token)
    fields = tuple(field if other.name == name else other for other in table.schema)
    return AlterTable(table, dataclasses.replace(table, schema=Schema(fields)))


def _altered(
    binder: CommandBinder,
    target: AlterTarget,
    columns: Sequence[Field],
    constraints: Sequence[Constraint],
    token: Token | None,
    changed: tuple[str, str] | None = None,
) -> Command:
    reader, table = binder.reader, target.table
    is_cascading = reader.match_any("CASCADE", "RESTRICT") == "CASCADE"
    # Columns of lake tables are identified by name, and their format decides the possible types.
    if token is not None and not is_lake(table):
        for old, new in zip(table.data_schema, columns, strict=False):
            _check_type(binder, old, new, token)
    if holds_untyped_values(table.storage) and (is_cascading or target.partition or not table.partition_columns):
        for old, new in zip(table.data_schema, columns, strict=False):
            _check_bytes(binder, table, old, new)
    if target.partition is not None:
        return AlterPartition(table, target.partition, columns=Schema(tuple(columns)))
    check_names(binder, constraints, token)
    for one in constraints:
        if one.kind == "CHECK":
            check_condition(binder, one, [*columns, *table.partition_schema], token)
    _check_still_used(binder, table, columns, token)
    schema = Schema((*columns, *table.partition_schema))
    altered = dataclasses.replace(table, schema=schema, constraints=tuple(constraints))
    renamed = {
        old.name: new.name
        for old, new in zip(table.data_schema, columns, strict=False)
        if not schema.has(old.name) and not table.schema.has(new.name)
    }
    return AlterTable(table, _with_bucket_names(altered, renamed), is_cascading, changed)


def _with_bucket_names(table: Table, renamed: dict[str, str]) -> Table:
    """Rename bucket, sort and skew columns."""
    buckets, skew = table.buckets, table.skew
    if buckets is not None:
        columns = tuple(renamed.get(name, name) for name in buckets.columns)
        sort_columns = tuple((renamed.get(name, name), up) for name, up in buckets.sort_columns)
        buckets = dataclasses.replace(buckets, columns=columns, sort_columns=sort_columns)
    if skew is not None:
        skew = dataclasses.replace(skew, columns=tuple(renamed.get(name, name) for name in skew.columns))
    return dataclasses.replace(table, buckets=buckets, skew=skew)


def _check_still_used(binder: CommandBinder, table: Table, columns: Sequence[Field], token: Token | None) -> None:
    """Refuse to drop a bucket or sort column. It may be renamed."""
    if table.buckets is None or token is None:
        return
    names = {field.name for field in columns}
    used = (*table.buckets.columns, *(name for name, _ in table.buckets.sort_columns))
    if gone := next((name for name in used if name not in names), None):
        message = f'the column "{gone}" cannot be removed: the table is clustered by it'
        raise binder.error(message, token, hint=f"ALTER TABLE {table.name} NOT CLUSTERED")


def _check_type(binder: CommandBinder, old: Field, new: Field, token: Token | None) -> None:
    is_strict = binder.context.conf.get(_STRICT, "true").lower() != "false"
    if is_strict and not can_become(old.dtype, new.dtype):
        message = f'the column "{old.name}" is {old.dtype} and cannot become {new.dtype}'
        hint = f"SET {_STRICT}=false allows any type"
        raise binder.error(message, token, TypeMismatchError, hint)


def _check_bytes(binder: CommandBinder, table: Table, old: Field, new: Field) -> None:
    """Refuse a type for which the bytes in files would be other values."""
    if old.dtype == new.dtype or (is_string(old.dtype) and is_string(new.dtype)):
        return
    if {old.dtype, new.dtype} != {INT, BIGINT} and not all(isinstance(t, DecimalType) for t in (old.dtype, new.dtype)):
        message = f'the column "{old.name}" cannot become {new.dtype}: files of {table.qualified_name} hold its bytes '
        hint = "CREATE TABLE … AS SELECT makes a table with other types"
        raise binder.error(f"{message}as {old.dtype}, and no types", None, TypeMismatchError, hint)


def _known(binder: CommandBinder, table: Table, name: str, token: Token | None) -> Field:
    """Find a column that is stored in files."""
    if name not in table.data_schema.names:
        if name in table.partition_columns:
            message = f'"{name}" is a partition column of {table.qualified_name}'
            raise binder.error(message, token, hint="PARTITION COLUMN changes its type")
        hint = did_you_mean(name, table.data_schema.names)
        raise binder.error(f'no column "{name}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
    return table.schema[name]


def _renamed(constraint: Constraint, old: str, new: str) -> Constraint:
    return dataclasses.replace(constraint, columns=tuple(new if name == old else name for name in constraint.columns))


_RANKS: dict[DataType, int] = {TINYINT: 1, SMALLINT: 2, INT: 3, BIGINT: 4, FLOAT: 6, DOUBLE: 7}
_DECIMAL_RANK = 5


def can_become(old: DataType, new: DataType) -> bool:
    """Return whether Hive allows a type change with hive.metastore.disallow.incompatible.col.type.changes."""
    if old in (new, NULL):
        return True
    if is_nested(old) or is_nested(new):
        return type(old) is type(new)
    if is_string(new):
        return is_string(old) or _rank(old) is not None or old in (DATE, TIMESTAMP)
    before, after = _rank(old), _rank(new)
    if is_string(old):
        return new == DOUBLE or isinstance(new, DecimalType)
    if before is None or after is None:
        return False
    return before < after or (isinstance(old, DecimalType) and isinstance(new, DecimalType))


def _rank(dtype: DataType) -> int | None:
    return _DECIMAL_RANK if isinstance(dtype, DecimalType) else _RANKS.get(dtype)


def set_location(binder: CommandBinder, target: AlterTarget) -> Command:
    token = binder.reader.current
    location = binder.reader.string("a path")
    if ":" not in location and not Path(location).expanduser().is_absolute():
        hint = "only the LOCATION of ADD PARTITION may be one below the table's folder"
        raise binder.error(f'the path "{location}" is not absolute', token, BindError, hint)
    if target.partition is not None:
        return AlterPartition(target.table, target.full_partition(binder), location=location)
    return AlterTable(target.table, dataclasses.replace(target.table, location=location))


def set_file_format(binder: CommandBinder, target: AlterTarget) -> Command:
    storage = bind_storage.stored_as(binder.reader)
    if target.partition is not None:
        return AlterPartition(target.table, target.full_partition(binder), storage=storage)
    return AlterTable(target.table, dataclasses.replace(target.table, storage=storage))


def set_serde(binder: CommandBinder, target: AlterTarget) -> Command:
    reader = binder.reader
    name = reader.string("the class of a SerDe")
    storage = bind_storage.with_serde(reader, target.table.storage, name, ())
    if properties := bind_storage.serde_properties(reader):
        storage = bind_storage.with_serde(reader, target.table.storage, name, properties)
    if target.partition is not None:
        return AlterPartition(target.table, target.full_partition(binder), storage=storage)
    return AlterTable(target.table, dataclasses.replace(target.table, storage=storage))


def set_serde_properties(binder: CommandBinder, target: AlterTarget) -> Command:
    table = target.table
    properties = bind_storage.format_serde_properties(binder.reader, table.storage)
    if target.partition is not None:
        return AlterPartition(table, target.full_partition(binder), serde_properties=properties)
    merged = dict(table.storage.properties) | dict(properties)
    storage = dataclasses.replace(table.storage, properties=tuple(merged.items()))
    return AlterTable(table, dataclasses.replace(table, storage=storage))


def unset_serde_properties(binder: CommandBinder, target: AlterTarget) -> Command:
    storage = target.table.storage
    gone = unset_keys(binder, dict(storage.properties), "the SerDe")
    kept = tuple((key, value) for key, value in storage.properties if key not in gone)
    altered = dataclasses.replace(target.table, storage=dataclasses.replace(storage, properties=kept))
    return AlterTable(target.table, altered)


def clustered(binder: CommandBinder, target: AlterTarget) -> Command:
    table = target.table
    buckets = bucket_spec(binder, clustered_by(binder.reader), table.data_schema.fields, (), None)
    return AlterTable(table, dataclasses.replace(table, buckets=buckets))


def into_buckets(binder: CommandBinder, target: AlterTarget) -> Command:
    table = target.table
    if table.buckets is None:
        hint = "use CLUSTERED BY (…) INTO n BUCKETS"
        raise binder.error(f"{table.qualified_name} has no bucket columns", None, hint=hint)
    buckets = dataclasses.replace(table.buckets, num_buckets=num_buckets(binder.reader))
    return AlterTable(table, dataclasses.replace(table, buckets=buckets))


def not_clustered(_: CommandBinder, target: AlterTarget) -> Command:
    return AlterTable(target.table, dataclasses.replace(target.table, buckets=None))


def not_sorted(_: CommandBinder, target: AlterTarget) -> Command:
    buckets = target.table.buckets and dataclasses.replace(target.table.buckets, sort_columns=())
    return AlterTable(target.table, dataclasses.replace(target.table, buckets=buckets))


def skewed(binder: CommandBinder, target: AlterTarget) -> Command:
    skew = skewed_by(binder, target.table.data_schema.names)
    return AlterTable(target.table, dataclasses.replace(target.table, skew=skew))


def not_skewed(_: CommandBinder, target: AlterTarget) -> Command:
    return AlterTable(target.table, dataclasses.replace(target.table, skew=None))


def not_in_directories(_: CommandBinder, target: AlterTarget) -> Command:
    skew = target.table.skew and dataclasses.replace(target.table.skew, in_directories=False)
    return AlterTable(target.table, dataclasses.replace(target.table, skew=skew))


def touch(binder: CommandBinder, target: AlterTarget) -> Command:
    reader = binder.reader
    if not reader.peek("PARTITION"):
        return TouchTable(target.table)
    return TouchTable(partitioned_table(binder, target.table, reader.current), values_spec(binder, target.table))


def merge_files(binder: CommandBinder, target: AlterTarget) -> Command:
    """CONCATENATE and COMPACT: rewrite the rows into few files of full size, with all guarantees of DML."""
    reader, table = binder.reader, target.table
    if reader.tokens[reader.position - 1].text.upper() == "COMPACT":
        reader.string("'major' or 'minor'")
        reader.match("AND", "WAIT")
        if reader.match("WITH", "OVERWRITE", "TBLPROPERTIES"):
            reader.properties()
    if table.location is None:
        raise reader.unsupported(f"merging the files of {table.qualified_name}, which has none,")
    spec = target.partition if target.partition is not None else tuple((n, None) for n in table.partition_columns)
    given = dict(spec)
    full = tuple((name, given.get(name)) for name in table.partition_columns)
    columns = ", ".join(f"`{field.name}`" for field in table.schema if given.get(field.name) is None)
    terms = [f"`{name}` = '{_escaped(value)}'" for name, value in full if value is not None]
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    text = f"SELECT {columns} FROM `{table.database}`.`{table.name}`{where}"
    return Insert(table, binder.query_of(text), True, full, keeps_rows=True)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def unset_keys(binder: CommandBinder, known: dict[str, str], owner: str) -> tuple[str, ...]:
    """[IF EXISTS] ('key', …): keys to unset. Without IF EXISTS, they have to be in `known`."""
    reader = binder.reader
    if_exists = reader.if_exists()
    reader.expect("(")
    keys: list[str] = []
    while True:
        token = reader.current
        keys.append(reader.key())
        if keys[-1] not in known and not if_exists:
            raise binder.error(f'{owner} has no property "{keys[-1]}"', token)
        if reader.match(")"):
            return tuple(keys)
        reader.expect(",")
