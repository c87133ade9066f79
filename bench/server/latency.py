"""Latency of `SELECT 1` with PyHive, over SASL: on an open connection, and with opening and closing it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from bench.pde import Figure
from bench.server.servers import SERVERS, Server

QUERIES = 300
CONNECTIONS = 60
_WARM_UP = 60
OPEN_MS, CONNECT_MS = 10, 50


def measure(runs: int) -> list[Figure]:  # noqa: ARG001 - their number is fixed
    figures = []
    for name, start in SERVERS.items():
        with start("NONE") as server:
            figures += _figures(server, is_aim=name == "sharkpy")
    return figures


def _figures(server: Server, *, is_aim: bool) -> list[Figure]:
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

    first = _milliseconds(ask, 1)[0]
    _milliseconds(ask, _WARM_UP)
    asked = _milliseconds(ask, QUERIES)
    connected = _milliseconds(connect_and_ask, CONNECTIONS)
    connection.close()
    return [
        Figure(f"{server.name}: the first query of all", f"{first:.0f} ms"),
        _figure(f"{server.name}: open connection", asked, OPEN_MS, is_aim=is_aim),
        _figure(f"{server.name}: connection, query, end", connected, CONNECT_MS, is_aim=is_aim),
    ]


def _figure(what: str, times: list[float], most: int, *, is_aim: bool) -> Figure:
    half, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
    aims = (f"p50 at most {most} ms", half <= most) if is_aim else ("", None)
    return Figure(f"`SELECT 1`, {what}", f"p50 {half:.1f} ms, p99 {p99:.1f} ms", *aims)


def _milliseconds(do: Callable[[], None], times: int) -> list[float]:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        do()
        found.append((time.perf_counter() - start) * 1000)
    return found
