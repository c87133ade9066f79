"""Metrics of a server in Prometheus' format: counters and histograms, and gauges that are read at each request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sharkpy.base.errors import SharkError
from sharkpy.catalog.continuous_query import QueryState
from sharkpy.sources.storage.meter import METER
from sharkpy.streaming.status import ContinuousStatus, continuous_statuses
from sharkpy.thrift.operation import ENDED, STATE_NAMES, Operation

if TYPE_CHECKING:
    from sharkpy.execution.memory_watch import MemoryWatch
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.thrift.guard import Heartbeat
    from sharkpy.thrift.sessions import OpenSessions

_COUNTERS = {
    "sessions_opened": "Sessions opened",
    "sessions_idle": "Sessions closed because they were idle",
    "operations_idle": "Operations closed because nobody fetched their rows",
    "statements": "Statements accepted",
    "statements_rejected": "Statements refused before they ran: wrong names or types, or a limit",
    "rows_fetched": "Rows sent to clients",
    "clients_vanished": "Sessions whose connection ended while a statement ran",
}
_CALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
_STATEMENT_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0)
LIMITS_MET = (
    *("connections", "connections_per_address", "login", "tls", "protocol", "frame", "timeout", "call", "http"),
    *("sessions", "sessions_per_user", "sessions_per_address", "operations_per_session", "concurrent_operations"),
    *("operations_per_user", "operations_per_address"),
    *("query_seconds", "queue", "draining", "restriction", "memory", "web_streams"),
)
"""Labels of refusals. Each label exists from the start, with the value 0."""


class Metrics:
    """Metrics of one server, in a registry of its own. Every method may be called from many threads."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"sharkpy_{name}", text, registry=self._registry) for name, text in _COUNTERS.items()
        }
        refused = ("sharkpy_refused", "What met a limit or was not let in")
        self._refused = Counter(*refused, ["limit"], registry=self._registry)
        for limit in LIMITS_MET:
            self._refused.labels(limit)
        calls = ("sharkpy_call_seconds", "Time that calls took to be answered")
        self._calls = Histogram(*calls, ["call"], buckets=_CALL_SECONDS, registry=self._registry)
        self._calls_by_name: dict[str, Histogram] = {}
        statements = ("sharkpy_statement_seconds", "Time that statements took until their first rows, or their end")
        self._statements = Histogram(*statements, ["state"], buckets=_STATEMENT_SECONDS, registry=self._registry)
        for state in ENDED:
            self._statements.labels(STATE_NAMES[state])

    def count(self, name: str, number: int = 1) -> None:
        self._counters[name].inc(number)

    def refuse(self, limit: str) -> None:
        self._refused.labels(limit).inc()

    def call(self, name: str, seconds: float) -> None:
        seen = self._calls_by_name.get(name)
        if seen is None:
            seen = self._calls_by_name[name] = self._calls.labels(name)
        seen.observe(seconds)

    def statement(self, operation: Operation) -> None:
        self._statements.labels(STATE_NAMES[operation.state]).observe(operation.seconds)

    def register(self, collector: Collector) -> None:
        """Add the metrics of `collector`, which are read at each request."""
        self._registry.register(collector)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class StateCollector(Collector):
    def __init__(
        self, engine_session: SharkContext, sessions: OpenSessions, memory: MemoryWatch, heartbeat: Heartbeat
    ) -> None:
        self._engine_session = engine_session
        self._sessions = sessions
        self._memory = memory
        self._heartbeat = heartbeat

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
                self._heartbeat.longest_pause,
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


_STREAM_COUNTERS: tuple[tuple[str, str, Callable[[ContinuousStatus], float | None]], ...] = (
    ("epochs", "Epochs that this process has written", lambda one: one.epochs),
    ("rows", "Rows of those epochs", lambda one: one.rows),
    ("bad_rows", "Records of those epochs that did not parse", lambda one: one.bad_rows),
    ("failures", "Epochs of this process that have failed", lambda one: one.failures),
    ("busy_seconds", "Time that epochs took", lambda one: one.seconds),
)
_STREAM_GAUGES: tuple[tuple[str, str, Callable[[ContinuousStatus], float | None]], ...] = (
    ("epoch", "Number of the last epoch that counts", lambda one: one.epoch),
    ("lag", "Items of its streams that were found and not read yet", lambda one: one.lag),
    ("is_running", "1 for a table whose epochs run", lambda one: one.state == QueryState.RUNNING.value),
    ("has_fault", "1 for a table that an error stopped, or keeps waiting", lambda one: one.fault is not None),
)


class StreamCollector(Collector):
    """Metrics by continuous table. The figures of epochs are from this process only."""

    def __init__(self, engine_session: SharkContext) -> None:
        self._engine_session = engine_session

    def describe(self) -> Iterator[Metric]:
        """Return no names: they are not looked up when this is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        session = self._engine_session
        try:
            statuses = list(continuous_statuses(session.streams, session.catalog))
        except SharkError:
            # A catalog that cannot be read must not hide the other metrics.
            statuses = []
        for name, text, value in _STREAM_COUNTERS:
            counter = CounterMetricFamily(f"sharkpy_stream_{name}", text, labels=["table"])
            yield _filled(counter, statuses, value)
        for name, text, value in _STREAM_GAUGES:
            yield _filled(GaugeMetricFamily(f"sharkpy_stream_{name}", text, labels=["table"]), statuses, value)


def _filled(
    family: CounterMetricFamily | GaugeMetricFamily,
    statuses: list[ContinuousStatus],
    value: Callable[[ContinuousStatus], float | None],
) -> Metric:
    for one in statuses:
        if (figure := value(one)) is not None:
            family.add_metric([one.name], figure)
    return family
