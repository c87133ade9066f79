"""Counters and gauges of the server, in Prometheus' text format."""

from __future__ import annotations

from sharkpy.thrift.pages.page_request import PageContent, PageRequest


def metrics_page(request: PageRequest) -> PageContent:
    return PageContent(request.parts.metrics.exposition())
