"""A table with 10,000 Hive partitions (at scale 1), instead of 100."""

from __future__ import annotations

from bench.figure import Figure
from bench.growth.timed import SMALL, compared, warehouses

_STATEMENTS = {
    "SELECT of one Hive partition": "SELECT count(*) FROM p WHERE d = 7",
    "SELECT of another Hive partition each time": "SELECT count(*) FROM p WHERE d = {n}",
    "SELECT of 30 Hive partitions": "SELECT count(*) FROM p WHERE d >= 50 AND d < 80",
    "SHOW PARTITIONS with values": "SHOW PARTITIONS p PARTITION (d = 7)",
    "INSERT into one Hive partition": "INSERT INTO p PARTITION (d = 7) VALUES ({n})",
    "INSERT by the values of a column": "INSERT INTO p SELECT {n}, 8",
    "SELECT of one Hive partition at an earlier version": "SELECT count(*) FROM p VERSION AS OF 2 WHERE d = 7",
}
_KEYS = ("SELECT of one Hive partition", "INSERT into one Hive partition")


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001 - the medians are of many statements
    most = int(10_000 * scale)
    with warehouses() as pair:
        for context, number in zip(pair, (SMALL, most), strict=True):
            context.sql("SET hive.exec.max.dynamic.partitions=1000000")
            context.sql("SET hive.exec.max.dynamic.partitions.pernode=1000000")
            context.sql("CREATE TABLE p (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
            context.sql(f"INSERT INTO p SELECT id, id FROM (SELECT explode(sequence(1, {number})) AS id) x")
        return compared(pair, _STATEMENTS, f"of {most:,}", _KEYS)
