"""End of an epoch, in the transaction that lets its rows count."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets
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
    offsets: Offsets
    catalog: Catalog
    kept: int
    log: EpochLog | None = None
    """Log that has not reached the disk: it does so behind the files, which costs less than before them."""

    def prepare(self) -> None:
        if self.log is not None:
            self.log.sync()
        steps.done(steps.STAGED)

    def note(self) -> None:
        streams, query = self.catalog.streams, self.query
        streams.end_epoch(query, self.offsets)
        if (generation := self._generation()) is not None:
            streams.epochs.keep(query, query.epoch + 1, self.offsets, generation, self.kept)

    def _generation(self) -> int | None:
        """Last generation of the table that counts with this epoch; 0 where its Hive partitions have theirs, None where
        the query writes other tables.
        """
        table = self.catalog.current_table(self.query.table_id)
        if table is None:
            return None
        return 0 if table.is_partitioned else self.catalog.newest_generation(table)
