"""Clauses after the columns of CREATE TABLE, in any order: a table of clauses, each with its reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token

from sharkpy.catalog.kafka_options import HANDLER
from sharkpy.catalog.lake_tables import LAKES, PartitionField
from sharkpy.catalog.model import BucketSpec, SkewSpec, StorageFormat
from sharkpy.plan.commands import Properties
from sharkpy.sql.statements.bind_buckets import clustered_by, skewed_by
from sharkpy.sql.statements.bind_columns import column_fields
from sharkpy.sql.statements.bind_partition import column_names
from sharkpy.sql.statements.bind_storage import Option, options, provider, row_format, serde_properties, stored_as
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.lake_clauses import divides_by_transforms, lake_word, partition_fields
from sharkpy.values.types import Field


@dataclass(frozen=True, slots=True)
class Handler:
    """Hive's Kafka storage handler in STORED BY, with its properties and its token."""

    token: Token
    properties: Properties


@dataclass(slots=True)
class TableClauses:
    """Clauses of a CREATE TABLE while they are read, each at most once."""

    columns: Sequence[str]
    """Columns that are listed before the clauses."""
    row: StorageFormat | None = None
    file: StorageFormat | None = None
    location: str | None = None
    comment: str | None = None
    properties: Properties | None = None
    options: tuple[Option, ...] | None = None
    buckets: BucketSpec | None = None
    skew: SkewSpec | None = None
    partitions: list[Field] | list[str] | None = None
    """Columns of PARTITIONED BY: fields, or names of listed columns or of the query's columns."""
    divided: list[PartitionField] | None = None
    """Items of PARTITIONED BY if some are transforms; `partitions` is then empty."""
    lake: str | None = None
    """Lake format of STORED BY or USING."""
    takes_lake: bool = False
    handler: Handler | None = None
    is_sparks: bool = False
    """True for Spark's syntax, with USING or OPTIONS."""


ENDS = ("AS", "SELECT", "WITH", "(", "LIKE", "FROM")


def table_clauses(binder: CommandBinder, columns: Sequence[str] = (), *, takes_handler: bool = False) -> TableClauses:
    """Read clauses up to a word that ends them."""
    clauses = TableClauses(columns, takes_lake=takes_handler)
    read_clauses(binder, clauses, takes_handler=takes_handler)
    return clauses


def read_clauses(
    binder: CommandBinder, clauses: TableClauses, ends: Sequence[str] = ENDS, *, takes_handler: bool = False
) -> None:
    """Read more clauses, up to one of the words `ends`."""
    reader = binder.reader
    while reader.current is not None and reader.word() not in ends:
        for words, name, read in _CLAUSES:
            if not reader.match(*words.split()):
                continue
            if getattr(clauses, name) is not None:
                raise reader.error(f"only one clause for the {name} of the table expected")
            setattr(clauses, name, read(binder, clauses))
            break
        else:
            if reader.match("STORED", "BY"):
                if takes_handler and clauses.lake is None and (lake := lake_word(reader)) is not None:
                    clauses.lake = lake
                    clauses.properties = (*(clauses.properties or ()), *serde_properties(reader)) or None
                    continue
                clauses.handler = _handler(binder, is_taken=takes_handler and clauses.handler is None)
                continue
            if reader.word() in ("CLUSTER BY", "SORTED", "SORTED BY", "DISTRIBUTE BY"):
                raise reader.unsupported(f"{reader.word()} in CREATE TABLE")
            raise reader.error("ROW FORMAT, STORED AS, LOCATION, COMMENT, TBLPROPERTIES or AS expected")


def _handler(binder: CommandBinder, *, is_taken: bool) -> Handler:
    """Read the class of a storage handler [WITH SERDEPROPERTIES (…)]. Only Kafka's is supported."""
    reader = binder.reader
    token = reader.current
    if token is None or token.text != HANDLER or not is_taken:
        raise reader.unsupported("STORED BY a storage handler")
    reader.take()
    return Handler(token, serde_properties(reader))


def _using(binder: CommandBinder, clauses: TableClauses) -> StorageFormat:
    clauses.is_sparks = True
    if clauses.takes_lake and (word := binder.reader.word().lower()) in LAKES:
        binder.reader.take()
        clauses.lake = word
        return StorageFormat(word)
    return provider(binder.reader)


def _options(binder: CommandBinder, clauses: TableClauses) -> tuple[Option, ...]:
    """Read the options. `path` becomes the table's location."""
    clauses.is_sparks = True
    given = options(binder.reader)
    for one in given:
        if one.name.lower() == "path":
            clauses.location = one.value
    return tuple(one for one in given if one.name.lower() != "path")


def _partitions(binder: CommandBinder, clauses: TableClauses) -> list[Field] | list[str]:
    if clauses.takes_lake and divides_by_transforms(binder.reader):
        clauses.divided = partition_fields(binder)
        return []
    names = column_names(binder)
    if names is not None:
        return names
    if not binder.reader.peek("("):
        raise binder.reader.error("( expected")
    fields, constraints = column_fields(binder, ())
    if constraints:
        raise binder.reader.unsupported("a constraint of a partition column")
    return fields


_CLAUSES: tuple[tuple[str, str, Callable[[CommandBinder, TableClauses], object]], ...] = (
    ("ROW FORMAT", "row", lambda binder, _: row_format(binder.reader)),
    ("STORED AS", "file", lambda binder, _: stored_as(binder.reader)),
    ("USING", "file", _using),
    ("OPTIONS", "options", _options),
    ("PARTITIONED BY", "partitions", _partitions),
    ("CLUSTERED BY", "buckets", lambda binder, _: clustered_by(binder.reader)),
    ("SKEWED BY", "skew", lambda binder, clauses: skewed_by(binder, clauses.columns)),
    ("LOCATION", "location", lambda binder, _: binder.reader.string("a path")),
    ("COMMENT", "comment", lambda binder, _: binder.reader.string("a comment")),
    ("TBLPROPERTIES", "properties", lambda binder, _: binder.reader.properties()),
)
