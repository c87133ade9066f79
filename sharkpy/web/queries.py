"""Statements as the API shows them: running ones with their progress, and ended ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from sharkpy.base.records import dataclass
from sharkpy.catalog.statement_records import StatementRecord, StatementState
from sharkpy.web.errors import Error

if TYPE_CHECKING:
    from sharkpy.execution.statement import Statement

LISTED_CHARACTERS = 2_000
"""Characters of a text in lists. The answer about one statement has the whole text."""


@dataclass(frozen=True, slots=True)
class Progress:
    stage: str
    stages_done: int
    tasks_done: int
    tasks_total: int
    rows_read: int
    queued_behind: int | None


@dataclass(frozen=True, slots=True)
class Query:
    """Statement. Unknown figures are null. `rows_read` are rows of its inputs, `rows_returned` of its result."""

    query_id: str
    state: StatementState
    kind: str
    text: str
    user: str
    session: str
    tag: str | None
    started: datetime
    seconds: float
    queued_seconds: float | None
    planning_seconds: float | None
    running_seconds: float | None
    rows_read: int | None
    rows_returned: int
    rows_written: int
    bytes_read: int | None
    bytes_spilled: int | None
    cpu_seconds: float | None
    peak_bytes: int | None
    blocks_read: int | None
    blocks_pruned: int | None
    progress: Progress | None
    error: Error | None


_FIGURES = (
    *("tag", "planning_seconds", "bytes_read", "bytes_spilled", "cpu_seconds", "peak_bytes"),
    *("blocks_read", "blocks_pruned"),
)
"""Fields of a query that its record has under the same names."""


def queries_of(
    records: Iterable[StatementRecord], statements: Iterable[Statement], *, characters: int | None = LISTED_CHARACTERS
) -> list[Query]:
    """Return records as queries, running ones with the progress of their statements."""
    by_id = {one.query_id: one for one in statements if one.query_id}
    return [
        _query(record, None if record.state.is_over else by_id.get(record.query_id), characters) for record in records
    ]


def _query(record: StatementRecord, running: Statement | None, characters: int | None) -> Query:
    text = record.text
    place = (record.error_line, record.error_column, record.error_hint)
    error = Error(record.error, record.sqlstate, *place) if record.sqlstate else None
    return Query(
        query_id=record.query_id,
        state=record.state,
        kind=record.kind,
        text=text if characters is None or len(text) <= characters else f"{text[:characters]}…",
        user=record.user,
        session=record.session,
        started=record.started,
        seconds=record.seconds,
        queued_seconds=record.queued_seconds,
        running_seconds=record.running_seconds,
        rows_read=record.input_rows,
        rows_returned=record.rows_read,
        rows_written=record.rows_written,
        progress=None if running is None else _progress(running),
        error=error,
        **{name: getattr(record, name) for name in _FIGURES},
    )


def _progress(statement: Statement) -> Progress | None:
    seen = statement.progress
    if seen is None:
        return None
    figures = (seen.stage, seen.stages_done, seen.tasks_done, seen.tasks_total, seen.rows_read)
    return Progress(*figures, seen.queued_behind)
