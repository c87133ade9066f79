"""Answers of Spark SQL to the random queries."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.differential.engines import rows_of
from tests.differential.tables import TABLES

DIFFERENCES = ("WITH ROLLUP", "WITH CUBE")
"""Clauses for which Spark SQL answers otherwise (docs/hive-differences.md): the empty grouping set has no row without
input.
"""


@contextmanager
def spark_tables() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.crossJoin.enabled": "true",
        "spark.sql.legacy.nullInEmptyListBehavior": "false",
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder.master("local[2]").appName("oracle")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    for table in TABLES:
        session.createDataFrame(table.arrow()).createOrReplaceTempView(table.name)
    try:
        yield session
    finally:
        session.stop()


def spark_rows(session: Any, text: str) -> list[tuple[Any, ...]] | None:
    """Rows of a query on Spark; None if Spark is known to differ or does not take it."""
    from pyspark.errors import PySparkException

    if any(difference in text for difference in DIFFERENCES):
        return None
    try:
        return rows_of(session.sql(text).toArrow())
    except PySparkException:
        return None
