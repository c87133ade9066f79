"""Options of streams FROM KAFKA and sinks TO KAFKA: brokers and topic, start offsets, options of the client.

A table of Hive's Kafka storage handler gives the same options as table properties.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting, whole_number
from sharkpy.base.records import dataclass
from sharkpy.base.time_zone import time_zone

SERVERS, TOPIC = "bootstrap.servers", "topic"
START, START_TIME = "startingOffsets", "startingTimestamp"
FAIL_ON_LOSS = "failOnDataLoss"
HAS_SCHEMA_ID = "confluent.schema.id"
"""Option for values with Confluent's header: a zero byte and the four bytes of a schema id."""
ZONE = "time.zone"
TIMES = "times"
"""Option for the type of `__timestamp`: TIMESTAMP or, as in Hive, BIGINT."""
TIMESTAMPS, MILLISECONDS = "timestamps", "milliseconds"
CLIENT_PREFIX = "kafka."
RAW = "raw"
"""Format of values that are one column, unparsed."""
EARLIEST, LATEST = "earliest", "latest"
FIRST_OFFSET, END_OFFSET = -2, -1
"""Numbers for a partition's first offset and its end, as in Kafka's protocol."""

Options = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ClientOption:
    """An option of librdkafka. `is_path`: its value is a local path. `is_secret`: its value is never shown."""

    name: str
    doc: str
    is_path: bool = False
    is_secret: bool = False


# Other options can run programs (sasl.kerberos.kinit.cmd), load code (plugin.library.paths, ssl.engine.location),
# connect to more hosts, or change which records are read.
_CONNECTION_OPTIONS = (
    ClientOption("security.protocol", "plaintext, ssl, sasl_plaintext or sasl_ssl"),
    ClientOption("sasl.mechanism", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"),
    ClientOption("sasl.mechanisms", "the same"),
    ClientOption("sasl.username", "name of the user"),
    ClientOption("sasl.password", "password of the user", is_secret=True),
    ClientOption("ssl.ca.location", "file or folder of certificates that are trusted", is_path=True),
    ClientOption("ssl.ca.pem", "certificates that are trusted"),
    ClientOption("ssl.certificate.location", "file of the client's certificate", is_path=True),
    ClientOption("ssl.certificate.pem", "the client's certificate"),
    ClientOption("ssl.key.location", "file of the client's key", is_path=True),
    ClientOption("ssl.key.pem", "the client's key", is_secret=True),
    ClientOption("ssl.key.password", "password of the client's key", is_secret=True),
    ClientOption("ssl.keystore.location", "PKCS#12 file of the client's key and certificate", is_path=True),
    ClientOption("ssl.keystore.password", "password of that file", is_secret=True),
    ClientOption("ssl.crl.location", "file of certificates that were revoked", is_path=True),
    ClientOption("ssl.cipher.suites", "ciphers that may be used"),
    ClientOption("ssl.endpoint.identification.algorithm", "https or none"),
    ClientOption("enable.ssl.certificate.verification", "true or false"),
    ClientOption("client.id", "name of the client, for the broker's logs and quotas"),
    ClientOption("client.dns.lookup", "use_all_dns_ips or resolve_canonical_bootstrap_servers_only"),
    ClientOption("broker.address.family", "any, v4 or v6"),
    ClientOption("socket.timeout.ms", "time until a request counts as lost"),
    ClientOption("socket.keepalive.enable", "true or false"),
    ClientOption("socket.connection.setup.timeout.ms", "time until a connection counts as failed"),
)
CLIENT_OPTIONS = (
    *_CONNECTION_OPTIONS,
    ClientOption("isolation.level", "read_committed, or read_uncommitted: aborted records too"),
    ClientOption("client.rack", "place of the client: a replica there is read"),
    ClientOption("check.crcs", "true: checksums of records are compared"),
    ClientOption("fetch.max.bytes", "bytes of an answer"),
    ClientOption("max.partition.fetch.bytes", "bytes of a partition in an answer"),
    ClientOption("receive.message.max.bytes", "largest answer that is taken"),
    ClientOption("queued.max.messages.kbytes", "kilobytes of records that wait in the client"),
)
PRODUCER_OPTIONS = (
    *_CONNECTION_OPTIONS,
    ClientOption("compression.type", "none, gzip, snappy, lz4 or zstd"),
    ClientOption("compression.level", "a number that the codec knows"),
    ClientOption("partitioner", "murmur2_random, as Java's producers, or another one of librdkafka's"),
    ClientOption("linger.ms", "time for which records are gathered"),
    ClientOption("batch.size", "bytes of a batch"),
    ClientOption("batch.num.messages", "records of a batch"),
    ClientOption("message.max.bytes", "largest record or batch that is sent"),
    ClientOption("message.timeout.ms", "time after which a record that no broker has taken is an error"),
    ClientOption("transaction.timeout.ms", "time after which the broker gives an epoch up"),
    ClientOption("queue.buffering.max.messages", "records that wait in the client"),
    ClientOption("queue.buffering.max.kbytes", "kilobytes of records that wait in the client"),
)
"""Options of sinks."""
_OF_CLIENT: Mapping[str, ClientOption] = {CLIENT_PREFIX + one.name: one for one in (*CLIENT_OPTIONS, *PRODUCER_OPTIONS)}


def is_start(text: str) -> bool:
    """Return True for a value of `startingOffsets`: a word, or offsets by partition in JSON."""
    if text.lower() in (EARLIEST, LATEST):
        return True
    try:
        check_json_nesting(text)
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and all(
        whole_number(key) is not None and type(offset) is int and FIRST_OFFSET <= offset < 1 << 62
        for key, offset in found.items()
    )


def start_offsets(options: Options) -> dict[int, int] | None:
    """Return the start offset of each partition, or None if the option is a word."""
    text = dict(options).get(START, EARLIEST)
    if text.lower() in (EARLIEST, LATEST):
        return None
    return {int(key): int(offset) for key, offset in json.loads(text).items()}


def client_options(options: Options) -> tuple[tuple[str, str], ...]:
    """Return the options of librdkafka in a stream's options, by librdkafka's names."""
    own = ((SERVERS, value) for key, value in options if key == SERVERS)
    return (*own, *((_OF_CLIENT[key].name, value) for key, value in options if key in _OF_CLIENT))


def connection_options(options: Options) -> tuple[tuple[str, str], ...]:
    """Return the options of librdkafka that any client takes, by librdkafka's names."""
    known = {SERVERS, *(one.name for one in _CONNECTION_OPTIONS)}
    return tuple((key, value) for key, value in client_options(options) if key in known)


def paths_in(options: Options) -> list[str]:
    """Return the paths in options."""
    return [value for key, value in options if key in _OF_CLIENT and _OF_CLIENT[key].is_path]


def shown_options(options: Options) -> tuple[tuple[str, str], ...]:
    """Return the options with secrets replaced by ***."""
    return tuple((key, "***" if key in _OF_CLIENT and _OF_CLIENT[key].is_secret else value) for key, value in options)


def is_address_list(text: str) -> bool:
    """Return True for comma-separated hosts, each with or without a port."""
    return all(part.strip() and "/" not in part for part in text.split(","))


def is_zone(text: str) -> bool:
    """Return True for an offset, or a name in the time zone database."""
    return time_zone(text) is not None


def one_of(*words: str) -> Callable[[str], bool]:
    return lambda text: text.lower() in words


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
