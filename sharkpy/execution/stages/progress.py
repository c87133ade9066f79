"""Progress of a query, for the shell's progress line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Figures of the running stage; earlier stages of the query are complete."""

    stage: str
    stages_done: int
    tasks_done: int
    tasks_total: int
    rows_read: int
    queued_behind: int | None = None
    """Number of queries before it while it waits for admission."""
    notice: str | None = None
    """Message to the statement's user apart from its result; there are no figures then."""


ProgressListener = Callable[[Progress], None]


def ignore_progress(progress: Progress) -> None:
    """Do nothing; this is the default listener."""
