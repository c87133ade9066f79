"""End of an epoch, in the transaction that commits its rows."""

from __future__ import annotations

from concurrent.futures import Future, wait
from dataclasses import dataclass

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets
from sharkpy.catalog.model import Table
from sharkpy.catalog.unfinished_writes import FileSyncs
from sharkpy.streaming import steps
from sharkpy.streaming.epoch_log import EpochLog
from sharkpy.streaming.epoch_write import EpochWrite


@dataclass(slots=True)
class EpochEnd(EpochWrite):
    """Last write of an epoch: it commits the query's epoch number and offsets together with the rows.

    The newest `kept` epochs stay available for rollback and for reads of earlier versions.
    """

    query: ContinuousQuery
    table: Table
    """The query's table, or its state table if it has one."""
    offsets: Offsets
    catalog: Catalog
    kept: int
    log: EpochLog | None = None
    """Log to sync together with the files, which is cheaper than before them; None if it is synced."""
    syncing: Future[None] | None = None

    def start(self, syncs: FileSyncs) -> None:
        if self.log is not None:
            self.syncing = syncs.begin(self.log.sync)

    def prepare(self) -> None:
        if self.syncing is not None:
            self.syncing.result()
        steps.done(steps.STAGED)

    def note(self) -> None:
        streams = self.catalog.streams
        streams.end_epoch(self.query, self.offsets)
        # An insert or sink without state is stored as a name only.
        if self.table.is_stored:
            streams.epochs.keep(self.query, self.table, self.offsets, self.kept)

    def discard(self) -> None:
        if self.syncing is not None:
            wait([self.syncing])
