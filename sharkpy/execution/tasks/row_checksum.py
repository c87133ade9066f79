"""Checksum of a block's rows, regardless of order."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MODULUS = 1 << 64


def row_checksum(rows: pa.Table) -> int:
    """Return the sum of the rows' hashes: equal for equal rows in any order, and additive over tables."""
    if not rows.num_rows:
        return 0
    columns = [f"c{index}" for index in range(rows.num_columns)]
    cursor = _database().cursor()
    try:
        cursor.register("checked", rows.rename_columns(columns))
        ((total,),) = cursor.execute(f"SELECT sum(hash({', '.join(columns)})) FROM checked").fetchall()
    finally:
        cursor.close()
    return int(total) % _MODULUS


def total_checksum(checksums: list[int]) -> int:
    """Return the checksum of several tables together."""
    return sum(checksums) % _MODULUS


@functools.cache
def _database() -> DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"threads": 1})
