"""Clients of Kafka brokers, the conversion of their errors, and the partitions and offsets of a topic."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import ConfigurationError, ExecutionError, SharkError, SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.kafka_options import SERVERS, TOPIC, Options, client_options

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError
    from confluent_kafka.admin import AdminClient

_GROUP = "sharkpy"
"""Group of the consumers; none of them joins the group, or stores offsets in it."""
_READING: Mapping[str, Any] = {
    "group.id": _GROUP,
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "allow.auto.create.topics": False,
    # A consumer only has partitions while it reads existing records. A request that waited for more records would delay
    # the next ones.
    "fetch.wait.max.ms": 10,
    "fetch.error.backoff.ms": 100,
    "queued.max.messages.kbytes": 32768,
    "queued.min.messages": 50000,
    # With this many records queued, fetching pauses: by default for a second, which would delay the rows.
    "fetch.queue.backoff.ms": 2,
    "max.partition.fetch.bytes": 4 << 20,
}
CONNECTING: Mapping[str, Any] = {
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "topic.metadata.refresh.interval.ms": -1,
    # Failed connections are retried, and reported if they last. They need not be logged one by one.
    "log_level": 2,
}
_IDLE_SECONDS = 30.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Connection:
    """Consumer with the last connection error that its brokers had."""

    consumer: Consumer
    fault: KafkaError | None = None

    def note(self, error: KafkaError) -> None:
        self.fault = error


class _Connections:
    """Idle consumers of this process. They are reused, since connecting takes longer than reading a small epoch."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Options, Connection]] = []

    def take(self, options: Options) -> Connection:
        with self._lock:
            for place, (_, known, connection) in enumerate(self._idle):
                if known == options:
                    del self._idle[place]
                    return connection
        return _connected(options)

    def give_back(self, options: Options, connection: Connection) -> None:
        now = time.monotonic()
        with self._lock:
            self._idle.append((now, options, connection))
            old = [one for one in self._idle if now - one[0] > _IDLE_SECONDS]
            self._idle = [one for one in self._idle if now - one[0] <= _IDLE_SECONDS]
        for _, _, unused in old:
            unused.consumer.close()


_connections = _Connections()


@contextlib.contextmanager
def consumer(options: Options) -> Iterator[Connection]:
    """Use a consumer with the options of a stream. It is closed after a failure."""
    own = client_options(options)
    connection = _connections.take(own)
    try:
        yield connection
        connection.consumer.unassign()
    except BaseException:
        connection.consumer.close()
        raise
    connection.fault = None
    _connections.give_back(own, connection)


def _connected(options: Options) -> Connection:
    library = require_library()
    # The consumer needs the callback for errors before the connection exists.
    found: list[Connection] = []

    def note(error: KafkaError) -> None:
        for connection in found:
            connection.note(error)

    settings = {**CONNECTING, **_READING, **dict(options), "error_cb": note}
    with checked_settings():
        connection = Connection(library.Consumer(settings, logger=_log))
    found.append(connection)
    return connection


def admin_client(options: Options) -> AdminClient:
    """Client for requests about topics and offsets; ConfigurationError 22023 for contradictory options."""
    require_library()
    from confluent_kafka.admin import AdminClient

    own = dict(client_options(options))
    own.pop("isolation.level", None)
    with checked_settings():
        return AdminClient({**CONNECTING, **own}, logger=_log)


@contextlib.contextmanager
def checked_settings() -> Iterator[None]:
    """Raise ConfigurationError 22023 for options that the client refuses."""
    from confluent_kafka import KafkaException

    try:
        yield
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise ConfigurationError(f"the options of the Kafka client: {reason}", sqlstate="22023") from None


def require_library() -> Any:
    """The client's module; ConfigurationError if it is not installed."""
    try:
        import confluent_kafka
    except ImportError:
        hint = 'run: pip install "sharkpy[kafka]"'
        raise ConfigurationError(
            "streams FROM KAFKA and sinks TO KAFKA need the package confluent-kafka", hint=hint
        ) from None
    return confluent_kafka


def broker_error(error: KafkaError | None, options: Options, topic: str) -> SharkError:
    """The engine's error for a broker's error: 08006 for failures that pass when the broker is back, 58P01 for a
    missing topic, 28000 if the broker refuses the user.
    """
    from confluent_kafka import KafkaError

    servers = dict(options).get(SERVERS, "")
    if error is None:
        return ExecutionError(f"Kafka at {servers} does not answer", sqlstate="08006")
    code = error.code()
    if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION):
        return SourceError(f'the topic "{topic}" does not exist at {servers}', sqlstate="58P01")
    refused = (
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
    if code in refused:
        return ExecutionError(f'Kafka at {servers} refuses "{topic}": {error.str()}', sqlstate="28000")
    return ExecutionError(f"Kafka at {servers}: {error.str()}", sqlstate="08006")


_ANSWER_SECONDS = 5.0


class Topic:
    """Topic in a stream's options. Its methods raise the errors of `broker_error`."""

    def __init__(self, options: Options) -> None:
        from confluent_kafka import IsolationLevel

        self._options = tuple(options)
        self._name = dict(self._options)[TOPIC]
        self._admin = admin_client(self._options)
        level = dict(self._options).get("kafka.isolation.level", "read_committed")
        self._isolation = IsolationLevel[level.upper()]

    def num_partitions(self) -> int:
        from confluent_kafka import KafkaException

        try:
            found = self._admin.list_topics(self._name, timeout=_ANSWER_SECONDS).topics[self._name]
        except KafkaException as error:
            raise self._failure(error.args[0]) from None
        if found.error is not None:
            raise self._failure(found.error)
        return len(found.partitions)

    def firsts(self, partitions: Iterable[int]) -> dict[int, int]:
        """Offset of the earliest record of each partition that is still available."""
        return self._offsets(dict.fromkeys(partitions, _specs().earliest()))

    def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Offset after the last readable record of each partition."""
        return self._offsets(dict.fromkeys(partitions, _specs().latest()))

    def since(self, partitions: Iterable[int], milliseconds: int) -> dict[int, int]:
        """Offset of the first record of each partition that is not older than a time; the partition's end if there is
        none.
        """
        partitions = list(partitions)
        ends = self.ends(partitions)
        found = self._offsets(dict.fromkeys(partitions, _specs().for_timestamp(milliseconds)))
        return {one: ends[one] if offset < 0 else offset for one, offset in found.items()}

    def _offsets(self, wanted: dict[int, Any]) -> dict[int, int]:
        from confluent_kafka import KafkaException, TopicPartition

        if not wanted:
            return {}
        places = {TopicPartition(self._name, partition): spec for partition, spec in wanted.items()}
        # Connection errors and log messages wait in the client until they are polled.
        self._admin.poll(0)
        try:
            answers = self._admin.list_offsets(places, isolation_level=self._isolation, request_timeout=_ANSWER_SECONDS)
            return {place.partition: answer.result().offset for place, answer in answers.items()}
        except KafkaException as error:
            raise self._failure(error.args[0]) from None

    def _failure(self, error: Any) -> SharkError:
        return broker_error(error, self._options, self._name)


def _specs() -> Any:
    """Class of the positions that a client may request; the client's type stubs lack it."""
    from confluent_kafka import admin

    return vars(admin)["OffsetSpec"]
