"""TPC-H over Parquet files that were not read before: in a server of S3 on loopback, and as local files; Spark SQL
reads the same bucket by s3a.

Local files are read twice: by the reader of files in a bucket, which skips the same row groups, and by DuckDB's own,
which is the engine's usual reader of local files. A query of sharkpy has a process of its own, whose start is not
counted, and the sides take turns. Spark's queries follow each other in one process, which keeps no data of files. All
answers are compared. Both the server's files and the local ones are in the page cache of the machine.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.feather as feather

from bench.compare import difference
from bench.engines import CORES
from bench.figure import Figure, comparison
from bench.lake.bucket import BUCKET, Bucket, make_tables, s3_bucket
from bench.lake.sides import Side, run_side, session
from bench.suites import CACHE, SUITES

MOST = 1.3
_S3, _SAME, _LOCAL, _SPARK = "s3", "same reader", "local", "spark"
_PEERS = {_SAME: "local files", _LOCAL: "local files that DuckDB reads", _SPARK: "Spark SQL with s3a"}
_JARS = ("hadoop-aws", "bundle", "analyticsaccelerator", "wildfly-openssl")
"""Jars of s3a that Spark does not include."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    suite = SUITES["tpch"]
    data = suite.data(scale)
    jars = s3a_jars()
    with s3_bucket() as bucket:
        bucket.put_folders(data)
        return measured(bucket, data, suite.queries(), runs, jars)


def measured(
    bucket: Bucket, data: Path, queries: Mapping[str, str], runs: int, jars: tuple[str, ...] | None
) -> list[Figure]:
    """Figures of some queries over `data`, which is in the bucket; without `jars` figures of sharkpy only."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        places = {_S3: f"s3a://{BUCKET}", _SAME: str(data), _LOCAL: str(data)}
        seconds = {side: dict[str, float]() for side in places}
        for name, sql in queries.items():
            times = {side: list[float]() for side in places}
            for _ in range(runs):
                for side, place in places.items():
                    arguments = {"address": bucket.address, "data": str(data), "place": place, "sql": sql}
                    own = {"is_same_reader": side == _SAME, "answer": _path(folder, side, name)}
                    times[side].append(run_side("tpch", "sharkpy", {**arguments, **own})["seconds"])
            for side, one in times.items():
                seconds[side][name] = statistics.median(one)
        if jars is not None:
            arguments = {"address": bucket.address, "queries": dict(queries), "folder": folder, "runs": runs}
            tables = [one.name for one in _folders(data)]
            seconds[_SPARK] = run_side("tpch", "spark", {**arguments, "tables": tables, "jars": jars})
        wrong = [
            f"{name} of {side}: {found}"
            for name in queries
            for side in seconds
            if (found := difference(_answer(folder, _S3, name), _answer(folder, side, name))) is not None
        ]
    figures = [_figure(f"query {name}", {side: one[name] for side, one in seconds.items()}) for name in queries]
    total = {side: sum(one.values()) for side, one in seconds.items()}
    aims = (f"at most {MOST:g} times the time of local files", total[_S3] <= MOST * total[_SAME])
    return [
        *figures,
        _figure(f"{len(queries)} cold queries over a bucket, sum", total, *aims, is_key=True),
        Figure("answers that differ", "; ".join(wrong) or "none", "none", not wrong),
    ]


def s3a_jars() -> tuple[str, ...]:
    """Jars of s3a, of the release of Hadoop that Spark brings along. A machine's first call fetches 700 MB."""
    import pyspark

    from tests.jars import jars_of

    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.rpartition("-")[2]
    found = jars_of("org.apache.hadoop", "hadoop-aws", version)
    return tuple(jar for jar in found if Path(jar).name.startswith(_JARS))


def _folders(data: Path) -> list[Path]:
    return sorted(path for path in data.iterdir() if path.is_dir())


def _path(folder: str, side: str, name: str) -> str:
    return f"{folder}/{side}-{name}"


def _answer(folder: str, side: str, name: str) -> pa.Table:
    return feather.read_table(_path(folder, side, name))


def _figure(
    what: str, seconds: Mapping[str, float], wanted: str = "", met: bool | None = None, *, is_key: bool = False
) -> Figure:
    peers = {_PEERS[side]: taken for side, taken in seconds.items() if side != _S3}
    return comparison(what, "s", seconds[_S3], peers, wanted, met, is_key=is_key)


def _sharkpy(arguments: dict[str, Any]) -> dict[str, Any]:
    reader = _reader_of_buckets() if arguments["is_same_reader"] else nullcontext()
    with session(Bucket(arguments["address"]).settings) as context, reader:
        make_tables(context, Path(arguments["data"]), arguments["place"])
        start = time.perf_counter()
        answer = context.sql(arguments["sql"]).to_arrow()
        seconds = time.perf_counter() - start
    feather.write_feather(answer, arguments["answer"], compression="uncompressed")
    return {"seconds": seconds}


@contextmanager
def _reader_of_buckets() -> Iterator[None]:
    """Let the engine plan and read local files in the same way as files in a bucket."""
    from sharkpy.execution.tasks import parquet_scan
    from sharkpy.physical import plan_scan

    with (
        patch.object(parquet_scan, "_is_readable", lambda split, spec, known: False),  # noqa: ARG005
        patch.object(plan_scan, "_has_statistics", lambda split: split.plain is not None),
    ):
        yield


def _spark(arguments: dict[str, Any]) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    keys = {f"spark.hadoop.{name}": value for name, value in Bucket(arguments["address"]).settings.items()}
    settings = {
        "spark.driver.extraClassPath": ":".join(arguments["jars"]),
        "spark.driver.memory": "6g",
        "spark.ui.enabled": "false",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.shuffle.partitions": str(2 * CORES),
        "spark.log.level": "ERROR",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        **keys,
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for table in arguments["tables"]:
        spark.read.parquet(f"s3a://{BUCKET}/{table}").createOrReplaceTempView(table)
    spark.sql(f"SELECT count(*) FROM {arguments['tables'][0]}").toArrow()
    found: dict[str, Any] = {}
    for name, sql in arguments["queries"].items():
        times = []
        for _ in range(arguments["runs"]):
            start = time.perf_counter()
            answer = spark.sql(sql).toArrow()
            times.append(time.perf_counter() - start)
        found[name] = statistics.median(times)
        feather.write_feather(answer, _path(arguments["folder"], _SPARK, name), compression="uncompressed")
    spark.stop()
    return found


SIDES: dict[str, Side] = {"sharkpy": _sharkpy, "spark": _spark}
