"""Streams of a real Kafka broker's topics: each record comes once, from any place in the topic and next to any other
record.
"""

from __future__ import annotations

import datetime
import io
import json
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fastavro
import httpx
import pytest
from confluent_kafka import Message

import sharkpy
from sharkpy.base.errors import BindError, ConfigurationError, ExecutionError, NotAllowedError, SourceError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources.kafka import records
from sharkpy.sources.kafka.fetch import OffsetRange
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.server import HiveServer
from sharkpy.web.server import WebServer
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import numbers, state_of, until_numbers
from tests.streaming.kafka_broker import KafkaBroker
from tests.streaming.kafka_topic import KafkaTopic
from tests.waiting import until

JSON = "(n BIGINT, s STRING) STORED AS JSONFILE"


@pytest.fixture
def topic(kafka: KafkaBroker, request: pytest.FixtureRequest) -> Callable[..., KafkaTopic]:
    """Makes the test's topic."""
    name = "".join(one if one.isalnum() else "." for one in request.node.name)

    def make(partitions: int = 1, **settings: str) -> KafkaTopic:
        return KafkaTopic(kafka, name, partitions, **settings)

    return make


def test_records_of_all_partitions_come_once(context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]) -> None:
    made = topic(3)
    for partition in range(3):
        made.put_numbers(range(partition * 10, partition * 10 + 4), partition)
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n, s FROM s WHERE n <> 1")
    expected = [0, 2, 3, *range(10, 14), *range(20, 24)]
    until_numbers(context, expected)
    made.put_numbers([100], 1)
    until_numbers(context, [*expected, 100])
    made.grow(5)
    made.put_numbers([200, 201], 4)
    until_numbers(context, [*expected, 100, 200, 201])
    assert rows(context, "SELECT s FROM t WHERE n = 201") == [("s201",)]
    assert state_of(context) == ("RUNNING", None)
    ends = [json.loads(str(row[5]))["default.s"] for row in rows(context, "SHOW EPOCHS t")]
    assert ends[0][1] == [4, 5, 4, 0, 2]


def test_it_goes_on_after_a_restart(tmp_path: Path, topic: Callable[..., KafkaTopic]) -> None:
    made = topic(2)
    made.put_numbers(range(3), 1)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql(f"CREATE STREAM s {JSON} {made.source()}")
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM s")
        until_numbers(context, range(3))
    made.put_numbers(range(3, 6))
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until_numbers(context, range(6))


def test_columns_of_records(context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]) -> None:
    made = topic(2)
    milliseconds = 1_700_000_000_123
    headers = [("a", b"1"), ("a", b"2"), ("b", None)]
    made.put(['{"n": 1}'], 0, key=b"k\xff", headers=headers, timestamp=milliseconds)
    made.put([None], 1, key=b"gone", timestamp=milliseconds)
    made.put(['{"n": 3}'], 1, timestamp=milliseconds)
    context.sql("SET TIME ZONE 'Europe/Berlin'")
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    assert sorted(rows(context, "SELECT * FROM s"), key=str) == [(1, None), (3, None), (None, None)]
    found = rows(context, "SELECT __partition, __offset, __timestamp, __key, __headers, n FROM s ORDER BY 1, 2")
    clock = datetime.datetime(2023, 11, 14, 23, 13, 20, 123000)
    assert found == [
        (0, 0, clock, b"k\xff", {"a": b"2", "b": None}, 1),
        (1, 0, clock, b"gone", None, None),
        (1, 1, clock, None, None, 3),
    ]
    assert rows(context, "SELECT count(*), max(__offset) FROM s WHERE __partition = 1") == [(2, 1)]


def test_times_of_records_are_event_times(context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]) -> None:
    made, first = topic(1), 1_777_629_600_000
    made.put(['{"ms": 1777629600000}'], 0, timestamp=first)
    made.put(['{"ms": 1777629605000}'], 0, timestamp=first + 90_000)
    columns = "ms BIGINT, at AS (timestamp_millis(ms)), came AS (__timestamp), WATERMARK FOR came AS came"
    context.sql(f"CREATE STREAM s ({columns}) {made.source()}")
    text = "SELECT window.start, count(*) AS n FROM s GROUP BY window(came, '1 minute')"
    context.sql(f"CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW EMIT APPEND AS {text}")
    begin = datetime.datetime(2026, 5, 1, 10)
    assert rows(context, "SELECT * FROM t") == [(begin, 1)]
    found = rows(context, "SELECT at, __offset FROM s ORDER BY 1")
    assert found == [(begin, 0), (begin + datetime.timedelta(seconds=5), 1)]


def test_the_console_shows_the_times_of_partitions(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]
) -> None:
    """The time of a partition is the latest of its last records. A slow partition holds nothing back."""

    def put(partition: int, *times: str) -> None:
        made.put([json.dumps({"at": f"2026-05-01 {time}"}) for time in times], partition)

    made = topic(3)
    put(0, "10:05:00", "10:04:00")
    put(1, "10:01:00")
    context.sql(f"CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE) {made.source()}")
    text = "SELECT window.start AS w, count(*) AS c FROM s GROUP BY window(at, '1 minute')"
    context.sql(f"CREATE CONTINUOUS TABLE t EMIT APPEND AS {text}")
    with HiveServer(context, ServerConfig(port=0, web_port=0)) as server, WebServer(server.parts, server.login) as web:

        def shown() -> tuple[object, ...]:
            found = httpx.get(f"http://127.0.0.1:{web.port}/api/v1/streams/t", timeout=30).json()
            (read,) = found["reads"]
            times = [(one["latest"], one["lag_seconds"], one["is_before_watermark"]) for one in read["partitions"]]
            return found["watermark"], read["slowest_partition"], times

        day = "2026-05-01"
        first = [(f"{day} 10:05:00", 0, False), (f"{day} 10:01:00", 240, True), (None, None, False)]
        until(lambda: shown() == (f"{day} 10:04:00", 1, first))
        put(2, *["10:00:00"] * 150, "no time")
        put(1, "10:04:30")
        second = [(f"{day} 10:05:00", 0, False), (f"{day} 10:04:30", 30, False), (f"{day} 10:00:00", 300, True)]
        until(lambda: shown() == (f"{day} 10:04:00", 2, second))


@pytest.mark.parametrize("zone", ["", "America/New_York"])
def test_instants_of_iso_8601_are_event_times(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic], zone: str
) -> None:
    """Times that name a zone are read in UTC, or in the zone of the format's option. A text that is not a time is NULL,
    and in no window.
    """
    made = topic()
    texts = ["2026-05-01T14:00:00Z", "2026-05-01T16:00:30.123456+02:00", "2026-05-01T10:00:59.999-04:00", "yesterday"]
    made.put([json.dumps({"at": text, "n": number}) for number, text in enumerate(texts)], 0)
    columns = "(at TIMESTAMP, n BIGINT, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)"
    kind = f"USING json OPTIONS (timeZone '{zone}')" if zone else "STORED AS JSONFILE"
    context.sql(f"CREATE STREAM s {columns} {kind} {made.source()}")
    text = "SELECT window.start AS w, count(*) AS c, sum(n) AS n FROM s GROUP BY window(at, '1 minute')"
    context.sql(f"CREATE CONTINUOUS TABLE t EMIT APPEND AS {text}")
    until(lambda: bool(rows(context, "SHOW EPOCHS t")))
    made.put(['{"at": "2026-05-01T14:01:09Z", "n": 8}'], 0)
    until(lambda: len(rows(context, "SHOW EPOCHS t")) == 2)
    assert rows(context, "SELECT * FROM t") == []
    made.put(['{"at": "2026-05-01T14:01:10.5+00:00", "n": 16}'], 0)
    begin = datetime.datetime(2026, 5, 1, 10 if zone else 14)
    until(lambda: rows(context, "SELECT * FROM t") == [(begin, 3, 3)])
    moments = [begin, begin.replace(second=30, microsecond=123456), begin.replace(second=59, microsecond=999000), None]
    assert rows(context, "SELECT at FROM s WHERE n < 4 ORDER BY n") == [(one,) for one in moments]


AVRO = json.dumps(
    {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}
)


def avro(n: int, s: str) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, json.loads(AVRO), {"n": n, "s": s})
    return target.getvalue()


def avro_clauses(**options: str) -> tuple[str, dict[str, str]]:
    return f"(n BIGINT, s STRING) STORED AS AVRO TBLPROPERTIES ('avro.schema.literal' = '{AVRO}')", options


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("clauses", "values", "expected"),
    [
        pytest.param(
            ("(n BIGINT, s STRING)", {}),
            ['{"n": 1, "s": "a\\nb"}', "no json", "", '{"N": 4}', '{"n": 5,\n"s": "c"}'],
            [(1, "a\nb"), (None, None), (None, None), (4, None), (5, "c")],
            id="json",
        ),
        pytest.param(
            ("(n BIGINT, s STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ','", {}),
            ["1,a\nb", "x,y", "3", ""],
            [(1, "a\nb"), (None, "y"), (3, None), (None, None)],
            id="text",
        ),
        pytest.param(
            ("(n STRING, s STRING) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'", {}),
            ['"1","a,b"', "2,c"],
            [("1", "a,b"), ("2", "c")],
            id="csv",
        ),
        pytest.param(("(s STRING)", {}), ["plain", "", b"\xff"], [("plain",), ("",), ("\ufffd",)], id="string"),
        pytest.param(("(b BINARY)", {}), [b"\xff\x00", ""], [(b"\xff\x00",), (b"",)], id="bytes"),
        pytest.param(
            avro_clauses(),
            [avro(1, "a"), b"\xff", avro(3, "c") + b"more", avro(4, "")],
            [(1, "a"), (None, None), (None, None), (4, "")],
            id="avro",
        ),
        pytest.param(
            avro_clauses(confluent_schema_id="true"),
            [b"\0\0\0\0\7" + avro(1, "a"), avro(2, "b"), b""],
            [(1, "a"), (None, None), (None, None)],
            id="confluent",
        ),
        pytest.param(
            (
                "(n BIGINT, s STRING) STORED AS AVRO TBLPROPERTIES ('confluent.schema.id' = 'true', "
                f"'avro.schema.literal' = '{AVRO}')",
                {},
            ),
            [b"\0\0\0\0\1" + avro(1, "a")],
            [(1, "a")],
            id="confluent property",
        ),
        pytest.param(
            ("(n BIGINT, s STRING) TBLPROPERTIES ('confluent.schema.id' = 'true')", {}),
            [b'\0\0\0\0\1{"n": 1, "s": "a"}', b"\0\0", b""],
            [(1, "a"), (None, None), (None, None)],
            id="confluent json",
        ),
    ],
)
def test_formats_of_values(
    context: sharkpy.SharkContext,
    topic: Callable[..., KafkaTopic],
    clauses: tuple[str, dict[str, str]],
    values: list[bytes | str],
    expected: list[tuple[object, ...]],
) -> None:
    """A malformed value is NULL; so is each column of a record without a value."""
    made = topic()
    text, options = clauses
    made.put([*values[:1], None, *values[1:]])
    context.sql(f"CREATE STREAM s {text} {made.source(**options)}")
    nothing = (None,) * len(expected[0])
    assert rows(context, "SELECT * FROM s") == [*expected[:1], nothing, *expected[1:]]


def test_where_reading_begins(context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]) -> None:
    made = topic(2)
    for number in range(4):
        made.put([json.dumps({"n": number})], number % 2, timestamp=1_700_000_000_000 + number)
    starts = {
        "latest": made.source(startingOffsets="latest"),
        "first": made.source(startingOffsets="earliest"),
        "given": made.source(startingOffsets='{"0": 1, "1": -2}'),
        "mixed": made.source(startingOffsets='{"0": -1}'),
        "timed": made.source(startingTimestamp="1700000000002"),
        "later": made.source(startingTimestamp="1800000000000"),
    }
    for name, source in starts.items():
        context.sql(f"CREATE STREAM {name} {JSON} {source}")
    # Words that mean now mean the moment at which the stream was made, for all its queries.
    made.put(['{"n": 4}'])
    found = {name: sorted(n for (n,) in rows(context, f"SELECT n FROM {name}")) for name in starts}
    assert found == {
        "latest": [4],
        "first": [0, 1, 2, 3, 4],
        "given": [1, 2, 3, 4],
        "mixed": [1, 3, 4],
        "timed": [2, 3, 4],
        "later": [4],
    }
    text = "\n".join(str(line) for (line,) in rows(context, "SHOW CREATE TABLE timed"))
    assert "'startingOffsets'='{\"0\": 1, \"1\": 1}'" in text
    assert "startingTimestamp" not in text


def test_refresh_and_rollback_read_records_again(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]
) -> None:
    made = topic()
    made.put_numbers(range(3))
    source = made.source(startingOffsets='{"0": 1}')
    context.sql(f"CREATE STREAM s {JSON} {source}")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM s")
    until_numbers(context, [1, 2])
    made.grow(2)
    made.put_numbers([10], 1)
    until_numbers(context, [1, 2, 10])
    context.sql("PAUSE CONTINUOUS TABLE t")
    # Then the second partition was not known.
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
    assert numbers(context) == [1, 2]
    context.sql("RESUME CONTINUOUS TABLE t")
    until_numbers(context, [1, 2, 10])
    context.sql("REFRESH CONTINUOUS TABLE t")
    until_numbers(context, [1, 2, 10])


def test_records_of_transactions_come_when_they_are_committed(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]
) -> None:
    made = topic()
    made.put_numbers([0])
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    context.sql(f"CREATE STREAM dirty {JSON} {made.source(kafka_isolation_level='read_uncommitted')}")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM s")
    until_numbers(context, [0])
    producer = made.transaction("one")
    for number in range(1, 4):
        producer.produce(made.name, json.dumps({"n": number}))
    producer.flush()
    # Records after an open transaction wait for its end, so that the order is kept.
    made.put_numbers([10])
    assert rows(context, "SELECT count(*) FROM dirty") == [(5,)]
    assert numbers(context, "s") == [0]
    producer.abort_transaction()
    until_numbers(context, [0, 10])
    producer.begin_transaction()
    producer.produce(made.name, json.dumps({"n": 20}))
    producer.commit_transaction()
    until_numbers(context, [0, 10, 20])
    # The mark of the commit is the last of the topic: it does not become a row, and no epoch waits for a row of it.
    made.put_numbers([30])
    until_numbers(context, [0, 10, 20, 30])
    assert numbers(context, "s") == [0, 10, 20, 30]


def test_a_topic_of_aborted_records_alone_has_no_rows(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]
) -> None:
    made = topic()
    producer = made.transaction("none")
    producer.produce(made.name, '{"n": 1}')
    producer.flush()
    producer.abort_transaction()
    # The broker writes the mark of the end after its answer. Only then can an epoch pass over it.
    assert made.committed() == []
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM s")
    assert numbers(context) == []
    assert [row[3] for row in rows(context, "SHOW EPOCHS t")] == [0]


def test_compaction_leaves_gaps(context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]) -> None:
    made = topic(cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01")
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    for number in range(50):
        made.put([json.dumps({"n": number})], key=b"same")

    def is_compacted() -> bool:
        # A segment ends when a record comes after its time.
        time.sleep(0.15)
        made.put(['{"n": -1}'], key=b"other")
        return 0 not in numbers(context, "s")

    until(is_compacted)
    made.put(['{"n": 100}'], key=b"last")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM s")
    found = numbers(context)
    assert {49, -1, 100} <= set(found)
    assert 0 not in found


def test_records_that_retention_has_deleted(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic], caplog: pytest.LogCaptureFixture
) -> None:
    made = topic(2)
    made.put_numbers(range(5))
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM s")
    until_numbers(context, range(5))
    context.sql("PAUSE CONTINUOUS TABLE t")
    made.put_numbers(range(5, 10))
    made.put_numbers([20], 1)
    made.delete_records({0: 7})
    context.sql("RESUME CONTINUOUS TABLE t")
    until(lambda: state_of(context)[1])
    assert "records 5 to 6 of partition 0" in str(state_of(context)[1])
    assert numbers(context) == [0, 1, 2, 3, 4]
    with caplog.at_level(logging.WARNING):
        context.sql("ALTER TABLE s SET TBLPROPERTIES ('failOnDataLoss' = 'false')")
        until_numbers(context, [*range(5), 7, 8, 9, 20])
    assert "2 records of partition 0" in caplog.text
    # A query that starts now starts with the existing records.
    assert numbers(context, "s") == [7, 8, 9, 20]
    with pytest.raises(BindError, match="are gone"):
        context.sql("REFRESH CONTINUOUS TABLE t")


@pytest.mark.parametrize("is_strict", [True, False])
def test_records_that_are_deleted_while_they_are_read(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic], monkeypatch: pytest.MonkeyPatch, is_strict: bool
) -> None:
    """The records existed when the epoch was planned."""
    made = topic(2)
    made.put_numbers(range(5))
    made.put_numbers([20], 1)
    context.sql(f"CREATE STREAM s {JSON} {made.source(failOnDataLoss=str(is_strict).lower())}")
    ranges_of = records.ranges_of

    def deleted(split: records.Split) -> list[OffsetRange]:
        made.delete_records({0: 3})
        return ranges_of(split)

    monkeypatch.setattr(records, "ranges_of", deleted)
    if is_strict:
        with pytest.raises(SourceError, match="records 0 to 2 of partition 0"):
            numbers(context, "s")
    else:
        assert numbers(context, "s") == [3, 4, 20]


def test_a_topic_that_is_gone_and_one_that_was_made_anew(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]
) -> None:
    made = topic()
    made.put_numbers(range(3))
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM s")
    until_numbers(context, range(3))
    made.delete()
    until(lambda: "does not exist" in str(state_of(context)[1]))
    assert state_of(context)[0] == "RUNNING"
    made.create(1)
    made.put_numbers([7])
    until(lambda: "may have been made anew" in str(state_of(context)[1]))
    assert numbers(context) == [0, 1, 2]


def test_epochs_have_no_more_records_than_they_may(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]
) -> None:
    made = topic(3)
    made.put_numbers(range(50), 0)
    made.put_numbers(range(50, 60), 2)
    context.sql(f"CREATE STREAM s {JSON} {made.source(max_rows_per_epoch='20')}")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM s")
    assert numbers(context) == list(range(60))
    counts = [int(str(row[3])) for row in rows(context, "SHOW EPOCHS t")]
    assert len(counts) == 3
    assert max(counts) <= 22


@pytest.mark.slow
def test_a_query_with_a_limit_does_not_read_the_whole_topic(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, read = topic(), list[int]()
    made.put_numbers(range(60_000))
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    make_batch = records._batch

    def counted(some: list[Message], *others: object) -> object:
        read.append(len(some))
        return make_batch(some, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(records, "_batch", counted)
    assert rows(context, "SELECT n FROM s LIMIT 2") == [(0,), (1,)]
    assert 2 <= sum(read) < 40_000
    assert rows(context, "SELECT count(*), count(DISTINCT n), sum(__offset - n) FROM s") == [(60_000, 60_000, 0)]


def test_a_stream_may_be_read_twice_by_one_query(
    context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]
) -> None:
    made = topic(2)
    made.put_numbers(range(10))
    made.put_numbers(range(10, 20), 1)
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    assert rows(context, "SELECT count(*) FROM s a JOIN s b ON a.n = b.n + 1") == [(19,)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'topic' = 't'", "FROM KAFKA needs the option bootstrap.servers"),
        ("'bootstrap.servers' = 'h:1'", "FROM KAFKA needs the option topic"),
        ("'bootstrap.servers' = 'h:1', 'topic' = 't', 'kafka.plugin.library.paths' = 'x'", "has no option"),
        ("'bootstrap.servers' = 'h:1', 'topic' = 't', 'startingOffsets' = 'some'", "is not a value"),
        ("'bootstrap.servers' = 'h:1', 'topic' = 't', 'startingOffsets' = '{\"0\": 1.5}'", "is not a value"),
        ("'bootstrap.servers' = 'h:1', 'topic' = 't', 'time.zone' = 'Nowhere'", "is not a value"),
    ],
)
def test_options_that_cannot_be_obeyed(context: sharkpy.SharkContext, options: str, message: str) -> None:
    with pytest.raises(BindError, match=message):
        context.sql(f"CREATE STREAM s (n INT) FROM KAFKA ({options})")


def test_errors_of_brokers_and_clients(
    context: sharkpy.SharkContext, kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"'bootstrap.servers' = '{kafka.address}', 'topic' = 'nowhere'"
    context.sql(f"CREATE STREAM s {JSON} FROM KAFKA ({place})")
    with pytest.raises(SourceError, match='the topic "nowhere" does not exist'):
        numbers(context, "s")
    with pytest.raises(SourceError, match='the topic "nowhere" does not exist'):
        context.sql(f"CREATE STREAM u {JSON} FROM KAFKA ({place}, 'startingOffsets' = 'latest')")
    with pytest.raises(ConfigurationError, match=r"security\.protocol"):
        context.sql(f"CREATE STREAM u {JSON} FROM KAFKA ({place}, 'kafka.security.protocol' = 'magic')")
    context.sql(f"CREATE STREAM u {JSON} FROM KAFKA ('bootstrap.servers' = '127.0.0.1:1', 'topic' = 't')")
    with pytest.raises(ExecutionError, match=r"Kafka at 127\.0\.0\.1:1") as caught:
        numbers(context, "u")
    assert caught.value.sqlstate == "08006"
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigurationError, match="need the package confluent-kafka") as missing:
        context.sql(f"CREATE STREAM v {JSON} FROM KAFKA ({place})")
    assert missing.value.hint == 'run: pip install "sharkpy[kafka]"'


def test_nobody_sees_passwords(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    options = "'kafka.sasl.username' = 'me', 'kafka.sasl.password' = 'hidden'"
    context.sql(f"CREATE STREAM s (n INT) FROM KAFKA ('bootstrap.servers' = 'h:1', 'topic' = 't', {options})")
    shown = str([*rows(context, "SHOW CREATE TABLE s"), *rows(context, "DESCRIBE EXTENDED s")])
    assert "me" in shown
    assert "hidden" not in shown


def test_restricted_sessions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    place = "'bootstrap.servers' = 'h:1', 'topic' = 't'"
    ca = "'kafka.ssl.ca.location' = '/etc/ssl/certs/ca-certificates.crt'"
    context.restrictions = Restrictions(refuses_connections=True)
    with pytest.raises(NotAllowedError, match="a stream FROM KAFKA"):
        context.sql(f"CREATE STREAM s (n INT) FROM KAFKA ({place})")
    context.restrictions = Restrictions(folders=(tmp_path / "mine",))
    with pytest.raises(NotAllowedError, match=r"ca-certificates\.crt.*out of this session's bounds"):
        context.sql(f"CREATE STREAM s (n INT) FROM KAFKA ({place}, {ca})")


def test_bad_rows_go_to_a_table(context: sharkpy.SharkContext, topic: Callable[..., KafkaTopic]) -> None:
    made = topic(2)
    made.put(['{"n": 1}', None, "no object", '{"n": "x"}', '{"n": 2}'], 0)
    made.put(["{", '{"n": 3}'], 1)
    context.sql(f"CREATE STREAM s {JSON} {made.source()}")
    context.sql("CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW ON BAD ROW SKIP TO bad AS SELECT n FROM s")
    assert rows(context, "SELECT n FROM t ORDER BY n") == [(None,), (1,), (2,), (3,)]
    assert sorted(rows(context, "SELECT source, `offset`, record, reason FROM bad"), key=str) == [
        (f"{made.name}-0", 2, "no object", "no JSON object"),
        (f"{made.name}-0", 3, '{"n": "x"}', '"n" is no BIGINT'),
        (f"{made.name}-1", 0, "{", "no JSON object"),
    ]
    assert [row[-1] for row in rows(context, "SHOW EPOCHS t")] == [3]
    # Many records are read by other means than few.
    made.put(["{" if n % 3 else f'{{"n": {n}}}' for n in range(3000)], 1)
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT count(*) FROM bad") == [(3 + 2000,)]
    assert rows(context, "SELECT count(*), count(DISTINCT n) FROM t WHERE n IS NOT NULL") == [(1003, 1002)]
