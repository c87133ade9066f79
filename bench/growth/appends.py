"""A table after 10,000 INSERTs (at scale 1), instead of 100."""

from __future__ import annotations

from bench.figure import Figure
from bench.growth.timed import SMALL, compared, warehouses

_INSERT = "INSERT INTO t VALUES ({n}, 'row {n}')"
_STATEMENTS = {
    "INSERT of one row": _INSERT,
    "SELECT of a table's key": "SELECT s FROM t WHERE a = 5",
    "`SELECT count(*)`": "SELECT count(*) FROM t",
    "DESCRIBE HISTORY": "DESCRIBE HISTORY t",
}


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001 - the medians are of many statements
    most = int(10_000 * scale)
    with warehouses() as pair:
        for context, number in zip(pair, (SMALL, most), strict=True):
            context.sql("CREATE TABLE t (a INT, s STRING) STORED AS PARQUET")
            for n in range(number):
                context.sql(_INSERT.format(n=n)).close()
            context.table_cache.settle()
        return compared(pair, _STATEMENTS, f"after {most:,} INSERTs", ("INSERT of one row",))
