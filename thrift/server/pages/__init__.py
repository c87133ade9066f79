"""Pages of the server for browsers and monitors: a table with a function that makes each page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from sharkpy.thrift.server_pages import (
    HTML,
    OPERATIONS,
    QUERIES,
    PageContent,
    PageRequest,
    health_page,
    metrics_page,
    operation_page,
    queries_page,
    query_page,
)
from sharkpy.thrift.transport.service import PageAnswer

if TYPE_CHECKING:
    from sharkpy.thrift.server import ServerParts

__all__ = ["PAGES", "Page", "answer_page"]


@dataclass(frozen=True, slots=True)
class Page:
    """Row of the table: a page's content type, the function that makes it (None: no page has the name), and its access.

    With `needs_login` the reader must log in if the server's clients must, and `request.user` is the reader's name.
    Every page that shows data or statements needs it, unless its path contains a secret.
    """

    content_type: str
    make: Callable[[PageRequest], PageContent | None]
    needs_login: bool = True


PAGES: Mapping[str, Page] = {
    "/healthz": Page("text/plain", health_page, needs_login=False),  # load balancers have no password
    "/metrics": Page(CONTENT_TYPE_PLAIN_0_0_4, metrics_page, needs_login=False),  # figures, names of tables
    f"{OPERATIONS}{{name}}": Page(HTML, operation_page, needs_login=False),  # the name is a secret
    QUERIES: Page(HTML, queries_page),
    f"{QUERIES}/{{name}}": Page(HTML, query_page),
}
"""Pages by path. `{name}`, as the last part of a path, stands for any text without a slash."""
_NAME = "{name}"
_NOT_FOUND = PageAnswer(HTTPStatus.NOT_FOUND, "text/plain", f"there are {', '.join(PAGES)}\n".encode())


def answer_page(path: str, parts: ServerParts, log_in: Callable[[], str]) -> PageAnswer:
    """Answer a request for a path. `log_in` returns the reader's name, or raises."""
    found = _find(path)
    if found is None:
        return _NOT_FOUND
    page, name = found
    content = page.make(PageRequest(parts, name, log_in() if page.needs_login else ""))
    return _NOT_FOUND if content is None else PageAnswer(content.status, page.content_type, content.body)


def _find(path: str) -> tuple[Page, str] | None:
    """Return the row of a path and the name in the path, which is "" if the path is a row itself."""
    if path in PAGES and not path.endswith(_NAME):
        return PAGES[path], ""
    folder, _, name = path.removesuffix("/").rpartition("/")
    page = PAGES.get(f"{folder}/{_NAME}")
    return (page, name) if page is not None and name else None
