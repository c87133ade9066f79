"""Epoch that empties a query's table, in the transaction that commits it."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import Offsets
from sharkpy.streaming.epoch_write import EpochWrite


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
