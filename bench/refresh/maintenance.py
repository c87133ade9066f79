"""Refreshes of TPC-DS on sharkpy and on DuckDB, in turn: their times, and whether both have the same rows afterwards.

A refresh loads its staging tables, runs the functions that insert, then the functions that delete, each with three
ranges of dates. Statements are HiveQL; DuckDB runs them translated, over a database file.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from bench.compare import difference
from bench.engines import BenchEngine, DuckdbBench, EngineOptions, SharkpyBench
from bench.figure import Figure, comparison
from bench.refresh.staging import Dates, DeletedDates, write_staging
from bench.suites import CACHE, ROOT, SUITES, texts_in

TOUCHED = (
    *("store_sales", "store_returns", "catalog_sales", "catalog_returns", "web_sales", "web_returns"),
    "inventory",
)
INSERTING = ("lf_ss", "lf_sr", "lf_cs", "lf_cr", "lf_ws", "lf_wr", "lf_i")
DELETING = ("df_ss", "df_cs", "df_ws", "df_i")
MEMORY = "8g"


@dataclass(frozen=True, slots=True)
class Function:
    """Data maintenance function: the view that it makes once, if any, and its statements."""

    view: str | None
    statements: tuple[str, ...]


def function(name: str) -> Function:
    text = (ROOT / "queries" / "tpcds_refresh" / f"{name}.sql").read_text(encoding="utf-8")
    statements = tuple(part.strip() for part in text.split(";") if part.strip())
    return Function(statements[0], statements[1:]) if name in INSERTING else Function(None, statements)


class RefreshedTables:
    """TPC-DS's tables in sharkpy and in DuckDB.

    `clause` is how sharkpy stores the tables that a refresh changes. Dimensions are Parquet files, loaded into
    memory if `in_memory`.
    Call order: 1. `with` 2. `refresh` for each set of staging data 3. `differences`, `query_differences`.
    """

    def __init__(self, data: Path, folder: Path, clause: str, *, in_memory: bool = False) -> None:
        options = EngineOptions(str(folder), MEMORY)
        self._data, self._folder = data, folder
        self._clause, self._in_memory = clause, in_memory
        self._ours, self._theirs = SharkpyBench(options), DuckdbBench(options)
        self._engines: tuple[BenchEngine, BenchEngine] = (self._ours, self._theirs)
        self._functions = {name: function(name) for name in (*INSERTING, *DELETING)}
        self._is_staged = False

    def __enter__(self) -> RefreshedTables:
        for engine in self._engines:
            engine.start()
        for table in SUITES["tpcds"].tables:
            folder = self._data / table
            if table in TOUCHED:
                self._ours.create(table, folder, self._clause)
                self._ours.run(f"INSERT INTO {table} SELECT * FROM '{folder}/*.parquet'")
            else:
                self._ours.load(table, folder, cached=self._in_memory)
            self._theirs.load(table, folder)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for engine in self._engines:
            engine.stop()

    def refresh(self, scale: float, seed: int) -> dict[str, tuple[float, float]]:
        """Seconds of sharkpy and of DuckDB by function; "staging" is the loading of the staging tables."""
        folder = self._folder / f"staging-{seed}"
        dates = write_staging(self._data, folder, scale, seed)
        seconds = {"staging": self._stage(folder)}
        for name, one in self._functions.items():
            taken = [0.0, 0.0]
            for statement in _statements(name, one, dates):
                for place, engine in enumerate(self._engines):
                    with _added(taken, place):
                        engine.run(statement)
            seconds[name] = (taken[0], taken[1])
        return seconds

    def ours(self, sql: str) -> pa.Table:
        """Answer of sharkpy, without DuckDB."""
        return self._ours.run(sql)

    def differences(self) -> list[str]:
        """Changed tables whose rows differ from DuckDB's."""
        return [table for table in TOUCHED if not self._is_same(table)]

    def query_differences(self, seconds: list[float] | None = None) -> list[str]:
        """Queries whose answers differ; adds the seconds of sharkpy and of DuckDB to `seconds`."""
        found, taken = [], [0.0, 0.0] if seconds is None else seconds
        for name, sql in texts_in(ROOT / "queries" / "tpcds_refresh" / "afterwards").items():
            answers = []
            for place, engine in enumerate(self._engines):
                with _added(taken, place):
                    answers.append(engine.run(sql))
            if what := difference(*answers):
                found.append(f"query {name}: {what}")
        return found

    def _stage(self, folder: Path) -> tuple[float, float]:
        taken = [0.0, 0.0]
        files = sorted(folder.glob("*.parquet"))
        for file in files:
            if not self._is_staged:
                self._ours.create(file.stem, file, "STORED AS PARQUET")
            with _added(taken, 0):
                self._ours.run(f"LOAD DATA LOCAL INPATH '{file}' OVERWRITE INTO TABLE {file.stem}")
            with _added(taken, 1):
                self._theirs.replace(file.stem, file)
        if not self._is_staged:
            for one in self._functions.values():
                if one.view is not None:
                    for engine in self._engines:
                        engine.run(one.view)
        self._is_staged = True
        return taken[0], taken[1]

    def _is_same(self, table: str) -> bool:
        ours, theirs = (_sorted(engine.run(f"SELECT * FROM {table}")) for engine in self._engines)
        return ours.cast(theirs.schema).equals(theirs)


def measured(clause: str, runs: int, scale: float, *, in_memory: bool = False) -> list[Figure]:
    """Figures of `runs` refreshes, one after the other, and of queries afterwards."""
    data = SUITES["tpcds"].data(scale)
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as folder,
        RefreshedTables(data, Path(folder), clause, in_memory=in_memory) as tables,
    ):
        refreshes = [tables.refresh(scale, seed) for seed in range(1, runs + 1)]
        of_queries = [0.0, 0.0]
        wrong = [*tables.differences(), *tables.query_differences(of_queries)]
    figures = []
    for name in refreshes[0]:
        ours, theirs = (statistics.median(one[name][side] for one in refreshes) for side in (0, 1))
        figures.append(comparison(name, "s", ours, {"DuckDB": theirs}))
    ours, theirs = (statistics.median(sum(one[side] for one in each.values()) for each in refreshes) for side in (0, 1))
    return [
        *figures,
        comparison("a refresh", "s", ours, {"DuckDB": theirs}, is_key=True),
        comparison("queries afterwards, once", "s", of_queries[0], {"DuckDB": of_queries[1]}),
        Figure("tables and answers that differ", "; ".join(wrong) or "none", "none", not wrong),
    ]


def _statements(name: str, one: Function, dates: DeletedDates) -> Iterator[str]:
    ranges: tuple[Dates, ...] = dates.stocks if name == "df_i" else dates.sales
    for first, last in ranges if name in DELETING else [("", "")]:
        for statement in one.statements:
            yield statement.replace("${date1}", first).replace("${date2}", last)


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


@contextmanager
def _added(seconds: list[float], place: int) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[place] += time.perf_counter() - start
