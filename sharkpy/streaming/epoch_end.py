"""End of an epoch, in the transaction that lets its rows count."""

from __future__ import annotations

from concurrent.futures import Future, wait
from dataclasses import dataclass

from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets
from sharkpy.catalog.file_syncs import FileSyncs
from sharkpy.catalog.model import Table
from sharkpy.catalog.store import Catalog
from sharkpy.streaming import steps
from sharkpy.streaming.epoch_log import EpochLog
from sharkpy.streaming.epoch_write import EpochWrite


@dataclass(slots=True)
class EpochEnd(EpochWrite):
    """Last of an epoch's writes: the query's number of epochs and its offsets change with the rows, or not at all.

    The newest `kept` epochs can be had again.
    """

    query: ContinuousQuery
    table: Table
    """The query's; the state of one with state."""
    offsets: Offsets
    catalog: Catalog
    kept: int
    log: EpochLog | None = None
    """Log that has not reached the disk: it does so with the files, which costs less than before them."""
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
        # A query that writes other tables has merely its name there.
        if self.table.is_stored:
            streams.epochs.keep(self.query, self.table, self.offsets, self.kept)

    def discard(self) -> None:
        if self.syncing is not None:
            wait([self.syncing])
