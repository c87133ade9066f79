"""Pages of the server, for browsers and monitors: each a row of a table and a function that makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from sharkpy.thrift.pages.health_page import health_page
from sharkpy.thrift.pages.html import HTML
from sharkpy.thrift.pages.metrics_page import metrics_page
from sharkpy.thrift.pages.operation_page import OPERATIONS, operation_page
from sharkpy.thrift.pages.page_request import PageContent, PageRequest
from sharkpy.thrift.pages.queries_page import QUERIES, queries_page, query_page
from sharkpy.thrift.transport.client import PageAnswer

if TYPE_CHECKING:
    from sharkpy.thrift.server_parts import ServerParts

__all__ = ["PAGES", "Page", "answer_page"]


@dataclass(frozen=True, slots=True)
class Page:
    """Row of the table: a page's content type, how it is made (None: there is none of that name), who sees it.

    With `needs_login` the reader gives a name and a password wherever the server's clients do, and `request.user` tells
    who it is: a must for whatever shows data or statements, unless the path itself has a secret.
    """

    content_type: str
    make: Callable[[PageRequest], PageContent | None]
    needs_login: bool = True


PAGES: Mapping[str, Page] = {
    "/healthz": Page("text/plain", health_page, needs_login=False),  # balancers have no password
    "/metrics": Page(CONTENT_TYPE_PLAIN_0_0_4, metrics_page, needs_login=False),  # figures alone, and no name
    f"{OPERATIONS}{{name}}": Page(HTML, operation_page, needs_login=False),  # the name is a secret
    QUERIES: Page(HTML, queries_page),
    f"{QUERIES}/{{name}}": Page(HTML, query_page),
}
"""Pages by path; `{name}`, as the last part of one, stands for any text without a slash."""
_NAME = "{name}"
_NOT_FOUND = PageAnswer(HTTPStatus.NOT_FOUND, "text/plain", f"there are {', '.join(PAGES)}\n".encode())


def answer_page(path: str, parts: ServerParts, log_in: Callable[[], str]) -> PageAnswer:
    """Answer a reader who asks for a path. `log_in` gives the reader's name, or raises."""
    found = _find(path)
    if found is None:
        return _NOT_FOUND
    page, name = found
    content = page.make(PageRequest(parts, name, log_in() if page.needs_login else ""))
    return _NOT_FOUND if content is None else PageAnswer(content.status, page.content_type, content.body)


def _find(path: str) -> tuple[Page, str] | None:
    """The row of a path, with the name in it; "" in a path that is a row itself."""
    if path in PAGES and not path.endswith(_NAME):
        return PAGES[path], ""
    folder, _, name = path.removesuffix("/").rpartition("/")
    page = PAGES.get(f"{folder}/{_NAME}")
    return (page, name) if page is not None and name else None
