"""A backlog is worked off by a query that is kept up to date, by one engine: seconds until its answer was read.

python -m bench.streaming.kept engine workload form folder
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.engines import CORES
from bench.figure import Figure
from bench.streaming.append import compared
from bench.streaming.engines import Answer, print_answer, texts
from bench.streaming.events import COLUMNS, FILES, FORM_NAMES, events
from bench.streaming.workloads import ADVERTISERS, CHDB, DUCKDB, SPARK, WORKLOADS, Workload

_COLUMNS = ", ".join(f"{name} {dtype}" for name, dtype in COLUMNS.items())
_CLICKHOUSE = {"BIGINT": "Int64", "STRING": "String", "TIMESTAMP": "DateTime64(6)"}


def kept_figures(name: str, runs: int, scale: float) -> list[Figure]:
    """Rates of a workload from JSON and from Parquet."""
    workload = WORKLOADS[name]
    rows = max(FILES, int(workload.rows * scale))
    names = [one for one in ENGINES if one != CHDB or (workload.view and importlib.util.find_spec("chdb"))]
    figures = []
    for place, form in enumerate(FORM_NAMES):
        wanted = {peer: least[place] for peer, *least in workload.wanted if least[place]}
        what = f"{workload.title}, {rows:,} events of {FORM_NAMES[form]} files"
        figures += compared(what, "kept", names, [name, form, str(events(form, rows))], rows, runs, wanted)
    return figures


def sharkpy_kept(workload: Workload, form: str, source: Path, folder: str) -> Answer:
    stored = {"json": "JSONFILE", "parquet": "PARQUET"}[form]
    return kept_of_stream(workload, f"STORED AS {stored} FROM FOLDER '{source}'", folder)


def kept_of_stream(workload: Workload, stream: str, folder: str) -> Answer:
    """The answer over all that is in a stream, of which the format and the source are given."""
    import duckdb

    import sharkpy

    campaigns = duckdb.sql(ADVERTISERS).fetchall()
    with sharkpy.connect(f"local[{CORES}]", folder) as context:
        for name in ("events", "events2"):
            columns = f"{_COLUMNS}, WATERMARK FOR event_time AS event_time"
            context.sql(f"CREATE STREAM {name} ({columns}) {stream}")
        context.sql("CREATE TABLE campaigns (campaign_id BIGINT, advertiser BIGINT)")
        context.sql(f"INSERT INTO campaigns VALUES {', '.join(map(str, campaigns))}")
        start = time.perf_counter()
        context.sql(
            "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW "
            f"WITH UNBOUNDED STATE AS {workload.query}"
        )
        answer = texts(context.sql(f"SELECT {', '.join(workload.checks)} FROM t").fetchall()[0])
        return time.perf_counter() - start, answer


def duckdb_kept(workload: Workload, form: str, source: Path, folder: str) -> Answer:  # noqa: ARG001  only in memory
    """The answer once, over everything."""
    import duckdb

    types = ", ".join(f"{name}: '{dtype.replace('STRING', 'VARCHAR')}'" for name, dtype in COLUMNS.items())
    rows = f"read_json('{source}/*.json', format = 'newline_delimited', columns = {{{types}}})"
    if form == "parquet":
        rows = f"read_parquet('{source}/*.parquet')"
    with duckdb.connect(config={"threads": CORES}) as connection:
        connection.execute(f"CREATE TABLE campaigns AS {ADVERTISERS}")
        connection.execute(f"CREATE VIEW events AS FROM {rows}")
        start = time.perf_counter()
        connection.execute(f"CREATE TABLE t AS {workload.batch}")
        row = connection.execute(f"SELECT {', '.join(workload.checks)} FROM t").fetchone()
        return time.perf_counter() - start, texts(row or ())


def spark_kept(workload: Workload, form: str, source: Path, folder: str) -> Answer:
    """Structured Streaming: one batch of all that is there, whose answer goes into Parquet files."""
    import duckdb
    from pyspark.sql import DataFrame, SparkSession

    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", str(CORES))
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        campaigns = duckdb.sql(ADVERTISERS).fetchall()
        spark.createDataFrame(campaigns, "campaign_id BIGINT, advertiser BIGINT").createOrReplaceTempView("campaigns")
        for name in ("events", "events2"):
            spark.readStream.schema(_COLUMNS).format(form).load(str(source)).createOrReplaceTempView(name)

        def write(rows: DataFrame, _batch: int) -> None:
            rows.write.mode("overwrite" if workload.spark_mode == "complete" else "append").parquet(f"{folder}/t")

        writer = spark.sql(workload.query).writeStream.outputMode(workload.spark_mode).foreachBatch(write)
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
        start = time.perf_counter()
        writer.start().awaitTermination()
        (row,) = spark.read.parquet(f"{folder}/t").selectExpr(*workload.checks).collect()
        return time.perf_counter() - start, texts(row)
    finally:
        spark.stop()


def chdb_kept(workload: Workload, form: str, source: Path, folder: str) -> Answer:
    """A materialized view of ClickHouse, in process, fed by inserts of all files."""
    import duckdb
    from chdb import session as sessions

    view = workload.view
    if view is None:
        raise ValueError("ClickHouse has no view for this")
    columns = ", ".join(f"{name} {_CLICKHOUSE[dtype]}" for name, dtype in COLUMNS.items())
    structure = columns.replace("'", "''")
    form_name = {"json": "JSONEachRow", "parquet": "Parquet"}[form]
    session = sessions.Session(f"{folder}/chdb")
    campaigns = duckdb.sql(ADVERTISERS).fetchall()
    for text in (
        f"SET max_threads = {CORES}, max_insert_threads = {CORES}, parallel_view_processing = 1",
        "CREATE DATABASE d ENGINE = Atomic",
        f"CREATE TABLE d.events ({columns}) ENGINE = Null",
        "CREATE TABLE d.campaigns (campaign_id Int64, advertiser Int64) ENGINE = MergeTree ORDER BY campaign_id",
        f"INSERT INTO d.campaigns VALUES {', '.join(map(str, campaigns))}",
        f"CREATE TABLE d.t ({view.columns}) ENGINE = {view.engine}",
        f"CREATE MATERIALIZED VIEW d.v TO d.t AS {view.fill}",
    ):
        session.query(text)
    start = time.perf_counter()
    session.query(f"INSERT INTO d.events SELECT * FROM file('{source}/*.{form}', {form_name}, '{structure}')")
    answer = session.query(f"SELECT {', '.join(workload.checks)} FROM ({view.answer})", "TSV")
    return time.perf_counter() - start, str(answer).strip().split("\t")


ENGINES: dict[str, Callable[[Workload, str, Path, str], Answer]] = {
    "sharkpy": sharkpy_kept,
    DUCKDB: duckdb_kept,
    CHDB: chdb_kept,
    SPARK: spark_kept,
}


if __name__ == "__main__":
    engine, workload, form, source = sys.argv[1:]
    print_answer(lambda folder: ENGINES[engine](WORKLOADS[workload], form, Path(source), folder))
