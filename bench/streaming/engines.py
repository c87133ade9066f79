"""A backlog of files into a table that can be queried, by one engine.

python -m bench.streaming.engines engine form folder
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.engines import CORES
from bench.streaming.events import CHECKS, COLUMNS

Answer = tuple[float, list[str]]
"""Seconds, and the values of CHECKS."""
CHECK = ", ".join(CHECKS)


def sharkpy_append(form: str, source: Path, folder: str) -> Answer:
    """A continuous table in memory and on disk."""
    stored = {"json": "JSONFILE", "parquet": "PARQUET"}[form]
    return sharkpy_table(f"STORED AS {stored} FROM FOLDER '{source}'", folder)


def sharkpy_table(stream: str, folder: str) -> Answer:
    """A continuous table of all that is in a stream, of which the format and the source are given."""
    import sharkpy

    columns = ", ".join(f"{name} {dtype}" for name, dtype in COLUMNS.items())
    with sharkpy.connect(f"local[{CORES}]", folder) as context:
        context.sql(f"CREATE STREAM events ({columns}) {stream}")
        start = time.perf_counter()
        context.sql(
            "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW"
            " AS SELECT * FROM events"
        )
        seconds = time.perf_counter() - start
        return seconds, texts(context.sql(f"SELECT {CHECK} FROM t").fetchall()[0])


def duckdb_append(form: str, source: Path, folder: str) -> Answer:  # noqa: ARG001  its table is only in memory
    """One batch into a table in memory: the limit, not a stream."""
    import duckdb

    types = ", ".join(f"{name}: '{dtype.replace('STRING', 'VARCHAR')}'" for name, dtype in COLUMNS.items())
    rows = f"read_json('{source}/*.json', format = 'newline_delimited', columns = {{{types}}})"
    if form == "parquet":
        rows = f"'{source}/*.parquet'"
    with duckdb.connect(config={"threads": CORES}) as connection:
        start = time.perf_counter()
        connection.execute(f"CREATE TABLE t AS FROM {rows}")
        seconds = time.perf_counter() - start
        row = connection.execute(f"SELECT {CHECK} FROM t").fetchone()
        return seconds, texts(row or ())


def spark_append(form: str, source: Path, folder: str) -> Answer:
    """Structured Streaming: all that is there, into Parquet files."""
    from pyspark.sql import SparkSession

    columns = ", ".join(f"{name} {dtype}" for name, dtype in COLUMNS.items())
    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        rows = spark.readStream.schema(columns).format(form).load(str(source))
        writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        start = time.perf_counter()
        writer.trigger(availableNow=True).start(f"{folder}/t").awaitTermination()
        seconds = time.perf_counter() - start
        (row,) = spark.read.parquet(f"{folder}/t").selectExpr(*CHECKS).collect()
        return seconds, texts(row)
    finally:
        spark.stop()


def chdb_append(form: str, source: Path, folder: str) -> Answer:
    """A materialized view of ClickHouse, in process, fed by inserts of all files."""
    from chdb import session as sessions

    names = {"BIGINT": "Int64", "STRING": "String", "TIMESTAMP": "DateTime64(6)"}
    columns = ", ".join(f"{name} {names[dtype]}" for name, dtype in COLUMNS.items())
    structure = columns.replace("'", "''")
    form_name = {"json": "JSONEachRow", "parquet": "Parquet"}[form]
    session = sessions.Session(f"{folder}/chdb")
    for text in (
        f"SET max_threads = {CORES}, max_insert_threads = {CORES}, parallel_view_processing = 1",
        "CREATE DATABASE d ENGINE = Atomic",
        f"CREATE TABLE d.events ({columns}) ENGINE = Null",
        f"CREATE TABLE d.t ({columns}) ENGINE = MergeTree ORDER BY tuple()",
        "CREATE MATERIALIZED VIEW d.v TO d.t AS SELECT * FROM d.events",
    ):
        session.query(text)
    start = time.perf_counter()
    session.query(f"INSERT INTO d.events SELECT * FROM file('{source}/*.{form}', {form_name}, '{structure}')")
    seconds = time.perf_counter() - start
    answer = session.query(f"SELECT {CHECK} FROM d.t", "TSV")
    return seconds, str(answer).strip().split("\t")


ENGINES: dict[str, Callable[[str, Path, str], Answer]] = {
    "sharkpy": sharkpy_append,
    "DuckDB, one batch": duckdb_append,
    "ClickHouse's view (chDB)": chdb_append,
    "Spark Structured Streaming": spark_append,
}


def texts(row: object) -> list[str]:
    return [str(value) for value in row]  # type: ignore[attr-defined]  # rows of any engine


def print_answer(append: Callable[[str], Answer]) -> None:
    """Run an engine in a folder of its own, and print its answer."""
    with tempfile.TemporaryDirectory(prefix="append-") as folder:
        seconds, found = append(folder)
    print(json.dumps({"seconds": seconds, "check": found}))


if __name__ == "__main__":
    name, form, source = sys.argv[1:]
    print_answer(lambda folder: ENGINES[name](form, Path(source), folder))
