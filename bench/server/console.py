"""The console: calls of its API over a history of 100,000 statements, and its cost for statements and for the start."""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

import sharkpy
from bench.figure import Figure, comparison
from bench.server.servers import Server, serve
from bench.suites import CACHE
from sharkpy.catalog.statement_records import StatementFile, StatementRecord, StatementState

STATEMENTS = 100_000
MOST_MS, MOST_START_SECONDS, MOST_COST = 50.0, 0.2, 0.02
_SAVED = {"shark.history.saved": "true", "shark.history.saved.statements": str(2 * STATEMENTS)}
_SETTINGS = {**_SAVED, "shark.history.saved.days": "10000"}
_CALLS = 20
_PAUSE_SECONDS = 2.0
"""Pause before the overview asks again because a statement has begun or ended."""
_TABLES = ("orders", "lineitem", "customer", "nation", "region", "part", "supplier", "partsupp")
_WORK = "SELECT count(*) FROM numbers a CROSS JOIN (SELECT n FROM numbers LIMIT 2000) b WHERE a.n * b.n % 7 = 3"

LISTS = {
    "list": "queries?limit=50",
    "list of a user": "queries?limit=50&user=user7",
    "list of failed ones": "queries?limit=50&state=failed&state=timed_out",
    "list by seconds": "queries?limit=50&sort=seconds",
    "list of a user by CPU time": "queries?limit=50&user=user7&sort=cpu_seconds",
    "list of a day": "queries?limit=50&since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z",
    "search of a frequent word": "queries?limit=50&text=lineitem",
    "search of a rare word": "queries?limit=50&text=needle",
    "search of two letters": "queries?limit=50&text=zq",
    "search among failed ones by memory": "queries?limit=50&text=customer&state=failed&sort=peak_bytes",
    "groups by shape": "shapes",
    "session": "session",
}
"""Calls by name, each a path below /api/v1."""


def measure(runs: int, statements: int = STATEMENTS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="console-", dir=CACHE) as folder:
        _fill(folder, statements)
        with serve(folder, settings=_SETTINGS) as server:
            figures = [*_calls(server)]
        with serve(folder, settings=_SETTINGS) as server:
            figures.append(_open_console(server, runs))
        figures.append(_system_table(folder, statements))
        figures.append(_start(folder, max(runs, 5)))
        figures.append(_figures_of_statements(folder, runs))
        return figures


def _fill(folder: str, statements: int) -> None:
    """Make a warehouse with a table and a history."""
    with sharkpy.connect("local[2]", Path(folder, "warehouse"), **_SETTINGS) as session:
        session.sql("CREATE TABLE numbers AS SELECT n FROM (SELECT posexplode(split(space(99999), ' ')) AS (n, x)) t")
        session.sql("SELECT max(n) FROM numbers WHERE n > 5").fetchall()
        path, measured = session.catalog.file_path, session.history(1)[0]
    file = StatementFile(path, 2 * statements, 10_000)
    choose, records = random.Random(5), list[StatementRecord]()
    for number in range(statements):
        records.append(_record(measured, choose, number))
        if len(records) == 500:
            file.append(records)
            records.clear()
    file.append(records)


def _record(measured: StatementRecord, choose: random.Random, number: int) -> StatementRecord:
    """Return a record with the size of a measured one."""
    tables = choose.sample(_TABLES, 3)
    rare = " AND comment LIKE '%needle%'" if number % 10_000 == 77 else ""
    text = (
        f"SELECT {tables[0]}.name, sum({tables[1]}.price * {number % 97}) AS revenue\nFROM {', '.join(tables)}\n"
        f"WHERE {tables[0]}.id = {tables[1]}.parent AND year = {choose.randrange(1990, 2020)}{rare}\nGROUP BY 1"
    )
    is_failed = number % 20 == 3
    return StatementRecord(
        query_id=f"bench_{number:07d}",
        kind="SELECT",
        text=text,
        user=f"user{number % 40}",
        session=f"session-{number // 50}",
        state=StatementState.FAILED if is_failed else StatementState.FINISHED,
        started=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number),
        seconds=choose.expovariate(2),
        queued_seconds=0.0,
        running_seconds=choose.expovariate(2),
        rows_read=choose.randrange(1000),
        rows_written=0,
        plan=measured.plan,
        sqlstate="42703" if is_failed else "",
        error='no column "prise"' if is_failed else "",
        cpu_seconds=choose.expovariate(1),
        peak_bytes=choose.randrange(1 << 30),
        input_rows=choose.randrange(10**7),
        bytes_read=choose.randrange(1 << 32),
        profile=measured.profile,
    )


def _calls(server: Server) -> Iterator[Figure]:
    """Yield the usual and the longest time of each call."""
    with httpx.Client(base_url=f"http://127.0.0.1:{server.web_port}/api/v1/", timeout=60) as client:
        pages = dict(LISTS)
        cursor = client.get("queries?limit=500&sort=seconds").json()["next"]
        pages["a later page by seconds"] = f"queries?limit=50&sort=seconds&cursor={cursor}"
        newest = client.get("queries?limit=1&text=needle").json()["queries"][0]["query_id"]
        pages["one statement with its profile"] = f"queries/{newest}"
        found = {
            name: [_milliseconds(lambda path=path: client.get(path).raise_for_status()) for _ in range(_CALLS)]
            for name, path in pages.items()
        }
    for name, times in found.items():
        half = statistics.median(times)
        aim, is_met = f"at most {MOST_MS:.0f} ms", half <= MOST_MS
        yield comparison(name, "ms", half, {"slowest": max(times)}, aim, is_met)


def _system_table(folder: str, statements: int) -> Figure:
    # A client of the server would see only its own statements.
    with sharkpy.connect("local[2]", Path(folder, "warehouse"), **_SETTINGS) as session:
        took = _milliseconds(lambda: session.sql("SELECT user, count(*) FROM sys.queries GROUP BY user").fetchall())
    return Figure(f"users of sys.queries, of {statements:,} statements", f"{took / 1000:.2f} s")


def _open_console(server: Server, runs: int) -> Figure:
    """Compare a statement while a console is open, and without one, in turns."""
    closed, opened = list[float](), list[float]()
    with sharkpy.connect(f"http://127.0.0.1:{server.web_port}") as session:
        _seconds(session)
        for _ in range(max(5 * runs, 10)):
            closed.append(_seconds(session))
            with _console(server):
                opened.append(_seconds(session))
    ours, theirs = statistics.median(opened), statistics.median(closed)
    aim = f"at most {MOST_COST:.0%} longer"
    peers = {"no console": theirs}
    is_met = ours <= theirs * (1 + MOST_COST)
    return comparison("a query beside an open console", "s", ours, peers, aim, is_met)


def _seconds(session: sharkpy.SharkContext) -> float:
    return _milliseconds(lambda: session.sql(_WORK).fetchall()) / 1000


@contextmanager
def _console(server: Server) -> Iterator[None]:
    """Do what an open overview does: follow the events, and ask for its lists. The context begins once it is open."""
    address, is_over = f"http://127.0.0.1:{server.web_port}/api/v1/", threading.Event()
    is_changed, is_open = threading.Event(), threading.Event()

    def follow() -> None:
        states = dict[str, str]()
        with httpx.stream("GET", f"{address}events", timeout=60) as events:
            for line in events.iter_lines():
                is_open.set()
                if is_over.is_set():
                    return
                if line.startswith("data: "):
                    found = {one["query_id"]: one["state"] for one in json.loads(line[6:])["queries"]}
                    if found.items() - states.items():
                        is_changed.set()
                    states |= found

    def ask(client: httpx.Client) -> None:
        with client:
            while not is_over.wait(_PAUSE_SECONDS):
                if not is_changed.is_set():
                    continue
                is_changed.clear()
                for path in ("queries?limit=30", "queries?state=running&limit=50", "queries?state=failed", "shapes"):
                    client.get(path).raise_for_status()

    client = httpx.Client(base_url=address, timeout=60)
    threads = [threading.Thread(target=follow, daemon=True), threading.Thread(target=ask, args=(client,), daemon=True)]
    for thread in threads:
        thread.start()
    is_open.wait(60)
    try:
        yield
    finally:
        is_over.set()
        threads[1].join()


def _start(folder: str, runs: int) -> Figure:
    """Compare the start of servers with and without a console, in turns."""
    times: dict[int, list[float]] = {0: [], -1: []}
    for _ in range(runs):
        for port, found in times.items():
            start = time.perf_counter()
            with serve(folder, "NONE", "--web-port", str(port), settings=_SETTINGS):
                found.append(time.perf_counter() - start)
    ours, theirs = (statistics.median(found) for found in times.values())
    aim, is_met = f"at most {MOST_START_SECONDS} s longer", ours - theirs <= MOST_START_SECONDS
    return comparison("start of a server", "s", ours, {"no console": theirs}, aim, is_met)


def _figures_of_statements(folder: str, runs: int) -> Figure:
    """Compare `SELECT 1` with its figures and record, and without."""
    times: dict[str, list[float]] = {"1000": [], "0": []}
    for _ in range(runs):
        for statements, found in times.items():
            settings = {"shark.history.statements": statements}
            with sharkpy.connect("local[2]", Path(folder, "warehouse"), **settings) as session:
                _repeat(session, 200)
                found.append(_milliseconds(lambda session=session: _repeat(session, 1000)) / 1000)
    ours, theirs = (statistics.median(found) for found in times.values())
    return comparison("`SELECT 1` with its figures", "ms", ours, {"without a history": theirs})


def _repeat(session: sharkpy.SharkContext, times: int) -> None:
    for _ in range(times):
        session.sql("SELECT 1").fetchall()


def _milliseconds(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return (time.perf_counter() - start) * 1000
