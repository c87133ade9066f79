"""Rollback to an epoch, in the transaction that lets its rows count again."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.epoch_store import KeptEpoch
from sharkpy.catalog.store import Catalog
from sharkpy.execution.commands.writes.publish import QuietWrite
from sharkpy.streaming import steps


@dataclass(slots=True)
class EpochRollback(QuietWrite):
    """Write behind that of a table's rows: the query's epoch and offsets go back with them, or not at all."""

    query: ContinuousQuery
    to: KeptEpoch
    catalog: Catalog

    def prepare(self) -> None:
        steps.done(steps.STAGED)

    def place(self) -> None:
        streams = self.catalog.streams
        streams.epochs.roll_back(self.query, self.to, streams.newest(self.query.table_id) or 0)
        steps.done(steps.PLACED)

    def show(self) -> None:
        steps.done(steps.COMMITTED)
