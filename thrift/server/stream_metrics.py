"""Metrics of continuous tables, read at each request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sharkpy.base.errors import SharkError
from sharkpy.catalog.continuous_query import QueryState
from sharkpy.streaming.status import ContinuousStatus, continuous_statuses

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

_COUNTERS: tuple[tuple[str, str, Callable[[ContinuousStatus], float | None]], ...] = (
    ("epochs", "Epochs that this process has written", lambda one: one.epochs),
    ("rows", "Rows of those epochs", lambda one: one.rows),
    ("bad_rows", "Records of those epochs that did not parse", lambda one: one.bad_rows),
    ("failures", "Epochs of this process that have failed", lambda one: one.failures),
    ("busy_seconds", "Time that epochs took", lambda one: one.seconds),
)
_GAUGES: tuple[tuple[str, str, Callable[[ContinuousStatus], float | None]], ...] = (
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
        for name, text, value in _COUNTERS:
            counter = CounterMetricFamily(f"sharkpy_stream_{name}", text, labels=["table"])
            yield _filled(counter, statuses, value)
        for name, text, value in _GAUGES:
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
