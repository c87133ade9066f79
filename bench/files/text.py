"""Scans of lineitem as delimited text, compared with Spark SQL's Hive table and CSV source over the same files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import sharkpy
from bench.engines import CORES
from bench.figure import Figure, comparison, geometric_mean
from bench.files import scans
from bench.suites import CACHE
from sharkpy.values.types import Field, Schema, arrow_schema, from_arrow

LEAST = 3.0
_FILES = 4


def measure(runs: int) -> list[Figure]:
    folder = _text_files()
    ours, answers = _sharkpy(folder, runs)
    peers = _spark(folder, runs, answers)
    faster = {name: min(times[name] for times in peers.values()) for name in ours}
    figures = [
        comparison(
            name, "ms", 1000 * ours[name], {f"Spark's {one}": 1000 * times[name] for one, times in peers.items()}
        )
        for name in ours
    ]
    mean, their_mean = (1000 * geometric_mean(times.values()) for times in (ours, faster))
    aims = (f"at least {LEAST:.0f} times faster", their_mean >= LEAST * mean)
    what = f"geometric mean of {len(ours)} scans of text files"
    figures.append(comparison(what, "ms", mean, {"the faster of Spark's": their_mean}, *aims, is_key=True))
    size = sum(path.stat().st_size for path in folder.iterdir())
    rate = size / ours["all columns"] / 1e6
    return [*figures, Figure("bytes read, all columns", f"{rate:.0f} MB/s of {size / 1e6:.0f} MB")]


def _text_files() -> Path:
    folder = CACHE / "lineitem-text"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=CACHE) as made:
            table = pq.read_table(scans.lineitem())
            table = table.cast(arrow_schema(Schema(tuple(Field(f.name, from_arrow(f.type)) for f in table.schema))))
            rows = -(-table.num_rows // _FILES)
            options = pyarrow.csv.WriteOptions(include_header=False, delimiter="|", quoting_style="none")
            for number in range(_FILES):
                part = table.slice(number * rows, rows)
                pyarrow.csv.write_csv(part, Path(made, f"part-{number}.txt"), options)
            Path(made).rename(folder)
            Path(made).mkdir()
    return folder


def _sharkpy(folder: Path, runs: int) -> tuple[dict[str, float], dict[str, list[object]]]:
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as warehouse,
        sharkpy.connect(f"local[{CORES}]", warehouse) as context,
    ):
        context.sql(f"CREATE EXTERNAL TABLE lineitem ({scans.columns()}) {_DELIMITED} LOCATION '{folder}'").close()
        return scans.timed(lambda query: context.sql(query).to_arrow(), runs)


_DELIMITED = "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE"


def _spark(folder: Path, runs: int, expected: dict[str, list[object]]) -> dict[str, dict[str, float]]:
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(dir=CACHE) as warehouse:
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.ansi.enabled": "false",
            "spark.driver.memory": "6g",
            "spark.sql.shuffle.partitions": str(CORES),
            "spark.sql.warehouse.dir": warehouse,
            "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{warehouse}/metastore;create=true",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={warehouse}",
            "spark.log.level": "ERROR",
        }
        builder = SparkSession.builder.master(f"local[{CORES}]").enableHiveSupport()
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        made = {
            "Hive table": f"CREATE EXTERNAL TABLE lineitem ({scans.columns()}) {_DELIMITED} LOCATION '{folder}'",
            "CSV source": f"CREATE TABLE lineitem ({scans.columns()}) USING csv OPTIONS (sep '|') LOCATION '{folder}'",
        }
        found = {}
        run: Callable[[str], pa.Table] = lambda query: spark.sql(query).toArrow()  # noqa: E731
        for peer, statement in made.items():
            spark.sql("DROP TABLE IF EXISTS lineitem")
            spark.sql(statement)
            found[peer], answers = scans.timed(run, runs)
            scans.check_equal(expected, answers, peer)
        spark.stop()
        return found
