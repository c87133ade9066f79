"""Figures of a server, as a monitor reads them."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from sharkpy.thrift.metrics import Metrics


def figure(metrics: Metrics, name: str, **labels: str) -> float:
    """The value of one sample, by its whole name; 0 if there is none."""
    families = text_string_to_metric_families(metrics.exposition().decode())
    values = [one.value for family in families for one in family.samples if (one.name, one.labels) == (name, labels)]
    return sum(values)
