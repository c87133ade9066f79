"""Clauses after the columns of CREATE TABLE, in any order: a table of clauses, each with its reader.

Several statements share the format, the Hive partitions and the caching by name that follow from the clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base import uri
from sharkpy.base.errors import ColumnNotFoundError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.base.settings import CACHE_CHECK_NAME
from sharkpy.catalog.avro_schema import schema_path, with_schema_text
from sharkpy.catalog.hive_formats import columns_of_format
from sharkpy.catalog.kafka_options import HANDLER
from sharkpy.catalog.lake_tables import LAKES, PartitionField
from sharkpy.catalog.model import BucketSpec, SkewSpec, StorageFormat, TableKind
from sharkpy.plan.commands import Properties
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.statements.bind_buckets import clustered_by, skewed_by
from sharkpy.sql.statements.bind_columns import check_column, column_fields
from sharkpy.sql.statements.bind_partition import check_partition_fields, column_names
from sharkpy.sql.statements.bind_storage import (
    Option,
    combined,
    options,
    provider,
    row_format,
    serde_properties,
    stored_as,
    with_options,
)
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import Field

if TYPE_CHECKING:
    from sharkpy.sql.grammar.token_reader import TokenReader
    from sharkpy.sql.statements.command_binder import CommandBinder


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


_WORDS = {"year": "year", "month": "month", "day": "day", "date": "day", "hour": "hour", "bucket": "bucket"}
_TRANSFORMS = _WORDS | {"years": "year", "months": "month", "days": "day", "hours": "hour", "truncate": "truncate"}
"""Transforms by their names in Hive and in Spark."""
_NUMBERED = ("bucket", "truncate")


def lake_word(reader: TokenReader) -> str | None:
    """Take the name of a lake format, or the class of its storage handler, after STORED BY.

    Return None if it does not come next.
    """
    token = reader.current
    if token is not None and token.token_type == TokenType.STRING:
        found = next((name for name, handler in LAKES.items() if handler == token.text), None)
    else:
        found = reader.word().lower() if reader.word().lower() in LAKES else None
    if found is not None:
        reader.take()
    return found


def divides_by_transforms(reader: TokenReader) -> bool:
    """Return whether SPEC follows PARTITIONED BY, or its list has a transform."""
    if reader.peek("SPEC"):
        return True
    following = reader.tokens[reader.position :]
    starts = [i for i, one in enumerate(following[:-2]) if one.token_type in (TokenType.L_PAREN, TokenType.COMMA)]
    for start in starts:
        word, behind = following[start + 1], following[start + 2]
        if word.text.lower() in _TRANSFORMS and behind.token_type == TokenType.L_PAREN:
            return True
        if word.token_type == TokenType.R_PAREN:
            return False
    return False


def partition_fields(binder: CommandBinder) -> list[PartitionField]:
    """Read [SPEC] (column | transform(…), …)."""
    reader = binder.reader
    reader.match("SPEC")
    reader.expect("(")
    found: list[PartitionField] = []
    while True:
        found.append(_partition_field(reader))
        if reader.match(")"):
            return found
        reader.expect(",")


def _partition_field(reader: TokenReader) -> PartitionField:
    word = reader.name("a column or a transform")
    if not reader.match("("):
        return PartitionField("identity", word)
    transform = _TRANSFORMS.get(word)
    if transform is None:
        raise reader.error(f"a transform ({', '.join(sorted(set(_TRANSFORMS.values())))}) expected")
    number = None
    if transform in _NUMBERED:
        number = reader.whole_number("the number of the transform")
        reader.expect(",")
    column = reader.name("a column name")
    reader.expect(")")
    return PartitionField(transform, column, number)


def storage_of_clauses(binder: CommandBinder, clauses: TableClauses) -> StorageFormat | None:
    storage = combined(binder.reader, clauses.row, clauses.file)
    if not clauses.options:
        return storage
    if storage is None:
        raise binder.reader.error("USING and a format expected, whose OPTIONS these are")
    return with_options(binder.reader, storage, clauses.options)


def columns_by_format(
    binder: CommandBinder, storage: StorageFormat, properties: Properties, fields: list[Field] | None
) -> list[Field] | None:
    """Return the columns of a new table or stream, which its format may decide.

    Raise NotAllowedError if the schema is in a file that the session may not read.
    """
    given = (*properties, *storage.properties)
    if (path := schema_path(given)) is not None and not uri.is_remote(path):
        binder.context.catalog.check_path(path)
    return columns_of_format(storage, with_schema_text(given, binder.context.catalog.named_schema_text), fields)


def partitioned_columns(
    binder: CommandBinder,
    kind: TableKind,
    fields: list[Field],
    query: LogicalPlan | None,
    partitions: list[Field] | list[str],
) -> tuple[list[Field], LogicalPlan | None, tuple[str, ...]]:
    """Return all columns and the query's columns, with partition columns last, and the names of the latter."""
    reader = binder.reader
    if not partitions:
        return fields, query, ()
    if kind is TableKind.TEMPORARY:
        raise reader.unsupported("PARTITIONED BY in CREATE TEMPORARY TABLE")
    given = [one for one in partitions if isinstance(one, Field)]
    names = tuple(one if isinstance(one, str) else one.name for one in partitions)
    if query is not None and given:
        raise reader.error("in CREATE TABLE AS SELECT, PARTITIONED BY takes only names of the query's columns")
    stored = {field.name for field in fields}
    for field in given:
        check_column(binder, stored, field, None)
    by_name = {field.name: field for field in [*fields, *given]}
    if query is None and not given and not by_name.keys() >= set(names):
        raise reader.error("a type for each column in PARTITIONED BY expected, or names of listed columns")
    if unknown := next((name for name in names if name not in by_name), None):
        hint = did_you_mean(unknown, by_name)
        raise binder.error(f'no column "{unknown}" to be partitioned by', None, ColumnNotFoundError, hint)
    if len(names) == len(by_name):
        raise binder.error("a table needs a column that is not in PARTITIONED BY", None)
    check_partition_fields(binder, [by_name[name] for name in names], None)
    order = [name for name in by_name if name not in names] + list(names)
    if query is not None:
        columns = {column.name: column for column in query.output}
        query = Project(query, tuple(columns[name] for name in order))
    return [by_name[name] for name in order], query, names


def cached_by_name(binder: CommandBinder, name: str, properties: Properties) -> Properties:
    """Return the properties of a new table.

    As in Shark, a table named *_cached is cached unless the properties say otherwise.
    """
    if not name.endswith("_cached") or not binder.context.conf.value(CACHE_CHECK_NAME):
        return properties
    return properties if "shark.cache" in dict(properties) else (*properties, ("shark.cache", "MEMORY"))
