"""Facts about streams and continuous queries, for DESCRIBE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from sharkpy.base.errors import SourceError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, Position
from sharkpy.catalog.kafka_options import shown_options
from sharkpy.catalog.model import StreamSource, Table
from sharkpy.catalog.stream_kinds import TABLE
from sharkpy.execution.tables.data_files import table_files

Fact = tuple[str, str]


def stream_facts(table: Table, catalog: Catalog) -> list[Fact]:
    """Return facts about a stream, continuous table or continuous insert; an empty list for other tables."""
    if table.stream is not None:
        source = current_source(table, table.stream, catalog)
        options = ", ".join(f"{key}={value}" for key, value in shown_options(source.options))
        place = f" {source.place}" if source.kind == TABLE.name else ""
        return [
            ("Source", f"{source.kind}{place}{f' ({options})' if options else ''}"),
            *([("Known Items", str(catalog.streams.end(table.table_id)))] if table.location else []),
        ]
    query = catalog.streams.find(table.continuous) if table.continuous else None
    return [] if query is None else [*_outside(table), *_query_facts(query, catalog), *_state_facts(table, catalog)]


def _outside(table: Table) -> Iterator[Fact]:
    """Fact about a sink that does not write to a folder."""
    if table.sink is not None:
        options = ", ".join(f"{key}={value}" for key, value in shown_options(table.sink.options))
        yield "Sink", f"{table.sink.kind}{f' ({options})' if options else ''}"


def current_source(stream: Table, source: StreamSource, catalog: Catalog) -> StreamSource:
    """Return a stream's source, with the current name of the table that it reads."""
    table = catalog.source_of(stream)
    return source if table is None else replace(source, place=table.qualified_name)


def _query_facts(query: ContinuousQuery, catalog: Catalog) -> Iterator[Fact]:
    yield "Continuous Query", query.text
    yield "Trigger", str(query.trigger)
    yield "State", query.state.value
    if query.fault:
        yield "Fault", query.fault
    yield "Epoch", str(query.epoch)
    for target in query.targets:
        table = catalog.current_table(target)
        yield "Target", "a table that was dropped" if table is None else table.qualified_name
    if query.bad_rows:
        table = catalog.current_table(query.bad_rows)
        yield "Bad Rows To", "a table that was dropped" if table is None else table.qualified_name
    if query.late_rows:
        table = catalog.current_table(query.late_rows)
        yield "Late Rows To", "a table that was dropped" if table is None else table.qualified_name
    if query.start_words:
        yield "Start", query.start_words
    for stream in query.streams:
        table = catalog.current_table(stream)
        name = stream if table is None else table.qualified_name
        known = catalog.streams.end(stream)
        yield f"Offset of {name}", f"{_text(query.offset(stream))}{f' of {known}' if known else ''}"


def _state_facts(table: Table, catalog: Catalog) -> Iterator[Fact]:
    """Facts about the state that a continuous table keeps between epochs."""
    state = catalog.state_table(table)
    if state is None:
        return
    if table.emit is not None:
        yield "Emit", table.emit.value
    with suppress(SourceError):
        files = table_files(state, catalog)
        yield "Kept State", f"{sum(file.size_bytes for file in files)} bytes in {len(files)} files"


def _text(position: Position) -> str:
    return ", ".join(map(str, position)) or "0"
