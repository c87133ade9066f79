"""How far a query has come, for the shell's progress line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Figures of the stage that runs now; earlier stages of the query are complete."""

    stage: str
    stages_done: int
    tasks_done: int
    tasks_total: int
    rows_read: int
    queued_behind: int | None = None
    """While the query waits for its turn: how many wait before it."""
    notice: str | None = None
    """A message to the statement's user beside its answer; then there are no figures."""


ProgressListener = Callable[[Progress], None]


def ignore_progress(progress: Progress) -> None:
    """Do nothing: the listener where nobody follows a query."""
