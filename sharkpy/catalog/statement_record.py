"""Record of one statement: its text and user, its state, its figures, its plan and its error."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime


class StatementState(enum.StrEnum):
    """State of a statement, by the name that listings and pages show."""

    QUEUED = "queued"
    """It waits for its turn."""
    RUNNING = "running"
    WAITING = "waiting"
    """It is open, and does nothing until its reader wants more rows."""
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
    """Statement that runs or has ended.

    1. Times of `seconds` are those from its begin to its end: `queued_seconds` in the queue, `running_seconds` at work,
       planning included, and the rest while its reader was busy elsewhere.
    2. Long texts and plans are cut, and end with a mark that says so.
    """

    query_id: str
    kind: str
    """SELECT, CREATE TABLE and so on; PYTHON for work of a program; empty for a text that no statement was found in."""
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
    """Rows given to its reader."""
    rows_written: int
    plan: str = ""
    """Plans that it ran, stage by stage with their figures, and the decisions taken."""
    progress: str = ""
    """While it runs: how far it is."""
    sqlstate: str = ""
    error: str = ""
    """Message of the error that ended it."""


def cut_text(text: str, most_bytes: int) -> str:
    """`text` in at most `most_bytes` of UTF-8 and, where it is longer, a mark with the number of bytes left out."""
    if len(text) * 4 <= most_bytes:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return text
    kept = encoded[:most_bytes].decode("utf-8", "ignore")
    return f"{kept}… ({len(encoded) - most_bytes:,} bytes more)"
