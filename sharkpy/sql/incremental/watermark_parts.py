"""Parts of a state with the watermarks of streams, each stored once, and with numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.plan.expr import Literal
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.idle_streams import ActiveStream, ActiveWatermark, StreamArrivals
from sharkpy.sql.incremental.row_numbers import NumRows
from sharkpy.sql.incremental.row_wise import refused
from sharkpy.sql.incremental.state import StatePart
from sharkpy.sql.incremental.watermarks import StreamWatermark, Watermarks, stream_watermark
from sharkpy.values.types import TIMESTAMP


class WatermarkParts:
    """Builder that adds the parts with watermarks to the parts of a query."""

    def __init__(self, parts: list[tuple[LogicalPlan, StatePart]], context: Context) -> None:
        self._parts = parts
        self._context = context
        self._of_streams: dict[str, tuple[int, StreamWatermark]] = {}
        self._active: dict[frozenset[str], tuple[int, ActiveWatermark]] = {}

    def of_stream(self, scan: Scan) -> int:
        """Place of the part with the watermark of a stream."""
        return self._of_stream(scan)[0]

    def num_rows(self, scan: Scan) -> int:
        """Add a part with the number of rows of a stream that have arrived. Return its place."""
        times = stream_watermark(scan, self._context).times
        return self._add(scan, NumRows(times, self._context.column))

    def of_other(self, scan: Scan, waiting: Scan) -> int:
        """Place of the part with the watermark of a stream for which rows of another stream wait.

        If the stream may be idle, this is the watermark of both.
        """
        streams = {one.table.table_id: one for one in (scan, waiting)}
        watermark = scan.table.watermark
        if len(streams) == 1 or watermark is None or watermark.idle is None:
            return self.of_stream(scan)
        marks = ((stream, one.table.watermark) for stream, one in streams.items())
        idle = {stream: mark.idle for stream, mark in marks if mark is not None and mark.idle is not None}
        return self._of_active(list(streams.values()), idle)[0]

    def of_rows(self, rows: LogicalPlan, what: str) -> Watermarks:
        """The watermarks of the streams that some rows come from.

        Raise UnsupportedError if a stream has none. `what` names the feature that needs it.
        """
        scans = {scan.table.table_id: scan for scan in stream_scans(rows)}
        idle = dict[str, int]()
        for stream, scan in scans.items():
            watermark = scan.table.watermark
            if watermark is None:
                raise refused(f"{what} over {scan.table.qualified_name}, which has no WATERMARK,")
            if watermark.idle is not None:
                idle[stream] = watermark.idle
        found = tuple(map(self._of_stream, scans.values()))
        parts = (self._of_active(list(scans.values()), idle),) if idle and len(scans) > 1 else found
        return Watermarks(parts, self._context.column)

    def _of_stream(self, scan: Scan) -> tuple[int, StreamWatermark]:
        stream = scan.table.table_id
        if stream not in self._of_streams:
            part = stream_watermark(scan, self._context)
            self._of_streams[stream] = self._add(scan, part), part
        return self._of_streams[stream]

    def _of_active(self, scans: Sequence[Scan], idle: dict[str, int]) -> tuple[int, ActiveWatermark]:
        """The watermark of several streams. `idle` has the microseconds after which some of them are idle."""
        known = frozenset(scan.table.table_id for scan in scans)
        if known not in self._active:
            now = Literal(self._context.utc_now, TIMESTAMP)
            streams = list[ActiveStream]()
            for scan in scans:
                place, watermark = self._of_stream(scan)
                if (time := idle.get(scan.table.table_id)) is None:
                    streams.append(ActiveStream(place, watermark))
                    continue
                arrivals = StreamArrivals(stream_watermark(scan, self._context), now, self._context.column)
                streams.append(ActiveStream(place, watermark, (self._add(scan, arrivals), arrivals), time))
            part = ActiveWatermark(len(self._parts), tuple(streams), now, self._context.column)
            self._active[known] = self._add(scans[0], part), part
        return self._active[known]

    def _add(self, node: LogicalPlan, part: StatePart) -> int:
        self._parts.append((node, part))
        return len(self._parts) - 1


def stream_scans(plan: LogicalPlan) -> list[Scan]:
    return [node for node in plan.walk() if isinstance(node, Scan) and node.table.is_stream]
