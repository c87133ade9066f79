"""Eight clients at once, each running ClickBench's 43 queries in its own order: sessions of sharkpy, cursors of DuckDB.

The table is in memory, at scale 1. Rounds of sharkpy and of DuckDB take turns. Every answer is compared with DuckDB's
answer to a single client. All clients read their answers as Arrow tables.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import sqlglot

from bench.compare import difference
from bench.engines import DuckdbBench, EngineOptions, SharkpyBench
from bench.figure import Figure, comparison
from bench.suites import CACHE, SUITES

CLIENTS = 8
Ask = Callable[[str], pa.Table]
"""Function of one client: the answer to a query, by its name."""


@dataclass(slots=True)
class Round:
    """Run of all queries by all clients: its seconds, the process's CPU seconds, errors, and answers that differ."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    queries: int = 0
    errors: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    suite = SUITES["clickbench"]
    with tempfile.TemporaryDirectory(prefix="clients-", dir=CACHE) as folder:
        ours, theirs = SharkpyBench(EngineOptions(folder)), DuckdbBench(EngineOptions(folder))
        ours.start()
        theirs.start()
        try:
            for table in suite.tables:
                ours.load(table, suite.data(scale) / table)
                theirs.load(table, suite.data(scale) / table)
            return _measure(ours, theirs, suite.queries(), runs)
        finally:
            theirs.stop()
            ours.stop()


def _measure(ours: SharkpyBench, theirs: DuckdbBench, queries: Mapping[str, str], runs: int) -> list[Figure]:
    answers = {name: theirs.run(sql) for name, sql in queries.items()}
    translated = {name: sqlglot.transpile(sql, read="hive", write="duckdb")[0] for name, sql in queries.items()}
    for sql in queries.values():
        ours.run(sql)

    def of_sharkpy() -> Ask:
        session = ours.context.new_session()
        return lambda name: session.sql(queries[name]).to_arrow()

    def of_duckdb() -> Ask:
        cursor = theirs.cursor()
        return lambda name: cursor.sql(translated[name]).to_arrow_table()

    pairs = [(run_round(of_sharkpy, answers), run_round(of_duckdb, answers)) for _ in range(runs)]
    return _figures([own for own, _ in pairs], [peer for _, peer in pairs])


def run_round(client: Callable[[], Ask], answers: Mapping[str, pa.Table], clients: int = CLIENTS) -> Round:
    """Let each of the clients ask for all `answers` at the same time as the others."""
    asks = [client() for _ in range(clients)]
    found, start, cpu = Round(queries=clients * len(answers)), time.perf_counter(), time.process_time()
    given: list[tuple[str, pa.Table]] = []

    def run(place: int) -> None:
        for name in random.Random(place).sample(list(answers), len(answers)):
            try:
                given.append((name, asks[place](name)))
            except Exception as error:  # The other queries follow.
                found.errors.append(f"query {name}: {error}")

    threads = [threading.Thread(target=run, args=(place,)) for place in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.seconds, found.cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    for name, answer in given:
        if told := difference(answers[name], answer):
            found.differences.append(f"query {name}: {told}")
    return found


def _figures(ours: Sequence[Round], theirs: Sequence[Round]) -> list[Figure]:
    what = f"ClickBench by {CLIENTS} clients"
    total = sum(one.queries for one in ours)
    errors = [error for one in ours for error in one.errors]
    differences = [told for one in ours for told in one.differences]
    rates = [statistics.median(one.queries / one.seconds for one in rounds) for rounds in (ours, theirs)]
    cpu = [statistics.median(one.cpu_seconds / one.queries for one in rounds) for rounds in (ours, theirs)]
    return [
        comparison(what, "queries/s", rates[0], {"duckdb": rates[1]}, is_key=True),
        comparison(f"{what}, CPU time of a query", "ms", cpu[0] * 1000, {"duckdb": cpu[1] * 1000}),
        Figure(f"{what}: errors", _text(errors, total), "none", not errors, is_key=True),
        Figure(f"{what}: answers that differ", _text(differences, total), "none", not differences, is_key=True),
    ]


def _text(found: Sequence[str], total: int) -> str:
    return f"{len(found)} of {total:,}" + (f", such as {found[0]}" if found else "")
