"""Answers of Spark SQL to the random queries."""

from __future__ import annotations

from typing import Any

from tests.differential.engines import rows_of
from tests.differential.tables import TABLES

DIFFERENCES = ("WITH ROLLUP", "WITH CUBE")
"""Clauses for which Spark SQL answers otherwise (docs/hive-differences.md): the empty grouping set has no row without
input.
"""


def add_tables(session: Any) -> None:
    for table in TABLES:
        session.createDataFrame(table.arrow()).createOrReplaceTempView(table.name)


def spark_rows(session: Any, text: str) -> list[tuple[Any, ...]] | None:
    """Rows of a query on Spark; None if Spark is known to differ or does not take it."""
    from pyspark.errors import PySparkException

    if any(difference in text for difference in DIFFERENCES):
        return None
    try:
        return rows_of(session.sql(text).toArrow())
    except PySparkException:
        return None
