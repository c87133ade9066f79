"""Engines that run .slt files: sharkpy, and the oracles Spark SQL and DuckDB."""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa


class Engine(Protocol):
    """Engine of .slt files. Call order: 1. `open` 2. `run` per statement 3. `close`. Each file starts with an empty
    database.
    """

    name: str

    def open(self) -> None: ...
    def run(self, sql: str) -> pa.Table: ...
    def close(self) -> None: ...


_CREATED = re.compile(
    r"^\s*CREATE\s+(?:EXTERNAL\s+|TEMPORARY\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.`]+)", re.IGNORECASE
)


@functools.cache
def _owner() -> Any:
    """Session that owns the engine of this process: DuckDB, the store, and from the first RDD job on a JVM."""
    import atexit

    import sharkpy

    folder = tempfile.mkdtemp(prefix="sharkpy-slt-")
    session = sharkpy.connect(master="local[2]", warehouse=folder)
    atexit.register(lambda: (session.stop(), shutil.rmtree(folder, ignore_errors=True)))
    return session


class SharkEngine:
    """sharkpy under given settings; with `cached`, every table is cached as soon as it was made."""

    name = "sharkpy"

    def __init__(self, conf: Mapping[str, str] | None = None, *, cached: bool = False) -> None:
        self._conf = dict(conf or {})
        self._cached = cached
        self._session: Any = None

    def open(self) -> None:
        self._session = _owner().new_session(**self._conf)

    def run(self, sql: str) -> pa.Table:
        with self._session.sql(sql) as result:
            table = result.to_arrow()
        created = _CREATED.match(sql)
        if self._cached and created:
            self._session.sql(f"CACHE TABLE {created[1]}").close()
        return table

    def close(self) -> None:
        self._session.stop()
        _drop_all(_owner())


def _drop_all(session: Any) -> None:
    """Leave no database, table, stream, view or function of a file."""
    for (name,) in session.sql("SHOW DATABASES").fetchall():
        if name != "default":
            session.sql(f"DROP DATABASE `{name}` CASCADE").close()
    for kind in ("CONTINUOUS TABLE", "STREAM"):
        for _, name, *_ in session.sql(f"SHOW {kind}S").fetchall():
            session.sql(f"DROP {kind} IF EXISTS `{name}`").close()
    for kind, names in (("VIEW", "SHOW VIEWS"), ("TABLE", "SHOW TABLES")):
        for (name,) in session.sql(names).fetchall():
            session.sql(f"DROP {kind} IF EXISTS `{name}`").close()
    for entry in session.catalog.functions.entries("default"):
        session.sql(f"DROP FUNCTION `{entry.name}`").close()


@functools.cache
def _spark_session() -> Any:
    import os
    import sys

    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("oracle")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.legacy.createHiveTableByDefault": "false",
        "spark.sql.storeAssignmentPolicy": "LEGACY",
        "spark.sql.crossJoin.enabled": "true",
        "spark.sql.legacy.nullInEmptyListBehavior": "false",
        "spark.sql.legacy.timeParserPolicy": "CORRECTED",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="spark-oracle-"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


_STORED_AS = re.compile(r"\bSTORED\s+AS\s+(PARQUET|ORC)\b", re.IGNORECASE)


class SparkEngine:
    """Spark SQL with Hive's lenient semantics."""

    name = "spark"

    def open(self) -> None:
        self._spark = _spark_session()
        self._settings = self._known_settings()
        self._spark.sql("CREATE DATABASE slt")
        self._spark.sql("USE slt")

    def run(self, sql: str) -> pa.Table:
        frame = self._spark.sql(_STORED_AS.sub(r"USING \1", sql))
        return frame.toArrow() if frame.columns else pa.table({})

    def close(self) -> None:
        self._spark.catalog.clearCache()
        for view in self._spark.catalog.listTables("slt"):
            if view.isTemporary:
                self._spark.catalog.dropTempView(view.name)
        for database in self._spark.catalog.listDatabases():
            if database.name != "default":
                self._spark.sql(f"DROP DATABASE {database.name} CASCADE")
        self._spark.sql("USE default")
        # All files of this process share the session.
        for key, _ in self._known_settings().items() - self._settings.items():
            if key in self._settings:
                self._spark.conf.set(key, self._settings[key])
            else:
                self._spark.conf.unset(key)

    def _known_settings(self) -> dict[str, str]:
        """Settings that have a value of their own."""
        return {row.key: row.value for row in self._spark.sql("SET").collect()}


class DuckEngine:
    """DuckDB with statements translated by sqlglot."""

    name = "duckdb"

    def open(self) -> None:
        import duckdb

        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1; SET default_null_order = 'nulls_first_on_asc_last_on_desc'")

    def run(self, sql: str) -> pa.Table:
        import sqlglot

        table = pa.table({})
        for statement in sqlglot.transpile(sql, read="hive", write="duckdb"):
            relation = self._connection.sql(statement)
            table = pa.table({}) if relation is None else relation.to_arrow_table()
        return table

    def close(self) -> None:
        self._connection.close()
