"""Bucket of each row of a bucketed table, by the hash of exchanges, so that buckets and exchanges align."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.catalog.model import BucketSpec
from sharkpy.physical.sinks import Bucketing
from sharkpy.values.types import Schema, to_arrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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
        from sharkpy.execution.tasks.buckets import bucket_number, quoted
        from sharkpy.udf.types_duckdb import duckdb_type

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
