"""Payloads of exchanges: Arrow streams, each with a number before it that tells its exchange and its order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import ExecutionError

PAYLOAD_HEADER = 8
"""Bytes before the Arrow stream of a payload, little endian: see `payload_header`."""
SPREAD_METADATA = b"spread"
"""Key in the schema metadata of a spread bucket's payload: the hashes of the keys that the task deals."""


def payload_header(exchange_id: int, partition: int = 0, bucket: int = 0) -> int:
    """Return the number before a payload. Sorting by its `payload_order` gives the same order on each attempt."""
    return exchange_id | (bucket & 0xFFFF) << 16 | partition << 32


def payload_exchange(header: int) -> int:
    return header & 0xFFFF


def payload_order(header: int) -> int:
    return header >> 16


def read_payloads(payloads: Sequence[pa.Buffer], schema: pa.Schema, spread: frozenset[int] | None = None) -> pa.Table:
    """Return the rows of all payloads, without copying, with the column names of `schema`.

    `spread` has the hashes of keys that payloads of spread buckets may have; None means any.
    """
    tables = [pa.ipc.open_stream(payload.slice(PAYLOAD_HEADER)).read_all() for payload in payloads]
    if spread is not None:
        for table in tables:
            dealt = np.frombuffer((table.schema.metadata or {}).get(SPREAD_METADATA, b""), "<u8")
            if not spread.issuperset(dealt.tolist()):
                # A copy of a task found other heavy keys, so its rows would not meet all their matches.
                raise ExecutionError("two tries of one task dealt rows of different keys over other tasks")
    tables = [table.rename_columns(schema.names) for table in tables if table.num_rows]
    return pa.concat_tables(tables) if tables else pa.Table.from_batches([], schema)
