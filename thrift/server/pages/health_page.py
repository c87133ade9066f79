"""Health of the server for load balancers: whether it accepts new work."""

from __future__ import annotations

from http import HTTPStatus

from sharkpy.thrift.pages.page_request import PageContent, PageRequest


def health_page(request: PageRequest) -> PageContent:
    if request.parts.guard.is_draining:
        return PageContent(b"the server is stopping\n", HTTPStatus.SERVICE_UNAVAILABLE)
    return PageContent(b"ok\n")
