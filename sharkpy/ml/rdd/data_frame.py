"""RDDs as Spark's DataFrames."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession  # noqa: TID251 - what toDF is asked for
from pyspark.sql.pandas.types import from_arrow_schema  # noqa: TID251
from pyspark.sql.types import StructType  # noqa: TID251

from sharkpy.values.types import Schema, arrow_schema


def data_frame(rdd: Any, schema: Any, sample_ratio: float | None = None, *, verify: bool = True) -> DataFrame:
    """Return the DataFrame of an RDD by `SparkSession.createDataFrame`, with a new SparkSession if there is none."""
    # The SparkContext first: the session is made over it.
    rdd.ctx  # noqa: B018
    session: Any = SparkSession.builder.getOrCreate()
    frame: DataFrame = session.createDataFrame(rdd, schema, sample_ratio, verify)
    return frame


def spark_schema(schema: Schema) -> StructType:
    """Schema of Spark for values of `schema`: TIMESTAMP becomes the type without a zone."""
    return from_arrow_schema(arrow_schema(schema), prefer_timestamp_ntz=True)
