"""Shared parts of the scans of files: queries over TPC-H lineitem, timed after a first run, with answers compared."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.figure import Figure, comparison, geometric_mean
from bench.suites import SUITES
from sharkpy.values.types import from_arrow

SCALE = 1.0
QUERIES = {
    "count(*)": "SELECT count(*) AS n FROM lineitem",
    "two columns of 16": "SELECT sum(l_quantity) AS q, max(l_shipdate) AS d FROM lineitem",
    "a filter": "SELECT count(*) AS n, sum(l_extendedprice) AS p FROM lineitem WHERE l_shipdate < '1993-01-01'",
    "TPC-H 1": """SELECT l_returnflag, l_linestatus, sum(l_quantity) AS q, sum(l_extendedprice) AS p,
        sum(l_extendedprice * (1 - l_discount)) AS d, max(l_tax) AS t, count(*) AS n
        FROM lineitem WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY 1, 2""",
    "all columns": """SELECT sum(l_orderkey) AS a, sum(l_partkey) AS b, sum(l_suppkey) AS c, sum(l_linenumber) AS d,
        sum(l_quantity) AS e, sum(l_extendedprice) AS f, sum(l_discount) AS g, sum(l_tax) AS h,
        sum(length(l_returnflag)) AS i, sum(length(l_linestatus)) AS j, sum(year(l_shipdate)) AS k,
        sum(year(l_commitdate)) AS l, sum(year(l_receiptdate)) AS m, sum(length(l_shipinstruct)) AS n,
        sum(length(l_shipmode)) AS o, sum(length(l_comment)) AS p FROM lineitem""",
}
"""Queries that HiveQL, Spark SQL and DuckDB read alike."""


def lineitem() -> Path:
    """Folder of lineitem as Parquet."""
    return SUITES["tpch"].data(SCALE) / "lineitem"


def columns() -> str:
    """Columns of lineitem for CREATE TABLE."""
    schema = pq.read_schema(next(lineitem().glob("*.parquet")))
    return ", ".join(f"{field.name} {from_arrow(field.type)}" for field in schema)


def timed(
    run: Callable[[str], pa.Table], runs: int, queries: Mapping[str, str] = QUERIES
) -> tuple[dict[str, float], dict[str, list[Any]]]:
    """Median seconds of each query after a first run, and its rows."""
    seconds, answers = {}, {}
    for name, query in queries.items():
        answers[name] = run(query).to_pylist()
        taken = []
        for _ in range(max(runs, 3)):
            start = time.perf_counter()
            run(query)
            taken.append(time.perf_counter() - start)
        seconds[name] = statistics.median(taken)
    return seconds, answers


def check_equal(ours: Mapping[str, list[Any]], theirs: Mapping[str, list[Any]], peer: str) -> None:
    """Raise if answers differ within ten digits."""
    for name, rows in ours.items():
        if [_comparable(row) for row in rows] != [_comparable(row) for row in theirs[name]]:
            raise AssertionError(f"{name}: {rows} and by {peer} {theirs[name]}")


def _comparable(row: Mapping[str, Any]) -> list[str]:
    return [f"{float(value):.10g}" if _is_number(value) else str(value) for value in row.values()]


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def against_duckdb(what: str, ours: Mapping[str, float], theirs: Mapping[str, float], most: float) -> list[Figure]:
    """Figures of seconds by query, and of their geometric means."""
    mean, their_mean = (geometric_mean(times.values()) for times in (ours, theirs))
    aims = (f"at most {most:g} times", mean <= most * their_mean)
    named = f"geometric mean of {len(ours)} {what}"
    return [
        *(comparison(name, "ms", 1000 * ours[name], {"DuckDB": 1000 * theirs[name]}) for name in ours),
        comparison(named, "ms", 1000 * mean, {"DuckDB": 1000 * their_mean}, *aims, is_key=True),
    ]
