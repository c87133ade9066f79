"""TPC-H over Parquet files that nobody has read before: in a server of S3 on loopback, and as local files; Spark SQL
reads the same bucket by s3a.

A query of sharkpy has a process of its own, whose start is not counted. Spark's queries follow each other in one, which
keeps no data of files. All answers are compared. Both servers and files are in the page cache of the machine.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from bench.compare import difference
from bench.engines import CORES
from bench.lake.bucket import BUCKET, Bucket, make_tables, s3_bucket
from bench.lake.sides import Side, run_side, session
from bench.pde import Figure
from bench.suites import CACHE, SUITES

MOST = 1.3
_JARS = ("hadoop-aws", "bundle", "s3", "analyticsaccelerator", "wildfly-openssl")
"""Jars of s3a beside those that Spark has."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    suite = SUITES["tpch"]
    data = suite.data(scale)
    with s3_bucket() as bucket:
        bucket.put_folders(data)
        return measured(bucket, data, suite.queries(), runs)


def measured(
    bucket: Bucket, data: Path, queries: Mapping[str, str], runs: int, *, with_spark: bool = True
) -> list[Figure]:
    """Figures of some queries over `data`, which is in the bucket."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        places = {"s3": f"s3a://{BUCKET}", "local": str(data)}
        seconds = {
            side: {
                name: statistics.median(
                    run_side(
                        "tpch",
                        "sharkpy",
                        {
                            "address": bucket.address,
                            "data": str(data),
                            "place": place,
                            "sql": sql,
                            "answer": f"{folder}/{side}-{name}",
                        },
                    )["seconds"]
                    for _ in range(runs)
                )
                for name, sql in queries.items()
            }
            for side, place in places.items()
        }
        sides = ["s3", "local"]
        figures = _against_files(seconds)
        if with_spark:
            arguments = {"address": bucket.address, "queries": dict(queries), "folder": folder, "runs": runs}
            seconds["spark"] = run_side("tpch", "spark", {**arguments, "tables": [one.name for one in _folders(data)]})
            figures.append(_against_spark(seconds))
            sides.append("spark")
        wrong = [
            f"{name} of {side}: {found}"
            for name in queries
            for side in sides[1:]
            if (found := difference(_answer(folder, "s3", name), _answer(folder, side, name))) is not None
        ]
    return [*figures, Figure("answers that differ", "; ".join(wrong) or "none", "none", not wrong)]


def _folders(data: Path) -> list[Path]:
    return sorted(path for path in data.iterdir() if path.is_dir())


def _answer(folder: str, side: str, name: str) -> pa.Table:
    return feather.read_table(f"{folder}/{side}-{name}")


def _against_files(seconds: Mapping[str, Mapping[str, float]]) -> list[Figure]:
    figures = [
        Figure(f"query {name}", f"{far:.2f} s, over local files {seconds['local'][name]:.2f} s")
        for name, far in seconds["s3"].items()
    ]
    far, near = sum(seconds["s3"].values()), sum(seconds["local"].values())
    ratio = far / near
    text = f"{ratio:.2f} times: {far:.1f} s, {near:.1f} s"
    return [*figures, Figure("all, against local files", text, f"at most {MOST:g} times", ratio <= MOST)]


def _against_spark(seconds: Mapping[str, Mapping[str, float]]) -> Figure:
    ours, theirs = sum(seconds["s3"].values()), sum(seconds["spark"].values())
    text = f"{theirs / ours:.1f} times faster: {ours:.1f} s, Spark {theirs:.1f} s"
    return Figure("all, against Spark SQL by s3a", text, "faster", ours < theirs)


def _sharkpy(arguments: dict[str, Any]) -> dict[str, Any]:
    with session(Bucket(arguments["address"]).settings) as context:
        make_tables(context, Path(arguments["data"]), arguments["place"])
        start = time.perf_counter()
        answer = context.sql(arguments["sql"]).to_arrow()
        seconds = time.perf_counter() - start
    feather.write_feather(answer, arguments["answer"], compression="uncompressed")
    return {"seconds": seconds}


def _spark(arguments: dict[str, Any]) -> dict[str, Any]:
    import pyspark
    from pyspark.sql import SparkSession

    from tests.jars import jars_of

    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.rpartition("-")[2]
    jars = [jar for jar in jars_of("org.apache.hadoop", "hadoop-aws", version) if Path(jar).name.startswith(_JARS)]
    keys = {f"spark.hadoop.{name}": value for name, value in Bucket(arguments["address"]).settings.items()}
    settings = {
        "spark.driver.extraClassPath": ":".join(jars),
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
    spark.sql("SELECT count(*) FROM region").toArrow()
    found: dict[str, Any] = {}
    for name, sql in arguments["queries"].items():
        times = []
        for _ in range(arguments["runs"]):
            start = time.perf_counter()
            answer = spark.sql(sql).toArrow()
            times.append(time.perf_counter() - start)
        found[name] = statistics.median(times)
        feather.write_feather(answer, f"{arguments['folder']}/spark-{name}", compression="uncompressed")
    spark.stop()
    return found


SIDES: dict[str, Side] = {"sharkpy": _sharkpy, "spark": _spark}
