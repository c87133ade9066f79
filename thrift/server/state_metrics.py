"""Gauges of the server's state, read at each request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sharkpy.sources.storage.meter import METER
from sharkpy.thrift.open_sessions import OpenSessions

if TYPE_CHECKING:
    from sharkpy.execution.memory_watch import MemoryWatch
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.thrift.pulse import Pulse


class StateCollector(Collector):
    def __init__(self, engine_session: SharkContext, sessions: OpenSessions, memory: MemoryWatch, pulse: Pulse) -> None:
        self._engine_session = engine_session
        self._sessions = sessions
        self._memory = memory
        self._pulse = pulse

    def describe(self) -> Iterator[Metric]:
        """Return no names: they are not looked up when this is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        sessions = self._sessions.sessions()
        operations = [one for session in sessions for one in session.operations()]
        running = [one for one in operations if one.is_running]
        gauges: dict[str, tuple[str, Any]] = {
            "sessions": ("Sessions open", len(sessions)),
            "operations": ("Operations open", len(operations)),
            "operations_running": ("Operations that run or wait for their turn", len(running)),
            "rows_buffered": ("Rows made and not fetched yet", sum(one.rows_ahead for one in operations)),
            "buffered_bytes": ("Bytes of those rows", sum(one.bytes_ahead for one in operations)),
            "longest_running_seconds": (
                "Age of the oldest operation that runs",
                max((time.time() - one.started for one in running), default=0.0),
            ),
            "process_memory_bytes": (
                "Bytes that the process holds, without files that it has mapped",
                self._memory.held,
            ),
            "process_memory_limit_bytes": ("Bytes beyond which statements are ended", self._memory.limit),
            "longest_pause_seconds": (
                "Longest time that one thread has kept all others from running",
                self._pulse.longest_pause,
            ),
            "storage_requests": ("Requests to storage since the start", METER.total.requests),
            "storage_fetched_bytes": ("Bytes of files that these have read", METER.total.fetched_bytes),
        }
        engine = self._engine_session.started_engine
        if engine is not None:
            usage = engine.store.usage()
            gauges |= {
                "store_memory_bytes": ("Bytes of blocks in shared memory", usage.memory_bytes),
                "store_memory_limit_bytes": ("Bytes that blocks may take there", usage.memory_limit),
                "store_local_bytes": ("Bytes of blocks moved to the local folder", usage.local_bytes),
                "store_blocks": ("Blocks known", usage.num_blocks),
                "store_blocks_evicted": ("Blocks evicted since the start", usage.num_evicted),
            }
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"sharkpy_{name}", text, value=value)
