"""Rollback to an epoch, in the transaction that restores its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.epoch_store import RetainedEpoch
from sharkpy.streaming.epoch_write import EpochWrite


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
