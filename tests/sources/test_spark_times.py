"""Timestamps and dates from year 1 to 9999 in files that Spark writes, and that Spark reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = (
    "0001-01-01 00:00:00",
    "0999-03-01 12:00:00.5",
    "1582-10-04 23:59:59",
    "1582-10-15 00:00:00",
    "1850-06-01 08:30:00.25",
    "1900-01-01 00:00:00",
    "1960-01-02 03:04:05.000001",
    "1969-12-31 23:59:58.75",
    "1970-01-01 00:00:00",
    "2024-02-29 12:34:56.789012",
    "2262-04-12 00:00:00",
    "9999-12-31 23:59:59.999999",
)
COLUMNS = "n int, t timestamp, d date, l array<timestamp>, s struct<t:timestamp,d:date>"
SELECTED = (
    "SELECT n, cast(t AS string) t, cast(d AS string) d, cast(l[0] AS string) l, cast(s.t AS string) st,"
    " cast(s.d AS string) sd FROM {} ORDER BY n"
)
FORMS = ("orc", "parquet")
ZONES = ("UTC", "America/Los_Angeles")


def schema() -> Schema:
    pairs = (column.split(" ", 1) for column in COLUMNS.split(", "))
    return Schema(tuple(Field(name, parse_type(dtype)) for name, dtype in pairs))


def expected() -> list[tuple[object, ...]]:
    return [(n, text, text[:10], text, text, text[:10]) for n, text in enumerate(TEXTS)]


def rows() -> pa.RecordBatch:
    """Rows of TEXTS, made without either engine's parser."""
    texts = pa.array(TEXTS)
    moments = texts.cast(pa.timestamp("us"))
    days = moments.cast(pa.date32(), safe=False)
    lists = pa.ListArray.from_arrays(range(len(TEXTS) + 1), moments)
    pairs = pa.StructArray.from_arrays([moments, days], names=["t", "d"])
    columns = [pa.array(range(len(TEXTS)), pa.int32()), moments, days, lists, pairs]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema()))


@pytest.fixture(params=ZONES)
def spark(request: pytest.FixtureRequest, spark_sql: SparkSession) -> Iterator[SparkSession]:
    """Session whose JVM has a time zone: files of ORC hold clocks of the writer's."""
    zones = spark_sql.sparkContext._jvm.java.util.TimeZone
    before, session = zones.getDefault(), spark_sql.newSession()
    zones.setDefault(zones.getTimeZone(request.param))
    session.conf.set("spark.sql.session.timeZone", request.param)
    yield session
    zones.setDefault(before)


@pytest.mark.variants(3)
@pytest.mark.parametrize("form", FORMS)
def test_theirs_are_read_here(spark: SparkSession, form: str, tmp_path: Path) -> None:
    values = ", ".join(f"({n}, timestamp '{text}', date '{text[:10]}')" for n, text in enumerate(TEXTS))
    text = f"SELECT n, t, d, array(t) l, named_struct('t', t, 'd', d) s FROM VALUES {values} AS x(n, t, d)"
    spark.sql(text).coalesce(1).write.format(form).save(str(tmp_path / "theirs"))
    reader = source(form)
    splits = reader.splits(list_data_files(str(tmp_path / "theirs")), schema(), (), 1 << 20)
    read = pa.Table.from_batches([b for split in splits for b in reader.read(split, schema(), schema().names)])
    if form == "parquet" and spark.conf.get("spark.sql.session.timeZone") != "UTC":
        # Parquet holds instants, which are shown in UTC here.
        assert read["d"].to_pylist() == rows()["d"].to_pylist()
    else:
        assert read.sort_by("n").to_pylist() == rows().to_pylist()


@pytest.mark.variants(3)
@pytest.mark.parametrize("form", FORMS)
def test_ours_are_read_by_them(spark: SparkSession, form: str, tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    folder.mkdir()
    source(form).write([rows()], schema(), (), str(folder / f"part-0.{form}"))
    frame = spark.read.schema(COLUMNS).format(form).load(str(folder))
    frame.createOrReplaceTempView("ours")
    if form == "orc" or spark.conf.get("spark.sql.session.timeZone") == "UTC":
        assert [tuple(row) for row in spark.sql(SELECTED.format("ours")).collect()] == expected()
    for number, text in enumerate(TEXTS if form == "orc" else ()):
        # By the statistics in the file.
        found = spark.sql(f"SELECT n FROM ours WHERE t = timestamp '{text}' AND d = date '{text[:10]}'").collect()
        assert [row.n for row in found] == [number]
