"""A shape of data, and the steps that both engines are timed at: files queried, loaded, queried in memory, written."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

import sharkpy
from bench.engines import CORES
from bench.figure import Figure, comparison, geometric_mean
from bench.suites import CACHE

MOST = 10.0
"""Times of DuckDB's that a step may take."""
LEAST_SECONDS = 0.05
"""Time of DuckDB's below which a step is compared with this: a statement has costs of its own."""
Rows = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Query:
    """A query over the table {t}; `theirs` is DuckDB's text, if it differs."""

    ours: str
    theirs: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows of a shape, by a query of DuckDB for a size; `files`: number of Parquet files, one row each if any.

    With `partition` the table is partitioned by its last column of that name.
    """

    name: str
    rows: Callable[[int], str]
    queries: Callable[[int], Sequence[Query]]
    small: int
    whole: int
    files: bool = False
    partition: str = ""
    table: str = "t"


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of a step, of both engines."""

    name: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / max(self.theirs, LEAST_SECONDS)


def figures(shapes: Sequence[Shape], runs: int, scale: float) -> list[Figure]:
    """Return the result of `measure` of each module."""
    found, steps = list[Figure](), list[Step]()
    for shape in shapes:
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            for step in run(shape, max(int(shape.whole * scale), 1), Path(folder), runs):
                steps.append(step)
                wanted = f"at most {MOST:g} times, or {MOST * LEAST_SECONDS:g} s"
                found.append(_figure(f"{shape.name}, {step.name}", [step], wanted, step.ratio <= MOST))
    return [*found, _figure(f"geometric mean of {len(steps)} steps", steps, is_key=True)]


def _figure(
    what: str, steps: Sequence[Step], wanted: str = "", met: bool | None = None, *, is_key: bool = False
) -> Figure:
    ours, theirs = (geometric_mean(times) for times in ((s.ours for s in steps), (s.theirs for s in steps)))
    return comparison(what, "ms", 1000 * ours, {"DuckDB": 1000 * theirs}, wanted, met, is_key=is_key)


def run(shape: Shape, size: int, folder: Path, runs: int) -> Iterator[Step]:
    """The steps of a shape. RuntimeError if the answers of the engines differ."""
    with (
        duckdb.connect(str(folder / "duck.db"), config={"threads": CORES}) as duck,
        sharkpy.connect(f"local[{CORES}]", folder / "warehouse") as context,
    ):
        _warm_up(context, folder)
        for limit in ("hive.exec.max.dynamic.partitions", "hive.exec.max.dynamic.partitions.pernode"):
            context.sql(f"SET {limit} = {max(size, 1000)}").close()
        source = _files(shape, size, folder, duck)

        def both(name: str, ours: str, theirs: str, times: int = 1) -> Step:
            own, answer = _best(lambda: context.sql(ours).fetchall(), times)
            other, expected = _best(lambda: duck.execute(theirs).fetchall(), times)
            if ours.startswith("SELECT") and sorted(map(repr, answer)) != sorted(map(repr, expected)):
                raise RuntimeError(f"{shape.name}, {name}: {str(answer)[:500]} is not {str(expected)[:500]}")
            return Step(name, own, other)

        queries = [(one.ours, one.theirs or one.ours) for one in shape.queries(size)]
        for number, (ours, theirs) in enumerate(queries, 1):
            yield both(f"query {number} of files", ours.format(t=source), theirs.format(t=source), runs)
        load = both("load", *_loading(shape, source, folder))
        # Rows of files come into memory with the first query.
        first = both("load", *(text.format(t=shape.table) for text in queries[0]))
        yield Step("load, with the first query", load.ours + first.ours, load.theirs + first.theirs)
        for number, (ours, theirs) in enumerate(queries, 1):
            yield both(f"query {number}", ours.format(t=shape.table), theirs.format(t=shape.table), runs)
        written = f"COPY {shape.table} TO '{folder}/written.parquet'"
        yield both("write", f"CREATE TABLE w STORED AS PARQUET AS SELECT * FROM {shape.table}", written)


def _warm_up(context: sharkpy.SharkContext, folder: Path) -> None:
    """Run the first statements of a process, whose cost is not measured here."""
    duckdb.execute(f"COPY (SELECT range AS k, 'k' || range AS s FROM range(1000)) TO '{folder}/warm.parquet'")
    context.sql("CREATE TABLE warm TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 1 AS k, 'x' AS s").close()
    for source in ("warm", f"'{folder}/warm.parquet'"):
        context.sql(f"SELECT s, count(DISTINCT k) FROM {source} WHERE k > 0 GROUP BY s").fetchall()


def _files(shape: Shape, size: int, folder: Path, duck: duckdb.DuckDBPyConnection) -> str:
    """Source of the rows, as both engines name it in a query."""
    duck.execute(f"CREATE TABLE made AS {shape.rows(size)}")
    if not shape.files:
        duck.execute(f"COPY made TO '{folder}/made.parquet'")
        return f"'{folder}/made.parquet'"
    (folder / "made").mkdir()
    import pyarrow.parquet as pq

    rows = duck.sql("FROM made").to_arrow_table()
    for place in range(rows.num_rows):
        pq.write_table(rows.slice(place, 1), folder / "made" / f"{place:05}.parquet")
    return f"'{folder}/made/*.parquet'"


def _loading(shape: Shape, source: str, folder: Path) -> tuple[str, str]:
    table = shape.table
    if not shape.partition:
        ours = f"CREATE TABLE {table} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT * FROM {source}"
        return ours, f"CREATE TABLE {table} AS SELECT * FROM {source}"
    ours = f"CREATE TABLE {table} PARTITIONED BY ({shape.partition}) STORED AS PARQUET AS SELECT * FROM {source}"
    copied = f"COPY (SELECT * FROM {source}) TO '{folder}/parts' (FORMAT PARQUET, PARTITION_BY ({shape.partition}))"
    view = f"CREATE VIEW {table} AS FROM read_parquet('{folder}/parts/*/*.parquet', hive_partitioning = true)"
    return ours, f"{copied}; {view}"


def _best(work: Callable[[], Rows], times: int) -> tuple[float, Rows]:
    """The least seconds of some runs, and the answer."""
    least, answer = float("inf"), Rows()
    for _ in range(times):
        start = time.perf_counter()
        answer = work()
        least = min(least, time.perf_counter() - start)
    return least, answer
