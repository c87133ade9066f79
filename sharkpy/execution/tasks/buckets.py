"""Bucket of each row in DuckDB SQL: by a stable hash, or by comparison with boundary rows.

A bucketed table uses the hash of exchanges, so that its buckets and the buckets of exchanges are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import BucketSpec
from sharkpy.physical.stage_program import Bucketing, HashSink, RangeSink, SingleSink, StageSink
from sharkpy.udf.ordering import order_key
from sharkpy.values.types import NULL, Schema, to_arrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BUCKET_COLUMN = "__bucket"
HASH_COLUMN = "__hash"
ExchangeSink = HashSink | RangeSink | SingleSink


def bucketed_sql(sql: str, sink: ExchangeSink, connection: DuckDBPyConnection) -> str:
    """Return `sql` with the row's bucket as last column. Equal rows get equal buckets in every process and attempt."""
    match sink:
        case SingleSink():
            return sql
        case HashSink(keys, num_buckets):
            columns = ", ".join(map(quoted, keys))
            bucket = f"(hash({columns}) % {num_buckets})::INTEGER" if keys else "0::INTEGER"
        case RangeSink():
            bucket = _search("__key", boundary_keys(sink, connection), 0)
            inner = f"SELECT *, {sort_key(sink)} AS __key FROM ({sql})"
            return f"SELECT * EXCLUDE (__key), ({bucket})::INTEGER AS {BUCKET_COLUMN} FROM ({inner})"
    return f"SELECT *, {bucket} AS {BUCKET_COLUMN} FROM ({sql})"


def hashed_sql(sql: str, sink: HashSink) -> str:
    """Return `sql` with the hash of the row's key as last column. Its remainder is the bucket of `bucketed_sql`."""
    key = f"hash({', '.join(map(quoted, sink.keys))})" if sink.keys else "0::UBIGINT"
    return f"SELECT *, {key} AS {HASH_COLUMN} FROM ({sql})"


def bucket_number(columns: Iterable[str], types: Iterable[str], num_buckets: int) -> str:
    """Return the bucket of rows by the key `columns` with DuckDB `types`. Equal values of other types may differ."""
    values = ", ".join(f"CAST({column} AS {dtype})" for column, dtype in zip(columns, types, strict=True))
    return f"(hash({values}) % {num_buckets})::INTEGER"


def sort_key(sink: RangeSink) -> str:
    """Return an expression that sorts like the sink's keys.

    It is a BLOB of DuckDB, or a BIGINT if all keys together are short and of fixed size.
    """
    parts = []
    for (name, ascending, nulls_first), dtype in zip(sink.keys, sink.types or repeat(NULL), strict=False):
        order = f"{'ASC' if ascending else 'DESC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
        parts.append(f"{order_key(quoted(name), dtype)}, '{order}'")
    return f"create_sort_key({', '.join(parts)})"


def boundary_keys(sink: RangeSink, connection: DuckDBPyConnection) -> list[bytes | int]:
    """Return the sort keys of the sink's boundary rows."""
    table = pa.ipc.open_stream(sink.bounds).read_all()
    if not table.num_rows:
        return []
    connection.register("__bounds", table)
    try:
        rows = connection.execute(f"SELECT {sort_key(sink)} FROM __bounds ORDER BY 1").fetchall()
    finally:
        connection.unregister("__bounds")
    return [key for (key,) in rows]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _search(key: str, bounds: list[bytes | int], first: int) -> str:
    """Return a balanced CASE that counts the `bounds` not greater than `key`, starting at `first`."""
    if not bounds:
        return str(first)
    middle = len(bounds) // 2
    below, above = _search(key, bounds[:middle], first), _search(key, bounds[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {key} < {_literal(bounds[middle])} THEN {below} ELSE {above} END"


def _literal(key: bytes | int) -> str:
    if isinstance(key, int):
        return f"{key}::BIGINT"
    return "'" + "".join(f"\\x{byte:02X}" for byte in key) + "'::BLOB"


def bucket_count(sink: StageSink) -> int:
    match sink:
        case SingleSink():
            return 1
        case HashSink():
            return sink.all_buckets
        case RangeSink():
            return sink.num_buckets
    raise InternalError(f"{type(sink).__name__} writes no exchange")


BucketNumbers = np.ndarray[Any, np.dtype[np.int32]]


def hash_id() -> str:
    """Return the name of the hash function, which may change between DuckDB versions."""
    import duckdb

    return f"duckdb-{duckdb.__version__}"


def bucketing(spec: BucketSpec | None, schema: Schema) -> Bucketing | None:
    """Return the bucketing of a sink for rows of `schema`, by a table's buckets."""
    if spec is None:
        return None
    return Bucketing(tuple(schema.names.index(name) for name in spec.columns), spec.num_buckets)


def _connect() -> DuckDBPyConnection:
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})


@dataclass(slots=True)
class RowBuckets:
    """Finder of the buckets of rows of `schema`; for use by one thread."""

    spec: BucketSpec
    schema: Schema
    _connection: DuckDBPyConnection = field(default_factory=_connect)

    def numbers(self, table: pa.Table) -> BucketNumbers:
        """Return the bucket of each row."""

        from sharkpy.udf.duckdb_sql import duckdb_type

        names = self.spec.columns
        types = [self.schema[name].dtype for name in names]
        keys = [table.column(name).cast(to_arrow(dtype)) for name, dtype in zip(names, types, strict=True)]
        number = bucket_number(map(quoted, names), map(duckdb_type, types), self.spec.num_buckets)
        self._connection.register("rows", pa.table(keys, list(names)))
        rows = self._connection.sql(f"SELECT {number} AS bucket FROM rows").to_arrow_table()
        self._connection.unregister("rows")
        return rows.column(0).to_numpy()  # type: ignore[no-any-return]

    def split_all(self, tables: Iterable[pa.Table]) -> Iterator[tuple[int, pa.Table]]:
        """Yield each non-empty bucket, ascending, with its rows in order."""
        whole = list(tables)
        if whole:
            rows = pa.concat_tables(whole, promote_options="permissive")
            yield from split_by_number(rows, self.numbers(rows), self.spec.num_buckets)


def split_by_number(table: pa.Table, buckets: BucketNumbers, num_buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield each non-empty bucket with its rows in order. `buckets` has the bucket of each row."""
    counts = np.bincount(buckets, minlength=num_buckets)
    present = np.flatnonzero(counts)
    if len(present) > 1:
        table = table.take(np.argsort(buckets, kind="stable"))
    ends = np.cumsum(counts)
    for bucket in present:
        count = int(counts[bucket])
        yield int(bucket), table.slice(int(ends[bucket]) - count, count)
