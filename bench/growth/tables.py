"""A database with 5,000 tables (at scale 1), instead of 100."""

from __future__ import annotations

from bench.figure import Figure
from bench.growth.timed import SMALL, compared, warehouses

_STATEMENTS = {
    "SELECT of one table": "SELECT count(*) FROM t7",
    "INSERT into one table": "INSERT INTO t7 VALUES ({n})",
    "CREATE TABLE": "CREATE TABLE made{n} (a INT) STORED AS PARQUET",
    "DROP TABLE": "DROP TABLE made{n}",
    "INSERT OVERWRITE of one table": "INSERT OVERWRITE TABLE t7 VALUES ({n})",
}
_KEYS = ("SELECT of one table", "INSERT into one table")


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001 - the medians are of many statements
    most = int(5_000 * scale)
    with warehouses() as pair:
        for context, number in zip(pair, (SMALL, most), strict=True):
            for n in range(number):
                context.sql(f"CREATE TABLE t{n} (a INT) STORED AS PARQUET").close()
                context.sql(f"INSERT INTO t{n} VALUES (1)").close()
        return compared(pair, _STATEMENTS, f"of {most:,}", _KEYS)
