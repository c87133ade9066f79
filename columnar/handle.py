"""Handle of a block, which the driver and tasks exchange instead of data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from sharkpy.base.records import dataclass


@dataclass(frozen=True, slots=True, weakref_slot=True)
class BlockHandle:
    """A stored, encoded, immutable part of a table: its location and its contents.

    1. `block_id` is unique and never reused. The file is named after it.
    2. `memory_path` is the file in shared memory (or a link to the local folder after eviction). `durable_path` is the
       copy in the warehouse, if there is one. A reader tries them in this order.
    3. A reader holds this object while it may read the block. The store detects when no reader is left.
    4. `column_bytes` are the encoded bytes by column, for placement and EXPLAIN. Tasks do not get them.
    5. `host` is Spark's name of the host whose memory holds `memory_path`; "" is the driver's host.
    6. `bucket` is the bucket of all its rows, by the table's bucket columns, or None if rows may be of any bucket.
    7. `checksum` covers the rows in any order, for blocks that a query can rebuild.
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
        """Return the encoded bytes of some columns."""
        return sum(self.column_bytes.get(name, 0) for name in names)

    def shipped(self) -> BlockHandle:
        """Return the handle for a task, which does not need the sizes of columns."""
        return replace(self, column_bytes={})
