"""Continuous sinks into topics of a real Kafka broker: a consumer of transactions has each row once."""

from __future__ import annotations

import datetime
import io
import json
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import fastavro
import pytest
from confluent_kafka import Consumer, TopicPartition

import sharkpy
from sharkpy.base.errors import ConfigurationError, ExecutionError, NotAllowedError, ResourceError, SharkError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources.kafka import producer as producers
from sharkpy.sources.kafka.producer import CommitMark, MarkedProducer
from sharkpy.streaming import kill_points
from sharkpy.streaming.sinks import kafka_sink
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, put, put_numbers, state_of
from tests.streaming.kafka_broker import KafkaBroker
from tests.streaming.kafka_topic import QUIET, KafkaTopic
from tests.waiting import until

LIVE = "TRIGGER EVERY 1 MILLISECONDS"


@pytest.fixture
def topic(kafka: KafkaBroker, request: pytest.FixtureRequest) -> Callable[..., KafkaTopic]:
    """Makes the test's topic."""
    name = f"{request.node.originalname}.{uuid.uuid4().hex[:8]}"

    def make(partitions: int = 1, **settings: str) -> KafkaTopic:
        return KafkaTopic(kafka, name, partitions, **settings)

    return make


def numbers_in(topic: KafkaTopic) -> list[int]:
    return sorted(json.loads(one.value() or b"")["n"] for one in topic.committed())


def test_each_row_is_there_once(context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]) -> None:
    make_stream(context, folder, "('max.files.per.epoch' = '1')")
    made = topic(3)
    put_numbers(folder, "a", range(10))
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} AS SELECT n, s, n > 3 AS b FROM numbers")
    until(lambda: numbers_in(made) == list(range(10)))
    for number in range(1, 4):
        put_numbers(folder, str(number), range(number * 10, number * 10 + 10))
        until(lambda end=number * 10 + 10: numbers_in(made) == list(range(end)))  # type: ignore[misc]
    assert json.loads(made.committed()[0].value() or b"").keys() == {"n", "s", "b"}
    until(lambda: rows(context, "SHOW CONTINUOUS TABLES")[0][4] == 4)
    assert state_of(context, "k") == ("RUNNING", None)
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][3] == "EVERY 0 MILLISECONDS"
    assert [(row[0], row[3]) for row in rows(context, "SHOW EPOCHS k LIMIT 1")] == [(4, 10)]
    context.sql("DROP CONTINUOUS SINK k")
    assert len(made.committed()) == 40


def test_it_goes_on_after_a_restart(tmp_path: Path, folder: Path, topic: Callable[..., KafkaTopic]) -> None:
    made = topic()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        put_numbers(folder, "a", range(5))
        context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS SELECT n FROM numbers")
    put_numbers(folder, "b", range(5, 8))
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("RESUME CONTINUOUS SINK k")
        assert [json.loads(one.value() or b"")["n"] for one in made.committed()] == list(range(8))
        context.sql("RESUME CONTINUOUS SINK k")
        assert len(made.committed()) == 8


def test_parts_of_records(context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]) -> None:
    make_stream(context, folder)
    made = topic(3)
    put_numbers(folder, "a", [0, 1, 2])
    query = """
        SELECT n, concat('k', s) AS __key, CASE n WHEN 0 THEN NULL ELSE n END AS __partition,
          CASE n WHEN 2 THEN NULL ELSE TIMESTAMP '2024-03-01 12:00:00.123456' END AS __timestamp,
          CASE n WHEN 1 THEN map('trace', s, 'h', NULL) END AS __headers, s
        FROM numbers
    """
    context.sql("SET spark.sql.session.timeZone = Europe/Berlin")
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS {query}")
    found = {json.loads(one.value() or b"")["n"]: one for one in made.committed()}
    assert [found[n].value() for n in range(3)] == [b'{"n":%d,"s":"s%d"}' % (n, n) for n in range(3)]
    assert [found[n].key() for n in range(3)] == [b"ks0", b"ks1", b"ks2"]
    assert [found[n].partition() for n in (1, 2)] == [1, 2]
    moment = datetime.datetime(2024, 3, 1, 11, 0, 0, 123000, datetime.UTC)
    assert [found[n].timestamp()[1] for n in (0, 1)] == [round(moment.timestamp() * 1000)] * 2
    assert found[2].timestamp()[1] > moment.timestamp() * 1000
    assert [found[n].headers() for n in range(3)] == [None, [("trace", b"s1"), ("h", None)], None]


def test_keys_are_where_java_puts_them(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    """The hash is murmur2; the expected values are from Kafka's own tests of its partitioner."""
    make_stream(context, folder)
    made = topic(20)
    put(folder, "a", [{"n": n, "s": s} for n, s in enumerate(("21", "foobar", "a-little-bit-long-string"))])
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS SELECT s AS __key, n FROM numbers")
    hashes = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    expected = {key: (value & 0x7FFFFFFF) % 20 for key, value in hashes.items()}
    assert {one.key(): one.partition() for one in made.committed()} == expected


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("clauses", "query", "expected"),
    [
        ("", "SELECT s FROM numbers", [b"s1", None]),
        ("", "SELECT CAST(s AS BINARY) AS __value, s AS __key FROM numbers", [b"s1", None]),
        ("STORED AS JSONFILE", "SELECT s FROM numbers", [b'{"s":"s1"}', b'{"s":null}']),
        ("ROW FORMAT DELIMITED FIELDS TERMINATED BY ','", "SELECT n, s FROM numbers", [b"1,s1", b"2,\\N"]),
        ("", "SELECT n FROM numbers", [b'{"n":1}', b'{"n":2}']),
    ],
)
def test_formats(
    context: sharkpy.SharkContext,
    folder: Path,
    topic: Callable[..., KafkaTopic],
    clauses: str,
    query: str,
    expected: list[bytes | None],
) -> None:
    make_stream(context, folder)
    made = topic()
    put(folder, "a", [{"n": 1, "s": "s1"}, {"n": 2, "s": None}])
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {clauses} {NOW} AS {query}")
    assert [one.value() for one in made.committed()] == expected
    made_again = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE k"))
    context.sql("DROP CONTINUOUS SINK k")
    context.sql(made_again)
    assert [one.value() for one in made.committed()] == expected * 2


def test_avro_values(context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]) -> None:
    make_stream(context, folder)
    made = topic()
    put_numbers(folder, "a", [1, 2])
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} STORED AS AVRO {NOW} AS SELECT n, s FROM numbers")
    fields = [{"name": name, "type": ["null", dtype]} for name, dtype in (("n", "long"), ("s", "string"))]
    schema = fastavro.parse_schema({"type": "record", "name": "row", "fields": fields})
    found = [fastavro.schemaless_reader(io.BytesIO(one.value() or b""), schema, None) for one in made.committed()]
    assert found == [{"n": 1, "s": "s1"}, {"n": 2, "s": "s2"}]


def test_a_stream_reads_what_a_sink_has_written(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    make_stream(context, folder)
    made = topic(2)
    put(folder, "a", [{"n": n, "s": f'"\\\n{n}'} for n in range(50)])
    columns = "n, s, CAST(n AS STRING) AS __key, map('h', CAST(s AS BINARY)) AS __headers"
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {LIVE} AS SELECT {columns} FROM numbers")
    context.sql(f"CREATE STREAM back (n BIGINT, s STRING) {made.source()}")
    query = "SELECT n, s, CAST(__key AS STRING) AS k, CAST(__headers['h'] AS STRING) AS h FROM back"
    context.sql(f"CREATE CONTINUOUS TABLE t AS {query}")
    until(lambda: rows(context, "SELECT count(*) FROM t") == [(50,)])
    assert rows(context, "SELECT * FROM t WHERE n = 7") == [(7, '"\\\n7', "7", '"\\\n7')]
    put_numbers(folder, "b", range(50, 60))
    until(lambda: rows(context, "SELECT count(*), count(DISTINCT n) FROM t") == [(60, 60)])


def test_a_failed_epoch_is_aborted(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    """No consumer sees its rows, and later rows are not held up."""
    make_stream(context, folder)
    made = topic()
    put(folder, "a", [{"n": n, "s": "ok"} for n in range(1000)] + [{"n": 1000, "s": "bad"}])
    query = "SELECT n, assert_true(s <> 'bad') AS ok FROM numbers"
    with pytest.raises(SharkError):
        context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS {query}")
    assert state_of(context, "k")[0] == "STOPPED"
    made.put_numbers([-1])
    assert numbers_in(made) == [-1]
    context.sql("ALTER CONTINUOUS SINK k AS SELECT n, true AS ok FROM numbers")
    context.sql("RESUME CONTINUOUS SINK k")
    assert numbers_in(made) == list(range(-1, 1001))


def test_the_catalog_fails_behind_the_broker(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    """The epoch counts later, and is not written again; bad records come to their table all the same."""
    make_stream(context, folder)
    made = topic()
    path = put_numbers(folder, "a", range(5))
    with path.open("a") as file:
        file.write("no object\n")
    failures: list[str] = []

    def fail(step: str) -> None:
        if step == kill_points.PLACED and len(failures) < 2:
            failures.append(step)
            raise ResourceError("no room", sqlstate="53100")

    kill_points.observer = fail
    try:
        context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {LIVE} ON BAD ROW SKIP TO bad AS SELECT n FROM numbers")
        until(lambda: rows(context, "SHOW CONTINUOUS TABLES")[0][4] == 1)
    finally:
        kill_points.observer = None
    assert failures == [kill_points.PLACED] * 2
    assert numbers_in(made) == list(range(5))
    assert rows(context, "SELECT record FROM bad") == [("no object",)]
    put_numbers(folder, "b", [5])
    until(lambda: numbers_in(made) == list(range(6)))


def test_an_older_copy_of_the_warehouse_writes_nothing(
    tmp_path: Path, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    made = topic()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder, "('max.files.per.epoch' = '1')")
        put_numbers(folder, "a", [0])
        context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS SELECT n FROM numbers")
        query = context.catalog.table("default", "k").continuous
        for name in "bc":
            put_numbers(folder, name, [1])
        context.sql("RESUME CONTINUOUS SINK k")
        with context.catalog.transaction():
            context.catalog._file.run("UPDATE continuous_ SET epoch = 1 WHERE query_id = ?", query)
        context.streams._queries.end(query)
        put_numbers(folder, "d", [2])
        with pytest.raises(SharkError, match="has epoch 3 of the sink, and the warehouse knows 1"):
            context.sql("RESUME CONTINUOUS SINK k")
        assert numbers_in(made) == [0, 1, 1]


def test_a_mark_that_the_broker_has_forgotten(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is unknown if an epoch that was begun long ago is in the topic; for a new epoch it is known."""
    make_stream(context, folder)
    made = topic()
    put_numbers(folder, "a", [0])
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS SELECT n FROM numbers")
    query = context.catalog.table("default", "k").continuous

    def forget(step: str) -> None:
        if step == kill_points.BEGUN:
            context.streams._queries.end(query)
            made.admin.delete_consumer_groups([f"sharkpy-{query}"])[f"sharkpy-{query}"].result(30)
            raise ResourceError("no room", sqlstate="53100")

    put_numbers(folder, "b", [1])
    monkeypatch.setattr(kill_points, "observer", forget)
    with pytest.raises(ResourceError):
        context.sql("RESUME CONTINUOUS SINK k")
    monkeypatch.setattr(kill_points, "observer", None)
    with monkeypatch.context() as patch:
        patch.setattr(kafka_sink, "_MARK_KEPT", datetime.timedelta(0))
        with pytest.raises(SharkError, match="nobody knows whether epoch 2 was written"):
            context.sql("RESUME CONTINUOUS SINK k")
    assert numbers_in(made) == [0]
    context.sql("RESUME CONTINUOUS SINK k")
    assert numbers_in(made) == [0, 1]


def test_the_items_of_an_epoch_at_the_broker_may_be_gone(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    make_stream(context, folder)
    made = topic()
    path = put_numbers(folder, "a", [0])

    def fail(step: str) -> None:
        if step == kill_points.SENT:
            path.unlink()
            raise ResourceError("no room", sqlstate="53100")

    kill_points.observer = fail
    try:
        with pytest.raises(ResourceError):
            context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS SELECT n FROM numbers")
    finally:
        kill_points.observer = None
    context.sql("RESUME CONTINUOUS SINK k")
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][4] == 1
    assert numbers_in(made) == [0]


def test_the_mark_is_in_the_transaction(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    make_stream(context, folder)
    made = topic()
    put_numbers(folder, "a", [0])
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS SELECT n FROM numbers")
    group = f"sharkpy-{context.catalog.table('default', 'k').continuous}"
    consumer = Consumer({"bootstrap.servers": made.broker.address, "group.id": group, **QUIET})
    try:
        assert consumer.committed([TopicPartition(made.name, 0)], 30)[0].offset == 1
    finally:
        consumer.close()


def test_a_transaction_that_does_not_end(topic: Callable[..., KafkaTopic], monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark is unknown until the transaction has ended."""
    monkeypatch.setattr(producers, "_ANSWER_SECONDS", 3)
    made, group = topic(), f"group-{uuid.uuid4().hex}"
    options = (("bootstrap.servers", made.broker.address), ("topic", made.name))
    consumer = Consumer({"bootstrap.servers": made.broker.address, "group.id": group, **QUIET})
    transaction = made.transaction(f"other-{group}")
    try:
        consumer.committed([TopicPartition(made.name, 0)], 30)
        transaction.send_offsets_to_transaction([TopicPartition(made.name, 0, 1)], consumer.consumer_group_metadata())
        with pytest.raises(ExecutionError, match=f'a transaction has not ended that may have written to "{made.name}"'):
            MarkedProducer(options, group).take_over()
        transaction.commit_transaction()
        assert MarkedProducer(options, group).take_over() == CommitMark(1, "")
    finally:
        consumer.close()


def test_a_partition_that_is_not_there(
    context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]
) -> None:
    make_stream(context, folder)
    made = topic(2)
    put_numbers(folder, "a", [0, 2])
    query = "SELECT n, n AS __partition FROM numbers"
    with pytest.raises(SharkError, match="has no partition 2"):
        context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} AS {query}")
    assert made.committed() == []
    made.grow(3)
    context.sql("RESUME CONTINUOUS SINK k")
    assert [(one.partition(), one.value()) for one in made.committed()] == [(0, b'{"n":0}'), (2, b'{"n":2}')]


def test_a_topic_that_is_not_there(context: sharkpy.SharkContext, folder: Path, kafka: KafkaBroker) -> None:
    """The sink waits for it."""
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    made = KafkaTopic(kafka, "sink.late")
    made.delete()
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} AS SELECT n FROM numbers")
    until(lambda: 'the topic "sink.late" does not exist' in str(state_of(context, "k")[1]))
    made.create(1)
    until(lambda: numbers_in(made) == [1])
    until(lambda: state_of(context, "k") == ("RUNNING", None))


PLACE = "TO KAFKA ('bootstrap.servers' = 'localhost:1', 'topic' = 'x')"


def test_groups_that_change(context: sharkpy.SharkContext, folder: Path, topic: Callable[..., KafkaTopic]) -> None:
    """A compacted topic would have the last record of each key: what the query gives of all."""
    make_stream(context, folder)
    made = topic()
    query = "SELECT CAST(n % 3 AS STRING) AS __key, count(*) AS c, max(n) AS high FROM numbers GROUP BY n % 3"
    context.sql(f"CREATE CONTINUOUS SINK k {made.sink()} {NOW} EMIT UPDATE WITH UNBOUNDED STATE AS {query}")
    for number, found in enumerate([range(6), [7], [8, 10]]):
        put_numbers(folder, str(number), found)
        context.sql("RESUME CONTINUOUS SINK k")
    keyed = [((one.key() or b"").decode(), json.loads(one.value() or b"")) for one in made.committed()]
    last = {key: (value["c"], value["high"]) for key, value in keyed}
    assert last == {"0": (2, 3), "1": (4, 10), "2": (3, 8)}
    assert len(keyed) == 6
    with pytest.raises(SharkError, match="that reads the clock"):
        context.sql(
            f"CREATE CONTINUOUS SINK c {made.sink()} EMIT UPDATE WITH UNBOUNDED STATE AS "
            f"{query.replace('FROM', ', current_timestamp() AS t FROM')}"
        )
    with pytest.raises(SharkError, match="that keeps values of rand"):
        context.sql(
            f"CREATE CONTINUOUS SINK c {made.sink()} EMIT UPDATE WITH UNBOUNDED STATE AS "
            "SELECT k AS __key, count(*) AS c FROM (SELECT CAST(rand() < 0.5 AS STRING) AS k FROM numbers) n GROUP BY k"
        )
    of_groups = query.replace("FROM", ", rand() AS r FROM")
    context.sql(f"CREATE CONTINUOUS SINK c {made.sink()} {NOW} EMIT UPDATE WITH UNBOUNDED STATE AS {of_groups}")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("TO KAFKA ('topic' = 'x') AS SELECT n FROM numbers", "TO KAFKA needs the option bootstrap.servers"),
        (f"{PLACE[:-1]}, 'topicc' = 'y') AS SELECT n FROM numbers", 'has no option "topicc"'),
        (f"{PLACE[:-1]}, 'startingOffsets' = 'latest') AS SELECT n FROM numbers", 'has no option "startingOffsets"'),
        (f"{PLACE[:-1]}, 'kafka.transactional.id' = 'y') AS SELECT n FROM numbers", "has no option"),
        (f"{PLACE[:-1]}, 'kafka.linger.ms' = 'long') AS SELECT n FROM numbers", "queue.buffering.max.ms"),
        (f"{PLACE} AS SELECT n, s AS __partition FROM numbers", '"__partition" of a sink TO KAFKA cannot be string'),
        (f"{PLACE} AS SELECT n, n AS __key FROM numbers", "CAST it to STRING or BINARY"),
        (f"{PLACE} AS SELECT n, n AS __offset FROM numbers", '"__offset" cannot be written'),
        (f"{PLACE} AS SELECT n, s AS __value FROM numbers", 'beside "__value", which is the whole value'),
        (f"{PLACE} AS SELECT s AS __key FROM numbers", "need a column for their value"),
        (f"{PLACE} STORED AS JSONFILE AS SELECT s AS __value FROM numbers", 'a format together with "__value"'),
        (f"{PLACE} STORED AS PARQUET AS SELECT n FROM numbers", 'in the format "parquet"'),
        (f"{PLACE} AS SELECT count(*) AS c FROM numbers", "whose rows change with each epoch"),
        ("TO NOWHERE AS SELECT n FROM numbers", "FOLDER or KAFKA"),
    ],
)
def test_refused(context: sharkpy.SharkContext, folder: Path, text: str, error: str) -> None:
    make_stream(context, folder)
    with pytest.raises(SharkError) as refused:
        context.sql(f"CREATE CONTINUOUS SINK k {text}")
    assert error in f"{refused.value.message} {refused.value.hint}"
    assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_secrets_are_hidden(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    place = f"{PLACE[:-1]}, 'kafka.sasl.username' = 'me', 'kafka.sasl.password' = 'hunter2')"
    context.sql(f"CREATE CONTINUOUS SINK k {place} AS SELECT n FROM numbers")
    for text in ("SHOW CREATE TABLE k", "DESCRIBE EXTENDED k", "SHOW CONTINUOUS TABLES"):
        assert "hunter2" not in str(rows(context, text))
    shown = str(rows(context, "DESCRIBE EXTENDED k"))
    assert "KAFKA" in shown
    assert "localhost:1" in shown
    assert "kafka.sasl.username=me" in shown


def test_a_session_without_connections(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    context.restrictions = Restrictions(refuses_connections=True)
    with pytest.raises(NotAllowedError, match="a continuous sink TO KAFKA is not allowed"):
        context.sql(f"CREATE CONTINUOUS SINK k {PLACE} AS SELECT n FROM numbers")
    context.restrictions = Restrictions(folders=(tmp_path / "mine",))
    place = f"{PLACE[:-1]}, 'kafka.ssl.ca.location' = '/etc/ssl/ca.pem')"
    with pytest.raises(NotAllowedError):
        context.sql(f"CREATE CONTINUOUS SINK k {place} AS SELECT n FROM numbers")


def test_without_the_library(context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_stream(context, folder)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigurationError, match="need the package confluent-kafka") as missing:
        context.sql(f"CREATE CONTINUOUS SINK k {PLACE} AS SELECT n FROM numbers")
    assert 'pip install "sharkpy[kafka]"' in str(missing.value.hint)


def test_it_is_no_table(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS SINK k {PLACE} AS SELECT n FROM numbers")
    for text, error in (
        ("SELECT * FROM k", "which has no rows.*they went to KAFKA"),
        ("REFRESH CONTINUOUS SINK k", "a continuous sink: its records may have been read already"),
        ("ROLLBACK CONTINUOUS SINK k TO EPOCH 1", "its records may have been read already"),
        ("ALTER CONTINUOUS SINK k AS SELECT s FROM numbers", "has the columns s, and default.k has n"),
    ):
        with pytest.raises(SharkError, match=error):
            context.sql(text)
    context.sql("PAUSE CONTINUOUS SINK k")
    context.sql("ALTER CONTINUOUS SINK k TRIGGER EVERY 5 SECONDS")
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][2:4] == ("PAUSED", "EVERY 5000 MILLISECONDS")
    assert rows(context, "SHOW STREAMS") == [row for row in rows(context, "SHOW STREAMS") if row[1] == "numbers"]
    context.sql("DROP CONTINUOUS SINK k")
