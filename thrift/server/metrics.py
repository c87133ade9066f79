"""Counters and histograms of a server, in Prometheus' format."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.registry import Collector

from sharkpy.thrift.operation import ENDED, STATE_NAMES, Operation

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
    *("query_seconds", "queue", "draining", "restriction", "memory"),
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
