"""An epoch that empties the table of a query, in the transaction that lets it count."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.continuous_query import Offsets
from sharkpy.catalog.store import Catalog
from sharkpy.streaming.epoch_write import EpochWrite


@dataclass(slots=True)
class EpochRestart(EpochWrite):
    """Write behind that of a table without rows: the query's offsets are those of its start with it, or not at all.

    It comes behind the last epoch of then, which another process may have written since the query was looked at.
    """

    query_id: str
    offsets: Offsets
    catalog: Catalog
    number: int = 0
    """Number of the epoch, once it has its place."""

    def note(self) -> None:
        streams = self.catalog.streams
        query = streams.get(self.query_id)
        streams.end_epoch(query, self.offsets)
        streams.epochs.forget(self.query_id)
        self.number = query.epoch + 1
