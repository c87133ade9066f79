"""Figures of a continuous query's epochs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from sharkpy.streaming.epoch_log import Totals

_RATE_EPOCHS = 20
"""Number of recent epochs from which the displayed rate is computed."""


@dataclass(slots=True)
class EpochFigures:
    """Figures of the epochs of a query that this process has run."""

    rows: int = 0
    bad_rows: int = 0
    """Records that did not parse."""
    epochs: int = 0
    failures: int = 0
    seconds: float = 0.0
    recent: list[tuple[float, int, float]] = field(default_factory=list)
    """End (by the monotonic clock), rows and seconds of each recent epoch."""
    fault: str = ""
    """Error that could not be recorded in the catalog."""
    totals: tuple[int, Totals] | None = None
    """Number of the last epoch that this process has run, and the totals of all epochs up to it."""
    running: int = 0
    """Number of the running epoch, until its figures have been added; 0 for none."""

    def add(self, rows: int, seconds: float, bad_rows: int) -> None:
        self.rows += rows
        self.bad_rows += bad_rows
        self.epochs += 1
        self.seconds += seconds
        self.recent = [*self.recent[1 - _RATE_EPOCHS :], (time.monotonic(), rows, seconds)]

    def totals_at(self, epoch: int) -> Totals | None:
        """Return the totals up to `epoch`, or None if this process has not run that epoch last."""
        return self.totals[1] if self.totals is not None and self.totals[0] == epoch else None

    @property
    def rows_per_second(self) -> float:
        """Rows of the recent epochs per second spent on them; 0 if there are none."""
        seconds = sum(spent for _, _, spent in self.recent)
        return sum(rows for _, rows, _ in self.recent) / seconds if seconds else 0.0
