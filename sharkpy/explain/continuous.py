"""EXPLAIN of CREATE CONTINUOUS TABLE, INSERT and SINK: inputs, triggers, operators and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard, cast

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode, Trigger, TriggerKind
from sharkpy.catalog.kafka_options import START, START_TIME, TOPIC
from sharkpy.catalog.model import CACHE_PROPERTY, Table
from sharkpy.catalog.stream_kinds import FOLDER, KAFKA, KINDS, MAX_FILES, MAX_ROWS, PROGRAM, RATE, SOCKET, TABLE
from sharkpy.execution.commands.storage import storage_format
from sharkpy.execution.commands.table_facts import current_source
from sharkpy.execution.stages.profile import format_seconds
from sharkpy.explain.forms import scans_of
from sharkpy.plan.commands import (
    CreateContinuousInsert,
    CreateContinuousSink,
    CreateContinuousTable,
    Insert,
    StartFrom,
    queries_of,
)
from sharkpy.plan.logical import Distribute, Join, LogicalPlan, Project, Scan
from sharkpy.plan.subqueries import QueryTable
from sharkpy.streaming.commands.control_continuous import query_of
from sharkpy.streaming.epoch_tables import targets_of
from sharkpy.streaming.sinks import SINKS

if TYPE_CHECKING:
    from sharkpy.catalog.model import StreamSource
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.streaming.scheduler import StreamSession

Continuous = CreateContinuousTable | CreateContinuousInsert | CreateContinuousSink
MOST_PROFILES = 20
"""Number of recent epoch queries whose figures are shown."""
_SHOWN_EPOCHS = 20
_ITEMS = {
    FOLDER.name: "file",
    PROGRAM.name: "push",
    RATE.name: "row",
    SOCKET.name: "part of its spool",
    KAFKA.name: "record",
    TABLE.name: "appended row",
}
"""The word for an item of each kind of streams."""


def is_continuous(command: object) -> TypeGuard[Continuous]:
    return isinstance(command, (CreateContinuousTable, CreateContinuousInsert, CreateContinuousSink))


def check_analyzed(command: Continuous) -> None:
    """Raise UnsupportedError for a query without an end, since its figures would never be complete."""
    if not command.trigger.ends:
        name = _name(command)
        hint = f"TRIGGER ONCE or AVAILABLE NOW makes it end; SHOW EPOCHS {name} shows the figures of a running query"
        raise UnsupportedError("EXPLAIN ANALYZE of a continuous query that does not end by itself", hint=hint)


def continuous_lines(command: Continuous, session: EngineSession) -> Iterator[str]:
    """Yield facts about the epochs of a continuous query, one per line."""
    queries = queries_of(command)
    yield f"trigger: {_trigger_text(command.trigger)}"
    streams, tables = _inputs(queries)
    for stream in streams:
        if stream.stream is not None:
            yield f"stream {stream.qualified_name}: {_stream_text(stream, stream.stream, command, session)}"
    if command.start.history is not None:
        history = command.start.history.table.qualified_name
        yield f"table {history}: read once, by the first epoch, before the stream"
    state, is_read = command.state, isinstance(command, CreateContinuousTable)
    of_epochs = queries if state is None else (state.delta,)
    operators = dict.fromkeys(name for query in of_epochs for name in _incremental(query))
    yield f"incremental: {', '.join(operators)}: an epoch computes its rows from new input only"
    if state is None:
        yield "state: none"
    else:
        use = "it is merged when the table is read" if is_read else "each epoch computes its output from it"
        yield f"state: {', '.join(state.schema.names)}; it is folded as it grows, and {use}"
        if not is_read and state.emit is not None:
            yield f"emit: {_emit_text(state.emit)}"
        yield from (f"kept: {label}" for label in state.labels)
        yield f"bounds: {state.growth or 'the part of the state that may still change does not grow with the streams'}"
    _, read_by_epochs = _inputs((state.added,) if state is not None and is_read else queries)
    for table in tables:
        reader = "each epoch" if table in read_by_epochs else "each reader of the result"
        yield f"table {table.qualified_name}: {reader} reads its current version"
    yield from (f"target: {one}" for one in _targets(command, session))
    yield f"bad rows: {_bad_rows_text(command)}"


def _emit_text(emit: EmitMode) -> str:
    if emit is EmitMode.UPDATE:
        return "UPDATE: an epoch emits the current values of the groups that it changes"
    return "APPEND: an epoch emits rows that do not change any more, each once"


def epoch_lines(command: Continuous, session: EngineSession) -> Iterator[str]:
    """Yield the figures of the epochs that a statement has run."""
    database, name = _place(command)
    streams = cast("StreamSession", session).streams
    query = query_of(session.catalog.table(database, name), cast("StreamSession", session))
    epochs = streams.log(query.query_id).epochs(query.epoch, _SHOWN_EPOCHS)
    if not epochs:
        yield "no epoch: there was nothing to read"
    elif query.epoch > len(epochs):
        yield f"the last {len(epochs)} of {query.epoch} epochs:"
    for one in reversed(epochs):
        bad = f", {one.bad_rows:,} bad rows" if one.bad_rows else ""
        yield f"epoch {one.number}: {one.rows or 0:,} rows in {format_seconds(one.seconds or 0.0)}{bad}"


def _place(command: Continuous) -> tuple[str, str]:
    made = command.table if isinstance(command, CreateContinuousTable) else command
    return made.database, made.name


def _name(command: Continuous) -> str:
    return _place(command)[1]


def _trigger_text(trigger: Trigger) -> str:
    if trigger.kind is TriggerKind.ONCE:
        return "ONCE: one epoch reads all available input, and the statement ends"
    if trigger.kind is TriggerKind.AVAILABLE_NOW:
        return "AVAILABLE NOW: epochs read all available input, and the statement ends"
    least = f", at least {format_seconds(trigger.seconds)} after the previous one began" if trigger.seconds else ""
    return f"EVERY: an epoch begins as soon as there is new input{least}"


def _inputs(queries: Sequence[LogicalPlan]) -> tuple[list[Table], list[Table]]:
    """Return the streams and tables that some queries read, each once."""
    read = dict.fromkeys(table for query in queries for table in _tables(query))
    return [one for one in read if one.is_stream], [one for one in read if not one.is_stream]


def _tables(plan: LogicalPlan) -> Iterator[Table]:
    for scan in scans_of(plan):
        if isinstance(scan.table, QueryTable):
            for query in scan.table.queries:
                yield from _tables(query)
        else:
            yield scan.table


def _stream_text(stream: Table, source: StreamSource, command: Continuous, session: EngineSession) -> str:
    kind, options = KINDS[source.kind], dict(source.options)
    place = current_source(stream, source, session.catalog).place or (stream.location if kind is FOLDER else "")
    words = [f"FROM {kind.name}", f'topic "{options[TOPIC]}"' if kind is KAFKA else place or ""]
    text = " ".join(filter(None, words))
    if stream.follows_changes:
        text = f"{text} WITH CHANGES"
    elif kind.takes_format or kind in (PROGRAM, TABLE):
        text = f"{text}, {stream.storage.name}"
    return f"{text}; {_beginning(stream, options, source.kind, command.start)}; {_limit(source, command.trigger)}"


def _beginning(stream: Table, options: dict[str, str], kind: str, start: StartFrom) -> str:
    history = start.history
    if history is not None and history.stream == stream:
        if history.then is None:
            return f"begins after the rows of {history.table.qualified_name}"
        start = history.then
    elif history is not None:
        start = StartFrom()
    if not start.is_earliest:
        return f"begins FROM {start.words}"
    if kind == KAFKA.name and (given := options.get(START) or options.get(START_TIME)):
        key = START if options.get(START) else START_TIME
        return f"begins with {key} {given}"
    return f"begins with the first available {'commit' if stream.follows_changes else _ITEMS[kind]}"


def _limit(source: StreamSource, trigger: Trigger) -> str:
    if trigger.kind is TriggerKind.ONCE:
        return "one epoch reads all"
    kind = KINDS[source.kind]
    known = next(one.name for one in kind.options if one.name in (MAX_FILES, MAX_ROWS))
    return f"an epoch reads at most {kind.value(source.options, known):,} ({known})"


def _incremental(plan: LogicalPlan) -> Iterator[str]:
    """Yield the operators between a stream and the result, from the result down."""
    if not any(isinstance(node, Scan) and node.table.is_stream for node in plan.walk()):
        return
    if isinstance(plan, Join):
        yield f"Join {plan.kind.value}"
    elif not isinstance(plan, Distribute) and not (isinstance(plan, Project) and _is_plain(plan)):
        yield type(plan).__name__
    for child in plan.children:
        yield from _incremental(child)


def _is_plain(project: Project) -> bool:
    """Return True if the projection only drops columns."""
    return all(item in project.child.output for item in project.items)


def _targets(command: Continuous, session: EngineSession) -> Iterator[str]:
    if isinstance(command, CreateContinuousInsert):
        for table in targets_of(command.inserts):
            cached = f", in memory ({table.cache_mode.value})" if table.cache_mode.value != "NONE" else ""
            yield f"table {table.qualified_name}, {table.storage.name}{cached}{_partitions(table.partition_columns)}"
        if isinstance(command.inserts, Insert):
            return
        yield "the rows of an epoch appear in all of them at the same time"
    elif isinstance(command, CreateContinuousSink):
        yield SINKS[command.sink.kind].told(command, session)
    else:
        made = command.table
        storage = storage_format(made.storage, made.properties, session, is_from_query=True)
        mode = dict(made.properties).get(CACHE_PROPERTY, "").upper()
        cached = f", in memory ({mode})" if mode not in ("", "NONE", "FALSE") else ""
        yield f"table {made.database}.{made.name}, {storage.name}{cached}{_partitions(made.partition_columns)}"


def _partitions(columns: Sequence[str]) -> str:
    return f", partitioned by {', '.join(columns)}" if columns else ""


def _bad_rows_text(command: Continuous) -> str:
    if command.on_bad_row.table is None:
        return "their fields are NULL, and they are counted"
    return f"left out, and written to {'.'.join(command.on_bad_row.table)} in the same transaction"
