"""Producer of a topic's records, in transactions that each commit a mark."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ConfigurationError, ExecutionError, SharkError, TableChangedError
from sharkpy.base.records import dataclass
from sharkpy.base.thread_call import bounded_call
from sharkpy.catalog.kafka_options import CLIENT_PREFIX, SERVERS, TOPIC, Options, client_options, connection_options
from sharkpy.sources.kafka.client import CONNECTING, broker_error, checked_settings, require_library

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from sharkpy.sources.kafka.encode import Records

_WRITING: Mapping[str, Any] = {
    "enable.idempotence": True,
    # Java's producers put a key into the same partition.
    "partitioner": "murmur2_random",
    "compression.type": "lz4",
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 65_536,
    # A transaction of a killed process blocks readers until the next producer ends it, or this time is over.
    "transaction.timeout.ms": 600_000,
    "delivery.report.only.error": True,
}
_ANSWER_SECONDS = 20.0
_COMMIT_SECONDS = 2 * _ANSWER_SECONDS + 2
_GRACE_SECONDS = 2.0
"""Time that a commit still has after its statement was cancelled, so that its result is usually known."""
_SLICE_SECONDS = 0.5
_WAIT_SECONDS = 0.05
_ABORT_SECONDS = 10.0
STALL_SECONDS = 10.0
"""Time without progress after which the brokers are considered gone."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CommitMark:
    """Number and text of the last transaction that was committed."""

    number: int
    text: str


class MarkedProducer:
    """Producer for the topic that `options` name. It fences all earlier producers with the same `identity`.

    1. The mark of a transaction is committed with its records, as the offset and metadata text of a consumer group. The
       group has the identity as its name, and no members. So marks need no topic of their own.
    2. `take_over` ends the transactions of earlier producers, and returns the last mark.
    3. A transaction is `begin`, any number of `send`, and `commit` or `abort`. If `commit` fails, it is not known
       whether it counts until another producer takes over. After `was_cut_off`, another producer should take over.
    4. It raises the errors of `broker_error`, and TableChangedError if another producer has fenced this one.
    """

    def __init__(self, options: Options, identity: str) -> None:
        self._options = tuple(options)
        self._topic = dict(self._options)[TOPIC]
        self._identity = identity
        self._fault: KafkaError | None = None
        settings = {**CONNECTING, **_WRITING, **dict(client_options(self._options))}
        settings |= {"transactional.id": identity, "error_cb": self._note}
        library = require_library()
        with checked_settings():
            self._producer = library.Producer(settings, logger=_log)
        self._group: Any = None
        self._num_partitions = 0
        self._is_stalled = False

    def take_over(self) -> CommitMark | None:
        """Take the place of earlier producers; None if none of their transactions was committed."""
        self._num_partitions = self._partitions()
        deadline = time.monotonic() + STALL_SECONDS
        while not self._is_initialised(deadline):
            check_cancelled()
        mark = self._last_mark()
        # Forget failures to reach a broker that is down and was not needed.
        self._producer.poll(0)
        self._fault = None
        return mark

    def was_cut_off(self) -> bool:
        """True if a broker was away after `take_over`.

        The library reconnects by itself. But if it read the cluster's metadata while a broker restarted, it may keep
        outdated metadata of that broker: its thread then spins, and commits never end (librdkafka's issue 5511).
        """
        self._producer.poll(0)
        return self._fault is not None

    def begin(self) -> None:
        with self._failures():
            self._producer.begin_transaction()

    def send(self, records: Records) -> None:
        """Produce records; wait while too many are in flight."""
        produce, topic = self._producer.produce, self._topic
        self._check_partitions(records.partitions)
        with self._failures():
            for arguments in records.arguments():
                while True:
                    try:
                        produce(topic, *arguments)
                        break
                    except BufferError:
                        self._wait_for(lambda left, before: left < before)
            self._producer.poll(0)

    def flush(self) -> None:
        """Wait until the brokers have all records."""
        with self._failures():
            self._wait_for(lambda left, _: not left)

    def commit(self, mark: CommitMark) -> None:
        """Commit the transaction, whose records were flushed, and the mark with it."""
        place = require_library().TopicPartition(self._topic, 0, mark.number, mark.text)

        def work() -> None:
            self._producer.send_offsets_to_transaction([place], self._group, _ANSWER_SECONDS)
            self._producer.commit_transaction(_ANSWER_SECONDS)

        with self._failures():
            try:
                # The library may exceed its time limits (its issue 5456).
                bounded_call(work, _COMMIT_SECONDS, _GRACE_SECONDS)
            except TimeoutError:
                raise broker_error(self._fault, self._options, self._topic) from None

    def abort(self) -> None:
        """Discard the records of the transaction."""
        # Records still in flight could become part of the next transaction.
        if self._is_stalled or self._producer.flush(_ABORT_SECONDS):
            raise broker_error(self._fault, self._options, self._topic)
        with self._failures():
            self._producer.abort_transaction(_ABORT_SECONDS)

    def _note(self, error: KafkaError) -> None:
        self._fault = error

    def _partitions(self) -> int:
        with self._failures():
            found = self._producer.list_topics(self._topic, timeout=_ANSWER_SECONDS).topics[self._topic]
        if found.error is not None:
            raise broker_error(found.error, self._options, self._topic)
        return len(found.partitions)

    def _check_partitions(self, partitions: list[int] | None) -> None:
        """Raise ExecutionError 22003 for a partition that the topic does not have."""
        if not partitions:
            return
        least, most = min(partitions), max(partitions)
        if most >= self._num_partitions:
            self._num_partitions = self._partitions()
        if least < -1 or most >= self._num_partitions:
            wrong = least if least < -1 else most
            message = f'the topic "{self._topic}" has no partition {wrong}'
            raise ExecutionError(message, hint=f"it has {self._num_partitions}, from 0 on", sqlstate="22003")

    def _is_initialised(self, deadline: float) -> bool:
        """One step of the initialisation; False if the brokers need more time."""
        from confluent_kafka import KafkaException

        try:
            self._producer.init_transactions(_SLICE_SECONDS)
        except KafkaException as error:
            if error.args[0].retriable() and time.monotonic() < deadline:
                return False
            raise self._failure(error.args[0]) from None
        return True

    def _last_mark(self) -> CommitMark | None:
        library = require_library()
        settings = {"group.id": self._identity, "enable.auto.commit": False, "isolation.level": "read_committed"}
        known = {**CONNECTING, **settings, **dict(connection_options(self._options)), "error_cb": self._note}
        consumer = library.Consumer(known, logger=_log)
        try:
            with self._failures(), self._unended():
                (place,) = consumer.committed([library.TopicPartition(self._topic, 0)], _ANSWER_SECONDS)
            self._group = consumer.consumer_group_metadata()
        finally:
            consumer.close()
        if place.error is not None:
            raise self._failure(place.error)
        return None if place.offset < 0 else CommitMark(place.offset, place.metadata or "")

    def _wait_for(self, is_enough: Callable[[int, int], bool]) -> None:
        """Wait until `is_enough` for the numbers of records in flight now and at the start; 08006 without progress."""
        before = left = len(self._producer)
        progressed = time.monotonic()
        while not is_enough(len(self._producer), before):
            check_cancelled()
            self._producer.poll(_WAIT_SECONDS)
            now = time.monotonic()
            if len(self._producer) < left:
                left, progressed = len(self._producer), now
            elif now - progressed > STALL_SECONDS:
                self._is_stalled = True
                raise broker_error(self._fault, self._options, self._topic)

    @contextlib.contextmanager
    def _unended(self) -> Iterator[None]:
        """Request for the mark, which the library repeats while a transaction with a mark is open.

        Transactions of this identity have ended by then, unless the broker has lost their end. A broker that has the
        only copy of its partitions and was killed right after a commit may take them as deleted when it restarts. Then
        it never writes their markers.
        """
        from confluent_kafka import KafkaError, KafkaException

        try:
            yield
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT or self._fault is not None:
                raise
            servers = dict(self._options).get(SERVERS, "")
            message = f'Kafka at {servers}: a transaction has not ended that may have written to "{self._topic}"'
            hint = "where it stays so, Kafka's kafka-transactions.sh finds hanging transactions, and aborts them"
            raise ExecutionError(message, hint=hint, sqlstate="08006") from None

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            raise self._failure(error.args[0]) from None

    def _failure(self, error: KafkaError) -> SharkError:
        from confluent_kafka import KafkaError

        code = error.code()
        if code in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            return TableChangedError(f'another process writes to the topic "{self._topic}" in the place of this one')
        if code == KafkaError.MSG_SIZE_TOO_LARGE:
            hint = f"{CLIENT_PREFIX}message.max.bytes, and the topic's max.message.bytes"
            return ExecutionError(f'a record is too large for the topic "{self._topic}"', hint=hint, sqlstate="54000")
        if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
            hint = f"the option {CLIENT_PREFIX}transaction.timeout.ms may be as large as transaction.max.timeout.ms"
            return ConfigurationError(f"the brokers refuse so long transactions: {error.str()}", hint=hint)
        told = self._fault if code == KafkaError._TIMED_OUT and self._fault is not None else error
        return broker_error(told, self._options, self._topic)
