"""End of an epoch, in the transaction that lets its rows count."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets
from sharkpy.catalog.store import Catalog
from sharkpy.streaming import steps


@dataclass(slots=True)
class EpochEnd:
    """Last of an epoch's writes: the query's number of epochs and its offsets change with the rows, or not at all."""

    query: ContinuousQuery
    offsets: Offsets
    catalog: Catalog

    def prepare(self) -> None:
        steps.done(steps.STAGED)

    def place(self) -> None:
        self.catalog.streams.end_epoch(self.query, self.offsets)
        steps.done(steps.PLACED)

    def take_back(self) -> None:
        pass

    def show(self) -> None:
        steps.done(steps.COMMITTED)

    def clean(self) -> None:
        pass

    def discard(self) -> None:
        pass
