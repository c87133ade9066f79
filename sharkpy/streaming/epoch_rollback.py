"""Rollback to an epoch, in the transaction that lets its rows count again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.epoch_store import KeptEpoch
from sharkpy.catalog.store import Catalog
from sharkpy.streaming.epoch_write import EpochWrite


@dataclass(slots=True)
class EpochRollback(EpochWrite):
    """Write behind that of a table's rows: the query's epoch and offsets go back with them, or not at all."""

    query_id: str
    to: KeptEpoch
    catalog: Catalog
    check: Callable[[ContinuousQuery], None]
    """Raises an error where the query of now cannot go back: another process may have run it since it was looked at."""

    def note(self) -> None:
        streams = self.catalog.streams
        query = streams.get(self.query_id)
        self.check(query)
        streams.epochs.roll_back(query, self.to, streams.newest(query.table_id) or 0)
