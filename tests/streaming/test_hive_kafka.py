"""Hive's words for a Kafka table: they make a stream FROM KAFKA."""

from __future__ import annotations

import io
import json
from pathlib import Path

import fastavro
import pytest

import sharkpy
from sharkpy.base.errors import BindError, ConfigurationError, NotAllowedError, SharkError, UnsupportedError
from sharkpy.execution.restrictions import Restrictions
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.kafka_broker import KafkaBroker
from tests.streaming.kafka_topic import KafkaTopic

HANDLER = "org.apache.hadoop.hive.kafka.KafkaStorageHandler"
SERDE = "org.apache.hadoop.hive.serde2"
NOWHERE = {"kafka.topic": "t", "kafka.bootstrap.servers": "localhost:1"}


def stored_by(properties: dict[str, str], columns: str = "(n BIGINT, s STRING)") -> str:
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    return f"CREATE EXTERNAL TABLE k {columns} STORED BY '{HANDLER}' TBLPROPERTIES ({pairs})"


def of_topic(topic: KafkaTopic, **more: str) -> dict[str, str]:
    return {"kafka.topic": topic.name, "kafka.bootstrap.servers": topic.broker.address} | more


def test_json_values_and_columns_of_records(context: sharkpy.SharkContext, kafka: KafkaBroker) -> None:
    topic = KafkaTopic(kafka, "hive.json", 2)
    milliseconds = 1_700_000_000_123
    topic.put(['{"n": 1, "s": "a"}'], 0, key=b"k", timestamp=milliseconds)
    topic.put(['{"n": 2, "s": "b"}'], 1, timestamp=milliseconds + 60_000)
    more = {"hive.kafka.poll.timeout.ms": "5000", "kafka.consumer.max.poll.records": "10", "note": "x"}
    context.sql(stored_by(of_topic(topic, **more)))
    found = "SELECT n, s, __key, __partition, __offset, __timestamp FROM k ORDER BY n"
    assert rows(context, found) == [(1, "a", b"k", 0, 0, milliseconds), (2, "b", None, 1, 0, milliseconds + 60_000)]
    assert rows(context, "SELECT n FROM k WHERE __timestamp > 1000L * 1700000010") == [(2,)]
    assert [(row[1], row[2]) for row in rows(context, "SHOW STREAMS")] == [("k", "KAFKA")]
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n, __timestamp AS at FROM k")
    assert rows(context, "SELECT n, at FROM t ORDER BY n") == [(1, milliseconds), (2, milliseconds + 60_000)]
    shown = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE k"))
    assert "'note'='x'" in shown
    assert "kafka.topic" not in shown
    context.sql("ALTER TABLE k RENAME TO other")
    context.sql(shown)
    assert rows(context, found) == rows(context, found.replace("FROM k", "FROM other"))


def test_other_serdes(context: sharkpy.SharkContext, kafka: KafkaBroker) -> None:
    topic = KafkaTopic(kafka, "hive.csv")
    topic.put(["1;'a;b'", "2;c"])
    csv = {"kafka.serde.class": f"{SERDE}.OpenCSVSerde", "separatorChar": ";", "quoteChar": "\\'"}
    context.sql(stored_by(of_topic(topic, **csv)))
    assert rows(context, "SELECT * FROM k ORDER BY n") == [("1", "a;b"), ("2", "c")]
    context.sql("DROP STREAM k")
    topic = KafkaTopic(kafka, "hive.text")
    topic.put(["1|a"])
    text = {"kafka.serde.class": f"{SERDE}.lazy.LazySimpleSerDe", "field.delim": "|"}
    context.sql(stored_by(of_topic(topic, **text)))
    assert rows(context, "SELECT * FROM k") == [(1, "a")]


def test_avro_with_the_bytes_of_confluent(context: sharkpy.SharkContext, kafka: KafkaBroker) -> None:
    fields = [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]
    schema = {"type": "record", "name": "r", "fields": fields}
    value = io.BytesIO(b"\0\0\0\0\7")
    value.seek(5)
    fastavro.schemaless_writer(value, schema, {"n": 7, "s": "seven"})
    topic = KafkaTopic(kafka, "hive.avro")
    topic.put([value.getvalue()])
    avro = {"kafka.serde.class": f"{SERDE}.avro.AvroSerDe", "avro.schema.literal": json.dumps(schema)}
    skip = {"avro.serde.type": "skip", "avro.serde.skip.bytes": "5"}
    for number, kind in enumerate(({"avro.serde.type": "confluent"}, skip)):
        context.sql(stored_by(of_topic(topic, **avro, **kind), "").replace("TABLE k", f"TABLE k{number}"))
        assert rows(context, f"SELECT * FROM k{number}") == [(7, "seven")]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (stored_by({"kafka.topic": "t"}), BindError, "needs the property kafka.bootstrap.servers"),
        (stored_by({"kafka.bootstrap.servers": "h:1"}), BindError, "needs the property kafka.topic"),
        (stored_by(NOWHERE | {"kafka.nonsense": "1"}), UnsupportedError, 'the property "kafka.nonsense"'),
        (stored_by(NOWHERE | {"hive.kafka.ssl.x": "1"}), UnsupportedError, 'the property "hive.kafka.ssl.x"'),
        (
            stored_by(NOWHERE | {"kafka.consumer.sasl.jaas.config": "x"}),
            BindError,
            'no option "kafka.sasl.jaas.config"',
        ),
        (stored_by(NOWHERE | {"kafka.serde.class": "com.x.Y"}), UnsupportedError, "the SerDe com.x.Y"),
        (
            stored_by(NOWHERE | {"kafka.serde.class": f"{SERDE}.lazybinary.LazyBinarySerDe"}),
            UnsupportedError,
            'in the format "sequencefile"',
        ),
        (
            stored_by(NOWHERE | {"kafka.serde.class": f"{SERDE}.avro.AvroSerDe"}),
            ConfigurationError,
            "need their schema",
        ),
        (
            stored_by(NOWHERE | {"avro.serde.type": "skip", "avro.serde.skip.bytes": "7"}),
            UnsupportedError,
            "'skip' with",
        ),
        (stored_by(NOWHERE, ""), SharkError, "a list of columns expected"),
        (stored_by(NOWHERE, "(n INT, __key BINARY)"), BindError, "__key"),
        (stored_by(NOWHERE, "(n INT NOT NULL)"), UnsupportedError, "a constraint of a stream"),
        (f"{stored_by(NOWHERE)} LOCATION '/x'", UnsupportedError, "the location of a table STORED BY"),
        (f"{stored_by(NOWHERE, '')} AS SELECT 1 AS n", UnsupportedError, "a query after STORED BY"),
        (stored_by(NOWHERE).replace("EXTERNAL", "TEMPORARY"), UnsupportedError, "OR REPLACE or TEMPORARY"),
        (stored_by(NOWHERE).replace("kafka.Kafka", "hbase.HBase"), UnsupportedError, "STORED BY a storage handler"),
        (
            stored_by(NOWHERE).replace("CREATE EXTERNAL TABLE k", "CREATE CONTINUOUS TABLE k") + " AS SELECT 1",
            SharkError,
            "",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    context: sharkpy.SharkContext, text: str, error: type[SharkError], words: str
) -> None:
    with pytest.raises(error) as raised:
        context.sql(text)
    assert words in str(raised.value)
    assert rows(context, "SHOW STREAMS") == []


def test_secrets_are_hidden_and_options_stay(context: sharkpy.SharkContext) -> None:
    secret = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.password": "pssst",
        "sasl.username": "me",
    }
    context.sql(stored_by(NOWHERE | {f"kafka.consumer.{key}": value for key, value in secret.items()}))
    for text in ("SHOW CREATE TABLE k", "DESCRIBE EXTENDED k", "DESCRIBE FORMATTED k", "SHOW TBLPROPERTIES k"):
        assert "pssst" not in str(rows(context, text))
    assert "'kafka.sasl.password'='***'" in str(rows(context, "SHOW CREATE TABLE k"))
    for key in ("kafka.serde.class", "kafka.sasl.password", "hive.kafka.max.retries"):
        with pytest.raises(UnsupportedError, match="DROP STREAM and make it again"):
            context.sql(f"ALTER TABLE k SET TBLPROPERTIES ('{key}' = 'x')")
    context.sql("ALTER TABLE k SET TBLPROPERTIES ('failOnDataLoss' = 'false')")


def test_remote_sessions_need_permission(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.restrictions = Restrictions(refuses_connections=True)
    with pytest.raises(NotAllowedError, match="a stream FROM KAFKA"):
        context.sql(stored_by(NOWHERE))
    context.restrictions = Restrictions(folders=(tmp_path / "mine",))
    authority = {"kafka.consumer.ssl.ca.location": "/etc/ssl/certs/ca-certificates.crt"}
    with pytest.raises(NotAllowedError, match=r"ca-certificates\.crt.*out of this session's bounds"):
        context.sql(stored_by(NOWHERE | authority))
    schema = {"kafka.serde.class": f"{SERDE}.avro.AvroSerDe", "avro.schema.url": "file:///etc/passwd"}
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        context.sql(stored_by(NOWHERE | schema))


def test_if_not_exists(context: sharkpy.SharkContext) -> None:
    context.sql(stored_by(NOWHERE))
    text = stored_by(NOWHERE | {"kafka.topic": "other"}).replace("TABLE k", "TABLE IF NOT EXISTS k")
    context.sql(text)
    assert "'topic'='t'" in str(rows(context, "SHOW CREATE TABLE k"))
    with pytest.raises(BindError, match="already exists"):
        context.sql(stored_by(NOWHERE))
