"""Compared engines: load tables, run HiveQL, tell the bytes that the tables take."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

CORES = 2


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of an engine. `memory`, such as "10g", is the limit of sharkpy's store, and of all memory of the others;
    empty means no limit.

    Under a limit DuckDB's tables are in a database file and Spark's may go to disk, as sharkpy's blocks may.
    `conf` has settings of sharkpy; `folder` is on a disk with room for tables and spilled data.
    """

    folder: str
    memory: str = ""
    conf: dict[str, str] = field(default_factory=dict)


class BenchEngine(Protocol):
    """Engine under measurement. Call order: 1. `start` 2. `load` per table 3. per query, `translate` (not timed) and
    `run` 4. `stop`.
    """

    def start(self) -> None: ...
    def load(self, table: str, folder: Path) -> None: ...
    def table_bytes(self) -> dict[str, int]: ...
    def translate(self, sql: str) -> None: ...
    def run(self, sql: str) -> pa.Table: ...
    def versions(self) -> dict[str, str]: ...
    def stop(self) -> None: ...


class SharkpyBench:
    """sharkpy; without `driver_placement` every stage is an RDD job."""

    def __init__(self, options: EngineOptions, *, driver_placement: bool = True) -> None:
        self._is_rdd = not driver_placement
        limit = {"shark.store.memory.limit": options.memory} if options.memory else {}
        placement = {"shark.placement.driver": "false"} if self._is_rdd else {}
        self._conf = {"shark.temp.dir": options.folder} | limit | placement | options.conf
        self._parent = options.folder

    def start(self) -> None:
        import sharkpy

        self._folder = tempfile.mkdtemp(prefix="sharkpy-bench-", dir=self._parent)
        self._context = sharkpy.connect(f"local[{CORES}]", self._folder, **self._conf)
        self._context.sql("SELECT 1").fetchall()
        if self._is_rdd:
            _ = self._context.engine.jobs  # Spark is up before loading is timed, as it is for Spark SQL

    @property
    def context(self) -> SharkContext:
        return self._context

    def load(self, table: str, folder: Path, *, cached: bool = True) -> None:
        self.create(table, folder, f"STORED AS PARQUET LOCATION '{folder}'", external=True)
        if cached:
            self._context.sql(f"CACHE TABLE {table}").close()

    def create(self, table: str, data: Path, clause: str, *, external: bool = False) -> None:
        """Create a table with the columns of a Parquet file, or of one in the folder `data`."""
        from sharkpy.values.types import from_arrow

        schema = pq.read_schema(next(data.glob("*.parquet")) if data.is_dir() else data)
        columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
        self._context.sql(f"CREATE {'EXTERNAL ' * external}TABLE {table} ({columns}) {clause}").close()

    def table_bytes(self) -> dict[str, int]:
        found = {}
        for table in self._context.catalog.tables("default"):
            version = self._context.table_cache.version(table)
            if version is not None:
                found[table.name] = sum(block.size_bytes for block in version.blocks)
        return found

    def translate(self, sql: str) -> None:
        """Nothing to do: sharkpy reads HiveQL."""

    def run(self, sql: str) -> pa.Table:
        return self._context.sql(sql).to_arrow()

    def versions(self) -> dict[str, str]:
        import sharkpy

        return {"sharkpy": sharkpy.__version__}

    def stop(self) -> None:
        self._context.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


class SparkBench:
    """Spark SQL over CACHE TABLE, non-ANSI, two cores; results come as Arrow batches."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options

    def start(self) -> None:
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.ansi.enabled": "false",
            "spark.sql.shuffle.partitions": str(2 * CORES),
            "spark.driver.memory": self._options.memory or "6g",
            "spark.driver.maxResultSize": "0",
            "spark.local.dir": self._options.folder,
            "spark.sql.catalogImplementation": "in-memory",
            "spark.log.level": "ERROR",
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        self._spark = builder.getOrCreate()

    def load(self, table: str, folder: Path) -> None:
        self._spark.read.parquet(str(folder)).createOrReplaceTempView(table)
        self._spark.sql(f"CACHE TABLE {table}")

    def table_bytes(self) -> dict[str, int]:
        infos = self._spark.sparkContext._jsc.sc().getRDDStorageInfo()
        found = {}
        for info in infos:
            name = info.name().removeprefix("In-memory table ")
            found[name] = int(info.memSize()) + int(info.diskSize())
        return found

    def translate(self, sql: str) -> None:
        """Nothing to do: Spark SQL reads HiveQL."""

    def run(self, sql: str) -> pa.Table:
        return self._spark.sql(sql).toArrow()

    def versions(self) -> dict[str, str]:
        import pyspark

        return {"pyspark": pyspark.__version__}

    def stop(self) -> None:
        self._spark.stop()


class DuckdbBench:
    """DuckDB with native tables, two threads; queries are translated by sqlglot, once, untimed."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options

    def start(self) -> None:
        import duckdb

        config: dict[str, Any] = {"threads": CORES, "temp_directory": str(Path(self._options.folder, "spilled"))}
        self._database = ":memory:"
        if self._options.memory:
            self._database = str(Path(self._options.folder, "tables.duckdb"))
            config["memory_limit"] = f"{self._options.memory.rstrip('b')}ib"
        self._connection: Any = duckdb.connect(self._database, config=config)
        self._translated: dict[str, str] = {}

    def load(self, table: str, folder: Path) -> None:
        self.replace(table, folder / "*.parquet")

    def replace(self, table: str, files: Path) -> None:
        self._connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM read_parquet('{files}')")

    def table_bytes(self) -> dict[str, int]:
        if self._options.memory:
            self._connection.execute("CHECKPOINT")
            return {"all": Path(self._database).stat().st_size}
        sql = "SELECT memory_usage_bytes FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'"
        return {"all": int(self._connection.execute(sql).fetchall()[0][0])}

    def translate(self, sql: str) -> None:
        if sql not in self._translated:
            import sqlglot

            self._translated[sql] = sqlglot.transpile(sql, read="hive", write="duckdb")[0]

    def run(self, sql: str) -> pa.Table:
        self.translate(sql)
        answer = self._connection.sql(self._translated[sql])
        return pa.table({}) if answer is None else answer.to_arrow_table()

    def cursor(self) -> Any:
        """Make a cursor of the database for another client."""
        return self._connection.cursor()

    def versions(self) -> dict[str, str]:
        import duckdb

        return {"duckdb": duckdb.__version__}

    def stop(self) -> None:
        self._connection.close()


def make_engine(name: str, options: EngineOptions) -> BenchEngine:
    match name:
        case "sharkpy":
            return SharkpyBench(options)
        case "sharkpy-rdd":
            return SharkpyBench(options, driver_placement=False)
        case "spark":
            return SparkBench(options)
        case "duckdb":
            return DuckdbBench(options)
    raise SystemExit(f'no engine "{name}": sharkpy, sharkpy-rdd, spark, duckdb')
