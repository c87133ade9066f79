"""A database with 5,000 tables (at scale 1), instead of 100."""

from __future__ import annotations

from bench.figure import Figure
from bench.growth.timed import grown, median_ms, warehouse

_STATEMENTS = {
    "SELECT of one table": "SELECT count(*) FROM t7",
    "INSERT into one table": "INSERT INTO t7 VALUES ({n})",
    "CREATE TABLE": "CREATE TABLE made{n} (a INT) STORED AS PARQUET",
    "DROP TABLE": "DROP TABLE made{n}",
    "INSERT OVERWRITE of one table": "INSERT OVERWRITE TABLE t7 VALUES ({n})",
}
_KEY = ("SELECT of one table", "INSERT into one table")
_RUNS = 30


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001 - the medians are of many statements
    most = int(5_000 * scale)
    with warehouse() as context:
        found = []
        for start, end in ((0, 100), (100, most)):
            for number in range(start, end):
                context.sql(f"CREATE TABLE t{number} (a INT) STORED AS PARQUET").close()
                context.sql(f"INSERT INTO t{number} VALUES (1)").close()
            found.append({what: median_ms(context, text, _RUNS) for what, text in _STATEMENTS.items()})
    before, after = found
    return [
        grown(f"{what}, of {most:,} instead of 100", before[what], after[what], is_key=what in _KEY)
        for what in _STATEMENTS
    ]
