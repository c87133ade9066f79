"""Latency of `SELECT 1` with PyHive, over SASL: on an open connection, and with opening and closing it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from bench.figure import Figure, comparison
from bench.server.servers import SERVERS, SPARK_SERVER, Server

QUERIES = 300
CONNECTIONS = 60
_WARM_UP = 60
OPEN_MS, CONNECT_MS = 10, 50


def measure(runs: int) -> list[Figure]:  # noqa: ARG001 - their number is fixed
    times = {}
    for name, start in SERVERS.items():
        with start("NONE") as server:
            times[name] = _times(server)
    (first, asked, connected), theirs = times["sharkpy"], times["spark"]
    return [
        comparison("the first query of all", "ms", first[0], {SPARK_SERVER: theirs[0][0]}),
        *_figures("`SELECT 1`, open connection", asked, theirs[1], OPEN_MS, is_key=True),
        *_figures("`SELECT 1`, connection, query, end", connected, theirs[2], CONNECT_MS),
    ]


def _times(server: Server) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of the first query, of queries of an open connection, and of connections with a query."""
    connection = server.connect()
    cursor = connection.cursor()

    def ask() -> None:
        cursor.execute("SELECT 1")
        if cursor.fetchall() != [(1,)]:
            raise AssertionError("the answer is not 1")

    def connect_and_ask() -> None:
        own = server.connect()
        own_cursor = own.cursor()
        own_cursor.execute("SELECT 1")
        own_cursor.fetchall()
        own_cursor.close()
        own.close()

    first = _milliseconds(ask, 1)
    _milliseconds(ask, _WARM_UP)
    asked = _milliseconds(ask, QUERIES)
    connected = _milliseconds(connect_and_ask, CONNECTIONS)
    connection.close()
    return first, asked, connected


def _figures(
    what: str, ours: list[float], theirs: list[float], most: int, *, is_key: bool = False
) -> tuple[Figure, Figure]:
    (half, p99), (their_half, their_p99) = (
        (statistics.median(times), statistics.quantiles(times, n=100)[98]) for times in (ours, theirs)
    )
    aims = (f"at most {most} ms", half <= most)
    return (
        comparison(f"{what}, p50", "ms", half, {SPARK_SERVER: their_half}, *aims, is_key=is_key),
        comparison(f"{what}, p99", "ms", p99, {SPARK_SERVER: their_p99}),
    )


def _milliseconds(do: Callable[[], None], times: int) -> list[float]:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        do()
        found.append((time.perf_counter() - start) * 1000)
    return found
