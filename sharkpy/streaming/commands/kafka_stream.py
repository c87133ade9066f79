"""CREATE STREAM … FROM KAFKA: its start offsets, and the format of its values."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import zone_name
from sharkpy.catalog.kafka_options import (
    END_OFFSET,
    LATEST,
    RAW,
    START,
    START_TIME,
    ZONE,
    Options,
    paths_in,
    start_offsets,
)
from sharkpy.catalog.model import StorageFormat, StreamSource
from sharkpy.catalog.system_tables import RECORD_COLUMNS
from sharkpy.execution.commands.storage import epoch_format
from sharkpy.sources.kafka.client import Topic, admin_client
from sharkpy.sources.kafka.records import check_values, text_or_bytes
from sharkpy.streaming.sources.rate import arrow_zone
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession


def kafka_source(source: StreamSource, session: EngineSession) -> StreamSource:
    """Return the source of a stream, with start offsets in place of the current end or of a time.

    Only these cause requests to the brokers. Raise NotAllowedError for a connection or path that the session may not
    use.
    """
    session.restrictions.check_connection(f"a stream FROM {source.kind}")
    for path in paths_in(source.options):
        session.restrictions.check_path(path)
    admin_client(source.options)
    options = dict(source.options)
    options[ZONE] = arrow_zone(zone_name(options.get(ZONE) or session.conf.value(TIME_ZONE)))
    if (start := _start(source.options)) is not None:
        options.pop(START_TIME, None)
        options[START] = json.dumps({str(partition): offset for partition, offset in sorted(start.items())})
    return replace(source, options=tuple(options.items()))


def _start(options: Options) -> dict[int, int] | None:
    """Return the start offsets of a stream, or None if the brokers are not needed to know them."""
    values, given = dict(options), start_offsets(options)
    milliseconds = whole_number(values.get(START_TIME, ""))
    if START_TIME in values and START in values:
        raise BindError(f"{START} and {START_TIME} of one stream", sqlstate="22023")
    if milliseconds is not None:
        topic = Topic(options)
        return topic.since(range(topic.num_partitions()), milliseconds)
    if values.get(START, "").lower() == LATEST:
        topic = Topic(options)
        return topic.ends(range(topic.num_partitions()))
    if given is None or END_OFFSET not in given.values():
        return None
    ends = Topic(options).ends(partition for partition, offset in given.items() if offset == END_OFFSET)
    return given | ends


def kafka_format(
    given: StorageFormat | None,
    properties: tuple[tuple[str, str], ...],
    schema: Schema,
    session: EngineSession,
) -> StorageFormat:
    """Return the format of a stream's values.

    By default a single column of text or bytes is the value itself, and other columns are fields of a JSON object.
    """
    for name in RECORD_COLUMNS.names:
        if name in schema.names:
            raise BindError(f'"{name}" is a column that each stream FROM KAFKA has', sqlstate="42701")
    if given is None and text_or_bytes(schema):
        return StorageFormat(RAW)
    storage = epoch_format(given or StorageFormat("json"), properties, session)
    check_values(storage.name, schema, storage.properties)
    return storage
