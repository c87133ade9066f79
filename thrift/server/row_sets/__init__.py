"""Results in Hive's form: the description of their columns, and their rows as bytes made from Arrow's buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import ResourceError
from sharkpy.thrift.row_sets.encode import columnar_row_set, row_based_row_set
from sharkpy.thrift.row_sets.type_descriptions import table_schema
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNAR_SINCE", "MAX_BYTES", "encode_row_set", "table_schema"]

COLUMNAR_SINCE = 5
"""HIVE_CLI_SERVICE_PROTOCOL_V6, whose number is 5."""
MAX_BYTES = (1 << 31) - 1
"""Most bytes of a row set: lengths and frames on the wire are signed numbers of 32 bits."""


def encode_row_set(batches: Sequence[pa.RecordBatch], schema: Schema, start_row: int, protocol_version: int) -> bytes:
    """Return a TRowSet in thrift's binary protocol: by columns since protocol V6, by rows before.

    The batches have the schema's columns in order, with its Arrow types or with types that cast to them. Raise
    ResourceError if the answer does not fit into a frame, and ExecutionError for dates that have no text.
    """
    import pyarrow as pa

    from sharkpy.session.result import conform

    if sum(batch.nbytes for batch in batches) > MAX_BYTES:
        raise _too_large()
    encode = columnar_row_set if protocol_version >= COLUMNAR_SINCE else row_based_row_set
    target = arrow_schema(schema)
    conforming = [batch if batch.schema.equals(target) else conform(batch, schema) for batch in batches]
    try:
        row_set = encode(conforming, schema, start_row)
    except pa.ArrowCapacityError:
        raise _too_large() from None
    if len(row_set) > MAX_BYTES:
        raise _too_large()
    return row_set


def _too_large() -> ResourceError:
    return ResourceError(f"the rows asked for are more than {MAX_BYTES} bytes", hint="fetch fewer rows at once")
