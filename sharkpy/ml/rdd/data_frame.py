"""RDDs as DataFrames of Spark's."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession  # noqa: TID251 - what toDF is asked for
from pyspark.sql.pandas.types import from_arrow_schema  # noqa: TID251
from pyspark.sql.types import StructType  # noqa: TID251

from sharkpy.values.types import Schema, arrow_schema


def data_frame(rdd: Any, schema: Any, sample_ratio: float | None = None, *, verify: bool = True) -> DataFrame:
    """As `SparkSession.createDataFrame` makes it, whether there is a SparkSession yet or not."""
    # The SparkContext first: the session is made over it.
    rdd.ctx  # noqa: B018
    session: Any = SparkSession.builder.getOrCreate()
    frame: DataFrame = session.createDataFrame(rdd, schema, sample_ratio, verify)
    return frame


def spark_schema(schema: Schema) -> StructType:
    """The types of Spark that hold what ours do: a TIMESTAMP has no zone."""
    return from_arrow_schema(arrow_schema(schema), prefer_timestamp_ntz=True)
