"""Last epochs of continuous queries, in the catalog's file: what they can be rolled back to, and read at."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import BindError, TableChangedError
from sharkpy.catalog.continuous_query import ContinuousQuery, EpochPoint, Offsets
from sharkpy.catalog.stream_texts import offsets_from_text, offsets_to_text

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile
    from sharkpy.catalog.model import Table

_COLUMNS = "epoch, generation, offsets, written_ms"


@dataclass(frozen=True, slots=True)
class KeptEpoch:
    """Epoch whose table can be had again: the rows of generations up to `generation` are its rows; of a table with
    Hive partitions, for which that is 0, `EpochStore.undone` tells those of each.

    `written_ms`: when it counted, in milliseconds since 1970.
    """

    number: int
    generation: int
    offsets: Offsets
    written_ms: int


class EpochStore:
    """Rows of the catalog about kept epochs. Changes are called inside a transaction of the catalog.

    Of Hive partitions the rows say what each epoch has changed, and what was there before: so an epoch costs as much as
    it changes, and the partitions of an earlier one are those of now without the changes since.
    """

    def __init__(self, file: CatalogFile) -> None:
        self._file = file

    def keep(self, query: ContinuousQuery, table: Table, offsets: Offsets, most: int) -> None:
        """Note that the epoch after `query.epoch`, whose rows `table` has, counts from now on, and forget those before
        the newest `most`.
        """
        number, now = query.epoch + 1, time.time_ns() // 1_000_000
        given = () if table.is_partitioned else (table.table_id,)
        generation = "coalesce((SELECT newest FROM generation_ WHERE table_id = ?), 0)" if given else "0"
        row = (query.query_id, number, table.table_id, *given, offsets_to_text(offsets), now)
        self._file.run(f"INSERT OR REPLACE INTO epoch_ VALUES (?, ?, ?, {generation}, ?, ?)", *row)
        self._file.run("DELETE FROM epoch_ WHERE query_id = ? AND epoch <= ?", query.query_id, number - most)
        if table.is_partitioned:
            sql = "DELETE FROM epoch_partition_ WHERE query_id = ? AND epoch <= ?"
            self._file.run(sql, query.query_id, number - most + 1)

    def kept(self, query_id: str) -> list[KeptEpoch]:
        """Kept epochs of a query, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM epoch_ WHERE query_id = ? ORDER BY epoch"
        return [_kept(row) for row in self._file.rows(sql, query_id)]

    def wanted(self, query_id: str, name: str, point: EpochPoint) -> KeptEpoch:
        """Kept epoch of a query that a statement names; BindError 22023, which calls the table by `name`, where it is
        not kept.
        """
        kept = self.kept(query_id)
        if point.epoch is not None:
            found = [one for one in kept if one.number == point.epoch]
        else:
            found = [one for one in kept if point.moment_ms is not None and one.written_ms <= point.moment_ms]
        if not found:
            hint = f"there are the epochs {kept[0].number} to {kept[-1].number}" if kept else "no epoch is"
            raise BindError(
                f"{point} of {name} is not kept", hint=f"{hint}; shark.stream.kept.epochs", sqlstate="22023"
            )
        return found[-1]

    def oldest_generation(self, table_id: str) -> int | None:
        """Generation of a table up to which its kept epochs have all rows alike; None where none is kept."""
        row = self._file.row("SELECT min(generation) FROM epoch_ WHERE table_id = ?", table_id)
        return None if row is None or row[0] is None else int(row[0])

    def note_change(self, query_id: str, partition_id: int, newest: int | None) -> None:
        """Note that the next epoch of a query changes the rows of a Hive partition, whose last generation before it is
        `newest`; None where it is a new one.
        """
        sql = "INSERT OR IGNORE INTO epoch_partition_ SELECT query_id, epoch + 1, ?, ? FROM continuous_"
        self._file.run(f"{sql} WHERE query_id = ?", partition_id, newest, query_id)

    def undone(self, query_id: str, number: int) -> dict[int, int | None]:
        """Last generation, in the epoch `number`, of each Hive partition that was changed since, by id; None for one
        that was not there.
        """
        # Of the rows of a group SQLite takes that with the least epoch.
        sql = "SELECT partition_id, newest, min(epoch) FROM epoch_partition_ WHERE query_id = ? AND epoch > ?"
        rows = self._file.rows(f"{sql} GROUP BY partition_id", query_id, number)
        return {partition_id: newest for partition_id, newest, _ in rows}

    def undone_by_oldest(self, query_id: str) -> dict[int, int | None]:
        """`undone` for the oldest epoch that is kept; empty where none is."""
        row = self._file.row("SELECT min(epoch) FROM epoch_ WHERE query_id = ?", query_id)
        return {} if row is None or row[0] is None else self.undone(query_id, row[0])

    def roll_back(self, query: ContinuousQuery, to: KeptEpoch, generation: int) -> None:
        """Let `to` be the query's last epoch, with the rows that the table has in `generation`; others are forgotten.

        BindError 22023 if it is not kept any more; TableChangedError if the query has written another epoch than
        `query` knows of, or was dropped.
        """
        if to not in self.kept(query.query_id):
            raise BindError(f"epoch {to.number} is not kept any more", sqlstate="22023")
        sql = "UPDATE continuous_ SET epoch = ?, offsets = ?, fault = '' WHERE query_id = ? AND epoch = ?"
        offsets = offsets_to_text(to.offsets)
        if not self._file.run(sql, to.number, offsets, query.query_id, query.epoch):
            raise TableChangedError(f"epoch {query.epoch + 1} was written meanwhile, or the query was dropped")
        self.forget(query.query_id)
        row = (query.query_id, to.number, query.table_id, generation, offsets, to.written_ms)
        self._file.run("INSERT INTO epoch_ VALUES (?, ?, ?, ?, ?, ?)", *row)

    def forget(self, query_id: str) -> None:
        """Forget all epochs of a query: its table begins anew, or is dropped."""
        self._file.run("DELETE FROM epoch_ WHERE query_id = ?", query_id)
        self._file.run("DELETE FROM epoch_partition_ WHERE query_id = ?", query_id)


def _kept(row: Any) -> KeptEpoch:
    number, generation, offsets, written_ms = row
    return KeptEpoch(number, generation, offsets_from_text(offsets), written_ms)
