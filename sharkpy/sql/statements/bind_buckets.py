"""CLUSTERED BY, DISTRIBUTE BY in CREATE TABLE AS, and shark.copartition: the buckets of a new table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sqlglot.tokenizer_core import TokenType

from sharkpy.base.errors import BindError, ColumnNotFoundError, TypeMismatchError, UnsupportedError, did_you_mean
from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.model import BucketSpec, SkewSpec, Table
from sharkpy.catalog.names import qualified
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Distribute, LogicalPlan, Sort
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import ArrayType, Field, MapType, Schema, StructType

MAX_BUCKETS = 4096
COPARTITION = "shark.copartition"
_UNCACHED = ("NONE", "FALSE")


def clustered_by(reader: TokenReader) -> BucketSpec:
    """Read (column, …) [SORTED BY (column [ASC | DESC], …)] [INTO n BUCKETS], after CLUSTERED BY.

    Without INTO, the number of buckets is 0.
    """
    columns = tuple(name for name, _ in _columns(reader, ordered=False))
    sort_columns = _columns(reader, ordered=True) if reader.match("SORTED", "BY") else ()
    return BucketSpec(columns, num_buckets(reader) if reader.match("INTO") else 0, sort_columns)


def num_buckets(reader: TokenReader) -> int:
    """Read n BUCKETS, after INTO."""
    number = whole_number(reader.word())
    if number is None or not 0 < number <= MAX_BUCKETS:
        raise reader.error(f"a number of buckets from 1 to {MAX_BUCKETS} expected")
    reader.take()
    reader.expect("BUCKETS")
    return number


def _columns(reader: TokenReader, *, ordered: bool) -> tuple[tuple[str, bool], ...]:
    reader.expect("(")
    found: list[tuple[str, bool]] = []
    while True:
        name = reader.name("a column name")
        found.append((name, (reader.match_any("ASC", "DESC") if ordered else None) != "DESC"))
        if reader.match(")"):
            return tuple(found)
        reader.expect(",")


def skewed_by(binder: CommandBinder, known: Sequence[str]) -> SkewSpec:
    """Read (column, …) ON (value, …) | ((value, …), …) [STORED AS DIRECTORIES], after SKEWED BY."""
    reader = binder.reader
    token = reader.current
    columns = tuple(name for name, _ in _columns(reader, ordered=False))
    for name in columns:
        if name not in known:
            hint = did_you_mean(name, known)
            raise binder.error(f'no column "{name}" to be skewed by', token, ColumnNotFoundError, hint)
    reader.expect("ON")
    token = reader.current
    values: list[tuple[str, ...]] = []
    reader.expect("(")
    while True:
        values.append(_values(reader) if reader.peek("(") else (_value(reader),))
        if reader.match(")"):
            break
        reader.expect(",")
    if any(len(one) != len(columns) for one in values):
        raise binder.error("as many values as columns expected in SKEWED BY … ON", token)
    return SkewSpec(columns, tuple(values), reader.match("STORED", "AS", "DIRECTORIES"))


def _values(reader: TokenReader) -> tuple[str, ...]:
    reader.expect("(")
    values: list[str] = []
    while True:
        values.append(_value(reader))
        if reader.match(")"):
            return tuple(values)
        reader.expect(",")


def _value(reader: TokenReader) -> str:
    """Text of a literal."""
    sign = "-" if reader.match("-") else ""
    token = reader.take()
    if token.token_type not in (TokenType.STRING, TokenType.NUMBER):
        reader.position -= 1
        raise reader.error("a literal expected")
    return sign + str(token.text)


def bucket_spec(
    binder: CommandBinder,
    clause: BucketSpec | None,
    fields: Sequence[Field],
    properties: Sequence[tuple[str, str]],
    query: LogicalPlan | None,
) -> BucketSpec | None:
    """Buckets of a new table with these columns; None if it has none.

    `num_buckets` is 0 if it is not chosen yet. Raise an error if a column is missing, or if its type cannot be hashed.
    """
    given = dict(properties)
    schema = Schema(tuple(fields))
    if clause is None and query is not None and given.get("shark.cache", "NONE").upper() not in _UNCACHED:
        clause = _distributed_by(query)
    if clause is not None:
        _check(clause, schema)
    if COPARTITION not in given:
        if clause is not None and clause.num_buckets == 0 and query is None:
            raise binder.reader.error("INTO and a number of BUCKETS expected after CLUSTERED BY")
        return clause
    if clause is None:
        hint = "DISTRIBUTE BY the key in the query of a cached table, or CLUSTERED BY (key)"
        raise BindError(f"{COPARTITION} needs a key", hint=hint)
    return _aligned(clause, schema, _other(binder, given[COPARTITION]))


def _distributed_by(query: LogicalPlan) -> BucketSpec | None:
    """Buckets of a query that ends with DISTRIBUTE BY or CLUSTER BY of its output columns; else None."""
    sort: tuple[tuple[str, bool], ...] = ()
    names = {column.column_id: column.name for column in query.output}
    if isinstance(query, Sort) and not query.is_global:
        keys = [(key.expr, key.ascending) for key in query.keys]
        if all(isinstance(expr, ColumnRef) and expr.column_id in names for expr, _ in keys):
            sort = tuple((names[expr.column_id], up) for expr, up in keys)  # type: ignore[attr-defined]
        query = query.child
    if not isinstance(query, Distribute):
        return None
    keys_ids = [key.column_id if isinstance(key, ColumnRef) else -1 for key in query.keys]
    if not keys_ids or len(set(keys_ids)) < len(keys_ids) or not all(key in names for key in keys_ids):
        return None
    return BucketSpec(tuple(names[key] for key in keys_ids), 0, sort)


def _check(clause: BucketSpec, schema: Schema) -> None:
    """Check that bucket and sort columns exist, are not repeated, and have types that can be hashed."""
    for names in (clause.columns, tuple(name for name, _ in clause.sort_columns)):
        for name in names:
            if not schema.has(name):
                hint = did_you_mean(name, schema.names)
                raise ColumnNotFoundError(f'no column "{name}" to cluster by', hint=hint)
            if names.count(name) > 1:
                raise BindError(f'the column "{name}" is listed twice', sqlstate="42701")
    for name in clause.columns:
        if isinstance(schema[name].dtype, (ArrayType, MapType, StructType)):
            raise UnsupportedError(f'buckets by column "{name}" of type {schema[name].dtype} are not supported')


def _other(binder: CommandBinder, text: str) -> Table:
    return binder.context.catalog.table(*qualified(text, binder.context.database))


def _aligned(clause: BucketSpec, schema: Schema, other: Table) -> BucketSpec:
    """Give `clause` the number of buckets of `other`.

    Raise BindError if rows with equal keys could be in different buckets.
    """
    if other.buckets is None:
        raise BindError(
            f"{COPARTITION}: {other.qualified_name} is not partitioned by a key",
            hint="create it with CLUSTERED BY, or with the property shark.cache AS SELECT … DISTRIBUTE BY its key",
        )
    own = [schema[name].dtype for name in clause.columns]
    others = [other.schema[name].dtype for name in other.buckets.columns]
    if own != others:
        raise TypeMismatchError(
            f"{COPARTITION}: the key [{', '.join(map(str, own))}] cannot align with the key "
            f"[{', '.join(map(str, others))}] of {other.qualified_name}",
            hint="cast the key to the other table's type",
        )
    if clause.num_buckets not in (0, other.buckets.num_buckets):
        raise BindError(f"{COPARTITION}: {other.qualified_name} has {other.buckets.num_buckets} buckets")
    return dataclasses.replace(clause, num_buckets=other.buckets.num_buckets)
