"""A million rows (bigint, string, double) of a table in memory, fetched with unchanged PyHive and impyla.

Both servers answer the same client code with its default fetch sizes. The time of the client itself is measured on
recorded answers, which another process sends as fast as they are requested.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from impala import dbapi as impyla
from pyhive import hive

from bench.figure import Figure, comparison
from bench.server.recording import recorded, replayed
from bench.server.servers import SERVERS, SPARK_SERVER, Server
from bench.suites import CACHE

ROWS = 1_000_000
TIMES = 2
QUERY = "SELECT id, name, amount FROM million"
CLIENTS: dict[str, Callable[[int], Any]] = {
    "PyHive": lambda port: hive.connect("127.0.0.1", port, username="bench", auth="NONE"),
    "impyla": lambda port: impyla.connect("127.0.0.1", port, user="bench", password="x", auth_mechanism="PLAIN"),
}


def measure(runs: int) -> list[Figure]:
    seconds: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=CACHE) as folder:
        table = Path(folder, "million")
        _write(table)
        for name, start in SERVERS.items():
            with start("NONE") as server:
                server.cache([table])
                for client in CLIENTS:
                    seconds[client, name] = _fetch_seconds(client, server.port, runs)
                if name == "sharkpy":
                    alone = {client: _alone(client, server, runs) for client in CLIENTS}
    return [figure for client in CLIENTS for figure in _figures(client, seconds, alone[client])]


def _write(table: Path) -> None:
    table.mkdir()
    random = np.random.default_rng(11)
    names = [f"customer {number}" for number in random.integers(0, 500_000, ROWS)]
    columns = {"id": np.arange(ROWS), "name": names, "amount": np.round(random.random(ROWS) * 1000, 2)}
    pq.write_table(pa.table(columns), table / "rows.parquet")


def _fetch_seconds(client: str, port: int, runs: int) -> float:
    """Median seconds from the statement to its last row; the first run warms up."""
    return statistics.median([_run(client, port) for _ in range(runs + 1)][1:])


def _run(client: str, port: int) -> float:
    connection = CLIENTS[client](port)
    cursor = connection.cursor()
    gc.collect()
    start = time.perf_counter()
    cursor.execute(QUERY)
    rows = cursor.fetchall()
    seconds = time.perf_counter() - start
    if len(rows) != ROWS or sum(row[0] for row in rows) != ROWS * (ROWS - 1) // 2:
        raise AssertionError(f"{len(rows)} rows came, not the rows of the table")
    cursor.close()
    connection.close()
    return seconds


def _alone(client: str, server: Server, runs: int) -> float:
    frames = recorded(server.port, lambda port: _run(client, port))
    with replayed(frames) as port:
        return _fetch_seconds(client, port, runs)


def _figures(client: str, seconds: dict[tuple[str, str], float], alone: float) -> list[Figure]:
    ours, spark = seconds[client, "sharkpy"], seconds[client, "spark"]
    what, aims = f"{ROWS:,} rows fetched by {client}", (f"at least {TIMES} times faster", spark >= TIMES * ours)
    return [
        comparison(what, "s", ours, {SPARK_SERVER: spark}, *aims, is_key=client == "PyHive"),
        Figure(f"{what}: the client alone, on recorded answers", f"{alone:.2f} s, {alone / ours:.0%} of the time"),
    ]
