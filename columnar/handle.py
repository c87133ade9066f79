"""Handle of a block, which the driver and the tasks pass around instead of data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, weakref_slot=True)
class BlockHandle:
    """A stored, encoded, immutable part of a table: where it is and what it holds.

    1. `block_id` is unique and never reused; the file is named after it.
    2. `memory_path` is the place in shared memory (or the local folder after eviction);
       `durable_path` the copy in the warehouse, where there is one. A reader tries them in this order.
    3. Those who may still read the block hold this object; the store can tell when none is left.
    4. `column_bytes` are the encoded bytes by column, for placement and EXPLAIN; tasks do not get them.
    5. `host` names the host in whose memory `memory_path` lies, as Spark does; "": that of the driver.
    6. `bucket` is the one that all its rows belong to, by the table's bucket columns; None: they may be of any.
    7. `checksum` is that of the rows in whichever order, for blocks that are made again by a query.
    """

    block_id: str
    num_rows: int
    size_bytes: int
    memory_path: str
    durable_path: str | None
    column_bytes: Mapping[str, int] = field(compare=False, repr=False)
    host: str = ""
    bucket: int | None = None
    checksum: int | None = None

    def bytes_of(self, names: Iterable[str]) -> int:
        """Encoded bytes of some columns."""
        return sum(self.column_bytes.get(name, 0) for name in names)

    def shipped(self) -> BlockHandle:
        """The handle for a task, which has no use for figures of all columns."""
        return replace(self, column_bytes={})
