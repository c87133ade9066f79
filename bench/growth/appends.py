"""INSERT of one row into a table of files, and reads of it, after 100 and after 10,000 appends (at scale 1)."""

from __future__ import annotations

from bench.figure import Figure
from bench.growth.timed import grown, median_ms, warehouse

_INSERT = "INSERT INTO t VALUES ({n}, 'x')"
_READS = {
    "SELECT of a table's key": "SELECT s FROM t WHERE a = 5",
    "`SELECT count(*)`": "SELECT count(*) FROM t",
    "DESCRIBE HISTORY": "DESCRIBE HISTORY t",
}
_RUNS = 50


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001 - the medians are of many statements
    most = int(10_000 * scale)
    with warehouse() as context:
        context.sql("CREATE TABLE t (a INT, s STRING) STORED AS PARQUET")

        def measured() -> dict[str, float]:
            context.table_cache.settle()
            return {what: median_ms(context, text, _RUNS) for what, text in _READS.items()}

        median_ms(context, _INSERT, 100 - _RUNS)
        first = median_ms(context, _INSERT, _RUNS)
        before = measured()
        median_ms(context, _INSERT, most - 100 - _RUNS)
        last = median_ms(context, _INSERT, _RUNS)
        after = measured()
    figures = [grown(f"INSERT of one row, after {most:,} instead of 100", first, last, is_key=True)]
    return figures + [
        grown(f"{what}, after {most:,} INSERTs instead of 100", before[what], after[what]) for what in _READS
    ]
