"""Event times of a stream's partitions, read from their last records.

The watermark of a stream is the latest time of all its rows, so its state has no time for each partition. This looks at
the records themselves, only when a user asks. Epochs do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from sharkpy.catalog.continuous_query import Position, furthest_position
from sharkpy.catalog.stream_kinds import KAFKA
from sharkpy.catalog.system_tables import PARTITION
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.streaming.sources.interfaces import SourceReader

LAST_RECORDS = 100
"""Records that are read of each partition. Some offsets have none: markers of transactions, and deleted records."""


def partition_times(
    stream: Table, reader: SourceReader, end: Position, session: EngineSession
) -> Mapping[int, datetime]:
    """Return the latest event time among the last records of each partition before `end`.

    Partitions without such records or times are left out. So are all of a stream with less than two partitions, or
    without a watermark. `session` has the settings of the query that has read up to `end`. Raise SharkError if the
    records cannot be read.
    """
    is_kafka = stream.stream is not None and stream.stream.kind == KAFKA.name
    if stream.watermark is None or len(end) < 2 or not is_kafka or PARTITION in stream.schema.names:
        return {}
    time = stream.watermark.column.replace("`", "``")
    text = f"SELECT {PARTITION}, max(`{time}`) FROM `{stream.database}`.`{stream.name}` GROUP BY {PARTITION}"
    start = furthest_position(tuple(number - LAST_RECORDS for number in end), reader.first()[: len(end)])
    snapshot = session.snapshot()
    try:
        with session.as_statement():
            plan = bind(text, session.catalog, session.conf, stream.database)
            assert isinstance(plan, LogicalPlan)  # a SELECT
            reader.give(snapshot, start, end)
            batches = list(query_rows(session, plan, snapshot))
    finally:
        snapshot.release()
    pairs = (pair for one in batches for pair in zip(*(column.to_pylist() for column in one.columns), strict=True))
    return {partition: latest for partition, latest in pairs if latest is not None}
