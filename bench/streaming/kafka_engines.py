"""Records of a topic into a table that can be queried, by one engine.

python -m bench.streaming.kafka_engines engine address topic
"""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING

from bench.engines import CORES
from bench.streaming.engines import CHECK, Answer, print_answer, sharkpy_table, texts
from bench.streaming.events import CHECKS, COLUMNS
from tests.jars import jars_of

if TYPE_CHECKING:
    import pyarrow as pa

_SPARK_PACKAGES = (
    ("spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("spark-token-provider-kafka-0-10_2.13", "4.2.0"),
)
"""The newest ones that are there; they run with a newer Spark."""
_SPARK_JARS = ("spark-sql-kafka", "spark-token-provider", "kafka-clients", "commons-pool2")
"""Of what they need, what Spark does not bring."""
_BATCH = 10_000
_PATIENCE = 30.0


def sharkpy_append(address: str, topic: str, folder: str) -> Answer:
    """A continuous table in memory and on disk."""
    options = f"'bootstrap.servers' = '{address}', 'topic' = '{topic}'"
    return sharkpy_table(f"STORED AS JSONFILE FROM KAFKA ({options})", folder)


def bare_consumer(address: str, topic: str, folder: str) -> Answer:  # noqa: ARG001  it writes nothing
    """A program that reads and parses, and keeps no table."""
    import duckdb

    read, seconds = consumed(address, topic)
    with duckdb.connect() as connection:
        connection.register("t", read)
        row = connection.execute(f"SELECT {CHECK} FROM t").fetchone()
    return seconds, texts(row or ())


def consumed(address: str, topic: str) -> tuple[pa.Table, float]:
    """Rows of all records of a topic, by librdkafka and Arrow's reader of JSON, and the seconds that took."""
    import pyarrow as pa
    import pyarrow.json as pj
    from confluent_kafka import Consumer, TopicPartition

    types = {"BIGINT": pa.int64(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us")}
    schema = pa.schema([(name, types[dtype]) for name, dtype in COLUMNS.items()])
    options = pj.ParseOptions(explicit_schema=schema)
    start = time.perf_counter()
    settings = {"bootstrap.servers": address, "group.id": "bare", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    partitions = consumer.list_topics(topic, _PATIENCE).topics[topic].partitions
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, one), _PATIENCE) for one in partitions]
    consumer.assign([TopicPartition(topic, one, low) for one, (low, _) in zip(partitions, ends, strict=True)])
    left = sum(high - low for low, high in ends)
    parts = []
    while left > 0:
        records = consumer.consume(_BATCH, _PATIENCE)
        assert records, "no record came"
        left -= len(records)
        lines = b"\n".join(record.value() for record in records)
        parts.append(pj.read_json(io.BytesIO(lines), parse_options=options))
    read = pa.concat_tables(parts)
    seconds = time.perf_counter() - start
    consumer.close()
    return read, seconds


def spark_append(address: str, topic: str, folder: str) -> Answer:
    """Structured Streaming: all that is there, into Parquet files."""
    from pyspark.sql import SparkSession

    columns = ", ".join(f"{name} {dtype}" for name, dtype in COLUMNS.items())
    needed = {jar for name, version in _SPARK_PACKAGES for jar in jars_of("org.apache.spark", name, version)}
    jars = ",".join(sorted(jar for jar in needed if jar.rpartition("/")[2].startswith(_SPARK_JARS)))
    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.jars", jars).config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        options = {"kafka.bootstrap.servers": address, "subscribe": topic, "startingOffsets": "earliest"}
        read = spark.readStream.format("kafka").options(**options, **{"kafka.isolation.level": "read_committed"}).load()
        rows = read.selectExpr(f"from_json(CAST(value AS STRING), '{columns}') AS v").select("v.*")
        writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        start = time.perf_counter()
        writer.trigger(availableNow=True).start(f"{folder}/t").awaitTermination()
        seconds = time.perf_counter() - start
        (row,) = spark.read.parquet(f"{folder}/t").selectExpr(*CHECKS).collect()
        return seconds, texts(row)
    finally:
        spark.stop()


ENGINES = {
    "sharkpy": sharkpy_append,
    "a bare consumer": bare_consumer,
    "Spark Structured Streaming": spark_append,
}

if __name__ == "__main__":
    name, *place = sys.argv[1:]
    print_answer(lambda folder: ENGINES[name](place[0], place[1], folder))
