"""Recent epochs of continuous queries, in the catalog's file: for rollback, and for reads of earlier versions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import BindError, TableChangedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets, offsets_from_text, offsets_to_text

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.table_history import VersionPoint

_COLUMNS = "epoch, generation, offsets, written_ms"


@dataclass(frozen=True, slots=True)
class RetainedEpoch:
    """An epoch whose version of the table can be restored.

    Its rows are the rows of all generations up to `generation`. For a table with Hive partitions that is 0, and
    `EpochStore.undone` returns the generation of each partition. `written_ms` is the commit time in milliseconds since
    1970.
    """

    number: int
    generation: int
    offsets: Offsets
    written_ms: int


class EpochStore:
    """The catalog's rows about kept epochs. Call methods that change them inside a transaction of the catalog.

    For Hive partitions, each epoch stores what it changed and the state before. So an epoch costs as much as it
    changes, and the partitions of an earlier epoch are the current ones with later changes undone.
    """

    def __init__(self, file: CatalogFile) -> None:
        self._file = file

    def keep(self, query: ContinuousQuery, table: Table, offsets: Offsets, most: int) -> None:
        """Record the epoch after `query.epoch`, whose rows are in `table`, and forget all but the newest
        `most` epochs.
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

    def kept(self, query_id: str) -> list[RetainedEpoch]:
        """Return the kept epochs of a query, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM epoch_ WHERE query_id = ? ORDER BY epoch"
        return [_kept(row) for row in self._file.rows(sql, query_id)]

    def wanted(self, query_id: str, name: str, point: VersionPoint) -> RetainedEpoch:
        """Return the kept epoch that a statement names. Raise BindError 22023, with the table's `name`, if it is not
        kept.
        """
        kept = self.kept(query_id)
        if point.moment_ms is None:
            found = [one for one in kept if one.number == point.number]
        else:
            found = [one for one in kept if one.written_ms <= point.moment_ms]
        if not found:
            hint = f"epochs {kept[0].number} to {kept[-1].number} are available" if kept else "no epoch is available"
            raise BindError(
                f"{epoch_text(point)} of {name} is not available",
                hint=f"{hint}; shark.stream.kept.epochs sets their number",
                sqlstate="22023",
            )
        return found[-1]

    def oldest_generation(self, table_id: str) -> int | None:
        """Return the smallest generation of a table's kept epochs, or None if no epoch is kept. All of them share the
        rows up to it.
        """
        row = self._file.row("SELECT min(generation) FROM epoch_ WHERE table_id = ?", table_id)
        return None if row is None or row[0] is None else int(row[0])

    def note_change(self, query_id: str, partition_id: int, newest: int | None) -> None:
        """Record that the next epoch of a query changes a Hive partition. `newest` is the partition's last generation
        before that epoch, or None for a new partition.
        """
        sql = "INSERT OR IGNORE INTO epoch_partition_ SELECT query_id, epoch + 1, ?, ? FROM continuous_"
        self._file.run(f"{sql} WHERE query_id = ?", partition_id, newest, query_id)

    def undone(self, query_id: str, number: int) -> dict[int, int | None]:
        """Return the last generation, in the epoch `number`, of each Hive partition that was changed later, by id. It
        is None for a partition that did not exist.
        """
        # For each group, SQLite takes the other columns from the row with the least epoch.
        sql = "SELECT partition_id, newest, min(epoch) FROM epoch_partition_ WHERE query_id = ? AND epoch > ?"
        rows = self._file.rows(f"{sql} GROUP BY partition_id", query_id, number)
        return {partition_id: newest for partition_id, newest, _ in rows}

    def undone_by_oldest(self, query_id: str) -> dict[int, int | None]:
        """Return `undone` for the oldest kept epoch. It is empty if no epoch is kept."""
        row = self._file.row("SELECT min(epoch) FROM epoch_ WHERE query_id = ?", query_id)
        return {} if row is None or row[0] is None else self.undone(query_id, row[0])

    def roll_back(self, query: ContinuousQuery, to: RetainedEpoch, generation: int) -> None:
        """Make `to` the query's last epoch, with the table's rows in `generation`, and forget all other epochs.

        Raise BindError 22023 if `to` is not kept any more, or TableChangedError if the query has written another epoch
        than `query` knows of or was dropped.
        """
        if to not in self.kept(query.query_id):
            raise BindError(f"epoch {to.number} is not available", sqlstate="22023")
        sql = "UPDATE continuous_ SET epoch = ?, offsets = ?, fault = '' WHERE query_id = ? AND epoch = ?"
        offsets = offsets_to_text(to.offsets)
        if not self._file.run(sql, to.number, offsets, query.query_id, query.epoch):
            raise TableChangedError(f"epoch {query.epoch + 1} was written by another process, or the query was dropped")
        self.forget(query.query_id)
        row = (query.query_id, to.number, query.table_id, generation, offsets, to.written_ms)
        self._file.run("INSERT INTO epoch_ VALUES (?, ?, ?, ?, ?, ?)", *row)

    def forget(self, query_id: str) -> None:
        """Forget all epochs of a query, since its table starts over or is dropped."""
        self._file.run("DELETE FROM epoch_ WHERE query_id = ?", query_id)
        self._file.run("DELETE FROM epoch_partition_ WHERE query_id = ?", query_id)


def epoch_text(point: VersionPoint) -> str:
    """Return the words that name an epoch in a message."""
    return f"epoch {point.number}" if point.moment_ms is None else "the epoch of that moment"


def _kept(row: Any) -> RetainedEpoch:
    number, generation, offsets, written_ms = row
    return RetainedEpoch(number, generation, offsets_from_text(offsets), written_ms)
