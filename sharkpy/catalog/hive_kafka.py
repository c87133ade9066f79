"""Properties of a table of Hive's Kafka storage handler, as options of a stream FROM KAFKA."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.catalog.kafka_options import (
    CLIENT_OPTIONS,
    CLIENT_PREFIX,
    HAS_SCHEMA_ID,
    MILLISECONDS,
    SERVERS,
    TIMES,
    TOPIC,
)

HANDLER = "org.apache.hadoop.hive.kafka.KafkaStorageHandler"
PREFIXES = (CLIENT_PREFIX, "hive.kafka.")
"""Prefixes of the handler's own properties."""
DEFAULT_SERDE = "org.apache.hadoop.hive.serde2.JsonSerDe"
_NAMES = {"kafka.topic": TOPIC, "kafka.bootstrap.servers": SERVERS}
_SERDE, _CONSUMER, _PRODUCER = "kafka.serde.class", "kafka.consumer.", "kafka.producer."
_WITHOUT_EFFECT = (
    *("kafka.write.semantic", "kafka.max.retries", "hive.kafka.max.retries", "hive.kafka.poll.timeout.ms"),
    *("hive.kafka.metadata.poll.timeout.ms", "EXTERNAL", "external.table.purge"),
)
"""Properties for writes, or for how long Hive retries."""
_OF_JAVA = (
    *("auto.offset.reset", "default.api.timeout.ms", "enable.auto.commit", "fetch.max.wait.ms", "fetch.min.bytes"),
    *("group.id", "heartbeat.interval.ms", "key.deserializer", "max.poll.interval.ms", "max.poll.records"),
    *("request.timeout.ms", "session.timeout.ms", "value.deserializer"),
)
"""Properties of Java's consumer that affect neither which records are read nor how they are fetched."""
_SERDE_TYPE, _SKIPPED_BYTES = "avro.serde.type", "avro.serde.skip.bytes"
_OWN = tuple(CLIENT_PREFIX + one.name for one in CLIENT_OPTIONS)


@dataclass(frozen=True, slots=True)
class HiveKafkaTable:
    """Options of the stream, the SerDe class of its values, and the remaining properties of the table."""

    options: tuple[tuple[str, str], ...]
    serde: str
    properties: tuple[tuple[str, str], ...]


def hive_kafka_table(properties: tuple[tuple[str, str], ...]) -> HiveKafkaTable:
    """Convert the properties. Raise BindError for a missing property, UnsupportedError for an unsupported one of the
    handler.
    """
    given = dict(properties)
    for needed in _NAMES:
        if not given.get(needed):
            message = f"a table STORED BY KafkaStorageHandler needs the property {needed}"
            raise BindError(message, hint=f"TBLPROPERTIES ('{needed}' = '…')", sqlstate="22023")
    options = {TIMES: MILLISECONDS}
    left: dict[str, str] = {}
    for key, value in given.items():
        if key in _NAMES:
            options[_NAMES[key]] = value
        elif key in _OWN:
            options[key] = value
        elif key.startswith(_CONSUMER):
            if (name := key.removeprefix(_CONSUMER)) not in _OF_JAVA:
                options[CLIENT_PREFIX + name] = value
        elif key.startswith(PREFIXES):
            _check_known(key)
        elif key not in (*_WITHOUT_EFFECT, _SERDE_TYPE, _SKIPPED_BYTES):
            left[key] = value
    if _has_schema_id(given):
        options[HAS_SCHEMA_ID] = "true"
    return HiveKafkaTable(tuple(options.items()), given.get(_SERDE, DEFAULT_SERDE), tuple(left.items()))


def _check_known(key: str) -> None:
    if key != _SERDE and key not in _WITHOUT_EFFECT and not key.startswith(_PRODUCER):
        hint = f"options of the client begin with {_CONSUMER}"
        raise UnsupportedError(f'the property "{key}" of a Kafka table is not supported', hint=hint)


def _has_schema_id(given: dict[str, str]) -> bool:
    """Return True if each Avro value follows the five-byte header of Confluent's serializers."""
    kind, skipped = given.get(_SERDE_TYPE, "none").lower(), given.get(_SKIPPED_BYTES, "")
    if kind == "none":
        return False
    if kind == "confluent" or (kind == "skip" and skipped == "5"):
        return True
    what = f"{_SERDE_TYPE} '{kind}'" + (f" with {_SKIPPED_BYTES} '{skipped}'" if skipped else "")
    raise UnsupportedError(
        f"{what} of a Kafka table is not supported", hint="use confluent, none, or skip with 5 bytes"
    )
