"""Record of one statement: its text, user, state, figures, plan and error."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime


class StatementState(enum.StrEnum):
    """State of a statement, by its name in listings and pages."""

    QUEUED = "queued"
    """Waiting for its turn."""
    RUNNING = "running"
    WAITING = "waiting"
    """Open, and idle until its reader asks for more rows."""
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    CLOSED = "closed"
    """Its reader closed it before the last row."""

    @property
    def is_over(self) -> bool:
        return self not in (StatementState.QUEUED, StatementState.RUNNING, StatementState.WAITING)


@dataclass(frozen=True, slots=True)
class StatementRecord:
    """A statement that is running or has ended.

    1. `seconds` runs from start to end. `queued_seconds` are in the queue, `running_seconds` at work, including
       planning. In the rest its reader was busy elsewhere.
    2. Long texts and plans are truncated, with a mark at the end.
    """

    query_id: str
    kind: str
    """SELECT, CREATE TABLE and so on. PYTHON for work of a program. Empty for a text without a recognized statement."""
    text: str
    user: str
    session: str
    state: StatementState
    started: datetime
    """In UTC, with its zone."""
    seconds: float
    queued_seconds: float
    running_seconds: float
    rows_read: int
    """Rows sent to its reader."""
    rows_written: int
    plan: str = ""
    """Plans of the statement by stage, with their figures, and the decisions taken."""
    progress: str = ""
    """Progress while it runs."""
    sqlstate: str = ""
    error: str = ""
    """Message of the error that ended it."""


def cut_text(text: str, most_bytes: int) -> str:
    """Truncate `text` to `most_bytes` of UTF-8. A mark with the number of omitted bytes is added if it was longer."""
    if len(text) * 4 <= most_bytes:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return text
    kept = encoded[:most_bytes].decode("utf-8", "ignore")
    return f"{kept}… ({len(encoded) - most_bytes:,} bytes more)"
