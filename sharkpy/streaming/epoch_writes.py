"""Writes that change a continuous query in the transaction that commits its rows: the end of an epoch, a rollback, a
restart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait

from sharkpy.base.records import dataclass
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets
from sharkpy.catalog.epoch_store import RetainedEpoch
from sharkpy.catalog.model import Table
from sharkpy.catalog.unfinished_writes import FileSyncs
from sharkpy.execution.commands.writes.staged_write import QuietWrite
from sharkpy.streaming import kill_points
from sharkpy.streaming.epoch_log import EpochLog


class EpochWrite(QuietWrite):
    """Base of a write that follows the writes of a table's rows. It reports the steps that are done."""

    __slots__ = ()

    def prepare(self) -> None:
        kill_points.reached(kill_points.STAGED)

    def place(self) -> None:
        self.note()
        kill_points.reached(kill_points.PLACED)

    def note(self) -> None:
        """Record in the catalog how the query has changed with the rows."""
        raise NotImplementedError(type(self).__name__)

    def show(self) -> None:
        kill_points.reached(kill_points.COMMITTED)


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
    started: float | None = None
    """Time of `start`, by the monotonic clock."""

    def start(self, syncs: FileSyncs) -> None:
        self.started = time.monotonic()
        if self.log is not None:
            self.syncing = syncs.begin(self.log.sync)

    def prepare(self) -> None:
        if self.syncing is not None:
            self.syncing.result()
        kill_points.reached(kill_points.STAGED)

    def note(self) -> None:
        streams = self.catalog.streams
        streams.end_epoch(self.query, self.offsets)
        # An insert or sink without state is stored as a name only.
        if self.table.is_stored:
            streams.epochs.keep(self.query, self.table, self.offsets, self.kept)

    def discard(self) -> None:
        if self.syncing is not None:
            wait([self.syncing])


@dataclass(slots=True)
class EpochRollback(EpochWrite):
    """Write that resets a query's epoch and offsets, after the write that restores the table's rows.

    One transaction commits both.
    """

    query_id: str
    to: RetainedEpoch
    catalog: Catalog
    check: Callable[[ContinuousQuery], None]
    """Raises an error if the current query cannot go back: another process may have run it in the meantime."""

    def note(self) -> None:
        streams = self.catalog.streams
        query = streams.get(self.query_id)
        self.check(query)
        streams.epochs.roll_back(query, self.to, streams.newest(query.table_id) or 0)


@dataclass(slots=True)
class EpochRestart(EpochWrite):
    """Write that resets a query's offsets to their start, after the write that empties the table.

    One transaction commits both. The epoch follows the query's last epoch at that time, which another process may have
    written in the meantime.
    """

    query_id: str
    offsets: Offsets
    catalog: Catalog
    number: int = 0
    """Number of the epoch, once `note` has set it."""

    def note(self) -> None:
        streams = self.catalog.streams
        query = streams.get(self.query_id)
        streams.end_epoch(query, self.offsets)
        streams.epochs.forget(self.query_id)
        self.number = query.epoch + 1
