"""Sinks of continuous queries, one kind per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.catalog.stream_kinds import TO_CONSOLE, TO_FOLDER, TO_KAFKA, TO_PROGRAM, sink_kind
from sharkpy.streaming.sinks.folder_sink import FOLDER_SINK
from sharkpy.streaming.sinks.kafka_sink import KAFKA_SINK
from sharkpy.streaming.sinks.program_sink import CONSOLE_SINK, PROGRAM_SINK

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.sinks.sink import SinkType

SINKS: dict[str, SinkType] = {
    TO_CONSOLE.name: CONSOLE_SINK,
    TO_FOLDER.name: FOLDER_SINK,
    TO_KAFKA.name: KAFKA_SINK,
    TO_PROGRAM.name: PROGRAM_SINK,
}


def sink_type(sink: Table) -> SinkType:
    """Return the type of a continuous sink."""
    return SINKS[sink_kind(sink).name]
