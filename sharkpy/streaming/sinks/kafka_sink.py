"""Sink TO KAFKA: a continuous query writes each epoch in one transaction of the broker."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import arrow_zone, zone_name
from sharkpy.catalog.kafka_options import RAW, TOPIC, ZONE, paths_in
from sharkpy.catalog.model import StorageFormat, StreamSource
from sharkpy.execution.commands.storage import epoch_format, stored_schema
from sharkpy.execution.commands.writes.staged_write import QuietWrite
from sharkpy.sources.kafka.encode import VALUE, RecordEncoder, check_value_format, value_columns
from sharkpy.sources.kafka.producer import CommitMark, MarkedProducer
from sharkpy.sources.kafka.records import text_or_bytes
from sharkpy.streaming import kill_points
from sharkpy.streaming.sinks.sink import SinkType, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.kafka_options import Options
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.statement import Statement
    from sharkpy.plan.commands import CreateContinuousSink
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.sink import SinkEpoch
    from sharkpy.values.types import Schema


_MARK_KEPT = timedelta(days=6)
"""Age up to which the broker has an epoch's mark. It keeps the offsets of a group without members for a week."""
_SLICE_ROWS = 20_000
"""Maximum number of rows that are Python objects at a time."""


class KafkaSink:
    """Sink with a topic.

    1. The broker commits an epoch's number, and the mark of its ranges, together with the records. The next process
       reads them to see whether the epoch is there already, since the catalog commits after the broker.
    2. The producer's identity belongs to the query: the last process that took it over fences earlier ones.
    3. An epoch without rows makes no transaction of the broker.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._producer: MarkedProducer | None = None
        self._mark: CommitMark | None = None

    def catch_up(self, last: int) -> None:  # noqa: ARG002  the broker knows what counts
        """Drop a producer that was cut off from its broker."""
        producer = self._producer
        if producer is not None and producer.was_cut_off():
            self.close()

    def written(self, query: ContinuousQuery, begun: Callable[[], datetime | None]) -> str | None:
        self._opened()
        mark = self._mark
        if mark is None and query.epoch and (at := begun()) is not None and datetime.now(UTC) - at > _MARK_KEPT:
            message = f"nobody knows whether epoch {query.epoch + 1} was written: the broker has forgotten the sink"
            hint = "DROP the sink and make it again, with START FROM where its rows end"
            raise BindError(message, hint=hint, sqlstate="55000")
        if mark is None or mark.number <= query.epoch:
            return None
        if mark.number == query.epoch + 1:
            return mark.text
        topic = dict(_options(self._table))[TOPIC]
        message = f'the topic "{topic}" has epoch {mark.number} of the sink, and the warehouse knows {query.epoch}'
        hint = "the warehouse is an older copy; DROP the sink and make it again, with START FROM where its rows end"
        raise BindError(message, hint=hint, sqlstate="55000")

    def begin(self, epoch: SinkEpoch) -> KafkaWrite:
        table, zone = epoch.table, dict(_options(epoch.table))[ZONE]
        return KafkaWrite(self, epoch, self._opened(), RecordEncoder(table.schema, table.storage, zone))

    def close(self) -> None:
        self._producer = None

    def note(self, mark: CommitMark) -> None:
        """Store the mark of a committed transaction."""
        self._mark = mark

    def _opened(self) -> MarkedProducer:
        self.catch_up(0)
        if self._producer is None:
            producer = MarkedProducer(_options(self._table), f"sharkpy-{self._table.continuous}")
            self._mark = producer.take_over()
            self._producer = producer
        return self._producer


@dataclass(slots=True)
class KafkaWrite(QuietWrite):
    """Write of an epoch's records."""

    sink: KafkaSink
    epoch: SinkEpoch
    producer: MarkedProducer
    encoder: RecordEncoder
    is_open: bool = False

    def fill(self, statement: Statement) -> None:
        for batch in rows_of(self.epoch, statement):
            if not batch.num_rows:
                continue
            if not self.is_open:
                self.producer.begin()
                self.is_open = True
            self._send(batch)

    def _send(self, batch: pa.RecordBatch) -> None:
        for first in range(0, batch.num_rows, _SLICE_ROWS):
            self.producer.send(self.encoder.records(batch.slice(first, _SLICE_ROWS)))

    def prepare(self) -> None:
        """Commit the broker's transaction. From here on the epoch counts, though the catalog does not know this yet."""
        if not self.is_open:
            return
        self.producer.flush()
        kill_points.reached(kill_points.FLUSHED)
        mark = CommitMark(self.epoch.number, self.epoch.mark)
        # If this fails, the next producer learns whether the transaction counts.
        self.is_open = False
        try:
            self.producer.commit(mark)
        except BaseException:
            self.sink.close()
            raise
        self.sink.note(mark)
        kill_points.reached(kill_points.SENT)

    def discard(self) -> None:
        """Abort a transaction that was not committed, if the brokers answer. Otherwise the next producer aborts it."""
        if not self.is_open:
            return
        self.is_open = False
        try:
            self.producer.abort()
        except SharkError:
            self.sink.close()


def _options(sink: Table) -> Options:
    return () if sink.sink is None else sink.sink.options


def _told(command: CreateContinuousSink, session: EngineSession) -> str:
    storage = _storage(command, stored_schema(command.columns), session)
    topic = dict(command.sink.options)[TOPIC]
    return f'records of {storage.name} in the topic "{topic}", by a transaction of the broker, once, before the epoch'


def _define(sink: Table, command: CreateContinuousSink, _: tuple[str, ...], session: StreamSession) -> Table:
    """Complete a sink. Raise NotAllowedError for a connection or path that the session may not use."""
    session.restrictions.check_connection("a continuous sink TO KAFKA")
    for path in paths_in(command.sink.options):
        session.restrictions.check_path(path)
    # Contradictory options are an error now. This makes no connection.
    MarkedProducer(command.sink.options, "sharkpy")
    options = dict(command.sink.options)
    options[ZONE] = arrow_zone(zone_name(options.get(ZONE) or session.conf.value(TIME_ZONE)))
    storage = _storage(command, sink.schema, session)
    return replace(sink, storage=storage, sink=StreamSource(command.sink.kind, tuple(options.items())))


def _storage(command: CreateContinuousSink, schema: Schema, session: EngineSession) -> StorageFormat:
    """Return the format of the values of records."""
    values = value_columns(schema)
    if command.storage is None and (text_or_bytes(values) or values.names == (VALUE,)):
        return StorageFormat(RAW)
    storage = epoch_format(command.storage or StorageFormat("json"), (), session)
    check_value_format(storage, values)
    return storage


KAFKA_SINK = SinkType(_define, lambda table, _session, _programs: KafkaSink(table), _told)
