"""Ten million rows (bigint, int, double, string) of a table in memory, by `POST /v1/sql` and by clients of HiveServer2.

All clients read from one server, in turns: sharkpy's own over HTTP and over Thrift, and unchanged PyHive and impyla.
Each one reads the rows in its own form: Arrow batches, or tuples.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from impala import dbapi as impyla
from pyhive import hive

import sharkpy
from bench.figure import Figure, comparison
from bench.server.servers import Server, sharkpy_server
from bench.suites import CACHE
from sharkpy.client import connect_to, parse_url

ROWS = 10_000_000
TIMES = 10
QUERY = "SELECT id, quantity, amount, name FROM orders"
_FETCHED = 10_000


def measure(runs: int, rows: int = ROWS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="sql-", dir=CACHE) as folder:
        table = Path(folder, "orders")
        _write(table, rows)
        with sharkpy_server("NONE") as server:
            server.cache([table])
            seconds: dict[str, list[float]] = {name: [] for name in CLIENTS}
            for _ in range(runs):
                for name, read in CLIENTS.items():
                    seconds[name].append(_seconds(read, server, rows))
    ours, *_ = medians = [statistics.median(one) for one in seconds.values()]
    peers = dict(zip([*CLIENTS][1:], medians[1:], strict=True))
    is_met = peers["PyHive"] >= TIMES * ours
    aim = f"at least {TIMES} times faster than PyHive"
    return [comparison(f"{rows:,} rows by POST /v1/sql", "s", ours, peers, aim, is_met, is_key=True)]


def _write(table: Path, rows: int) -> None:
    table.mkdir()
    random = np.random.default_rng(11)
    names = pa.array([f"customer {number}" for number in range(500_000)])
    columns = {
        "id": np.arange(rows),
        "quantity": random.integers(1, 100, rows, dtype=np.int32),
        "amount": np.round(random.random(rows) * 1000, 2),
        "name": names.take(pa.array(random.integers(0, len(names), rows))),
    }
    pq.write_table(pa.table(columns), table / "rows.parquet")


def _seconds(read: Callable[[Server], Iterable[int]], server: Server, rows: int) -> float:
    """Seconds from the connection to the last row. `read` yields sums of the first column."""
    start = time.perf_counter()
    total = sum(read(server))
    seconds = time.perf_counter() - start
    if total != rows * (rows - 1) // 2:
        raise AssertionError("the rows that came are not the rows of the table")
    return seconds


def _over_http(server: Server) -> Iterable[int]:
    with sharkpy.connect(f"http://127.0.0.1:{server.web_port}") as session:
        for batch in session.sql(QUERY).batches():
            yield pc.sum(batch.column(0)).as_py() or 0


def _over_thrift(server: Server) -> Iterable[int]:
    with connect_to(parse_url(f"hive2://127.0.0.1:{server.port}")) as session:
        for batch in session.sql(QUERY).batches():
            yield pc.sum(batch.column(0)).as_py() or 0


def _by_cursor(connection: Any) -> Iterable[int]:
    cursor = connection.cursor()
    cursor.execute(QUERY)
    while rows := cursor.fetchmany(_FETCHED):
        yield sum(row[0] for row in rows)
    cursor.close()
    connection.close()


def _by_impyla(server: Server) -> Iterable[int]:
    yield from _by_cursor(impyla.connect("127.0.0.1", server.port, user="bench", password="x", auth_mechanism="PLAIN"))


CLIENTS: dict[str, Callable[[Server], Iterable[int]]] = {
    "sharkpy over HTTP": _over_http,
    "sharkpy over Thrift": _over_thrift,
    "PyHive": lambda server: _by_cursor(hive.connect("127.0.0.1", server.port, username="bench", auth="NONE")),
    "impyla": _by_impyla,
}
"""Readers of the query's rows, sharkpy over HTTP first."""
