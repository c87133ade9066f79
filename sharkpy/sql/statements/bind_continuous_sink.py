"""CREATE CONTINUOUS SINK: its destination and its rows."""

from __future__ import annotations

from sharkpy.catalog.model import StreamSource
from sharkpy.catalog.stream_kinds import SINK_KINDS, SinkKind
from sharkpy.plan.commands import CreateContinuousSink
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.statements.bind_columns import output_fields, without_void
from sharkpy.sql.statements.bind_state import kept_of
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.query_text import kept_query
from sharkpy.sql.statements.stream_clauses import checked_options, continuous_clauses, queries_to_give
from sharkpy.sql.statements.table_parts import storage_of_clauses
from sharkpy.values.types import Schema

_OTHERS = ("location", "buckets", "skew", "partitions", "properties")
"""Clauses of tables that sinks do not have."""


def continuous_sink(binder: CommandBinder) -> CreateContinuousSink:
    """Bind [IF NOT EXISTS] name TO kind ['place'] [(options)] [clauses for format and comment] [TRIGGER …] AS query."""
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    place = binder.new_name()
    reader.expect("TO")
    kind = _kind(binder)
    outside = reader.string(kind.place) if kind.place else ""
    sink = StreamSource(kind.name, checked_options(binder, kind.check), outside)
    clauses, clauses_of_stream = continuous_clauses(binder, kind.seconds)
    for other in _OTHERS:
        if getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a continuous sink")
    storage = storage_of_clauses(binder, clauses)
    if storage is not None and not kind.takes_format:
        raise reader.unsupported(f"a format of a continuous sink TO {kind.name}")
    reader.match("AS")
    token = reader.current
    kept = kept_query(binder, place[0])
    with binder.place_of(token):
        given = queries_to_give(binder, [kept.plan], clauses_of_stream, _only_final(kind, kept.plan))
    query = without_void(binder, kept.plan)
    columns = Schema(tuple(output_fields(binder, query)))
    return CreateContinuousSink(
        *place,
        if_not_exists,
        sink,
        storage,
        clauses.comment,
        columns,
        query,
        kept.text,
        clauses_of_stream.trigger,
        clauses_of_stream.on_bad_row,
        clauses_of_stream.start,
        None if given is None else kept_of(binder, given.state, given.emit, clauses_of_stream.late_rows),
        clauses_of_stream.is_unbounded,
    )


def _only_final(kind: SinkKind, query: LogicalPlan) -> str:
    """Text that says why a sink accepts only final rows; empty if it accepts changes."""
    what = f"of a continuous sink TO {kind.name}"
    if not kind.takes_changes:
        return f"{what}, which cannot tell changed rows from new ones,"
    has_key = not kind.key or kind.key in (column.name for column in query.output)
    return "" if has_key else f"{what} without a column {kind.key}, which identifies the changed rows,"


def _kind(binder: CommandBinder) -> SinkKind:
    reader = binder.reader
    word = reader.word()
    if word not in SINK_KINDS:
        raise reader.error(f"{' or '.join(SINK_KINDS)} expected")
    reader.take()
    return SINK_KINDS[word]
