"""Pages of the server for browsers and monitors. `PAGES`, at the end, is the table of them.

A reader of the list of queries sees the statements that SHOW QUERIES shows the user. If the server requires no login,
it cannot tell readers apart, and lists all statements. The HTML has only text and tables, which load nothing and run
nothing.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from sharkpy.base.records import dataclass
from sharkpy.catalog.statement_records import StatementRecord
from sharkpy.thrift.operation import ENDED, STATE_NAMES, Operation
from sharkpy.thrift.transport.service import PageAnswer

if TYPE_CHECKING:
    from sharkpy.thrift.server import ServerParts
    from sharkpy.thrift.sessions import ClientSession, OpenSessions

OPERATIONS = "/operations/"
_LOG_LINES = 500
_REFRESH_SECONDS = 2


def operation_page(request: PageRequest) -> PageContent | None:
    found = _find_operation(request.parts.sessions, request.name)
    return None if found is None else PageContent(_operation_document(*found))


def _find_operation(sessions: OpenSessions, key: str) -> tuple[ClientSession, Operation] | None:
    """Return the operation with this `page_key`, if a client has received the key, and its session."""
    for session in sessions.sessions():
        for operation in session.operations():
            known = operation.page_key
            if known and secrets.compare_digest(known.encode(), key.encode()):
                return session, operation
    return None


def _operation_document(session: ClientSession, operation: Operation) -> bytes:
    is_over = operation.state in ENDED
    progress = operation.stages.response(operation.started, operation.seconds, is_over=False)
    facts = {
        "state": STATE_NAMES[operation.state],
        "user": session.user,
        "seconds": f"{operation.seconds:.1f}",
        "rows read": f"{operation.stages.rows_read:,}",
        **({"error": str(operation.error)} if operation.error is not None else {}),
    }
    share = 1.0 if is_over else progress.progressedPercentage
    parts = [
        f'<progress max="1" value="{share:.3f}"></progress>',
        table([], [[name, value] for name, value in facts.items()]),
        section("Statement", preformatted(operation.text)),
        section("Stages", table(progress.headerNames, progress.rows)),
        section("Log", preformatted("\n".join(operation.log.last(_LOG_LINES)))),
    ]
    return document(operation.query_id, parts, refresh_seconds=0 if is_over else _REFRESH_SECONDS)


QUERIES = "/queries"
_MOST_LISTED = 200
_TEXT_LENGTH = 120
_HEAD = ("query", "state", "user", "session", "started (UTC)", "seconds", "rows read", "rows written", "statement")


def queries_page(request: PageRequest) -> PageContent:
    """Return a page of the reader's newest statements."""
    records = request.parts.engine_session.history(_MOST_LISTED, user=request.user or None)
    return PageContent(document("Queries", [table(_HEAD, [_query_row(one) for one in records])]))


def query_page(request: PageRequest) -> PageContent | None:
    """Return a page of one statement of the reader, by its id, or None if there is no such statement."""
    found = request.parts.engine_session.history(query_id=request.name, user=request.user or None)
    return PageContent(_query_document(found[0])) if found else None


def _query_row(record: StatementRecord) -> tuple[str | Link, ...]:
    text = " ".join(record.text[: 2 * _TEXT_LENGTH].split())
    return (
        Link(f"{QUERIES}/{record.query_id}", record.query_id),
        *(record.state.value, record.user, record.session, _started(record)),
        *(f"{record.seconds:.3f}", f"{record.rows_read:,}", f"{record.rows_written:,}"),
        text if len(text) <= _TEXT_LENGTH else f"{text[:_TEXT_LENGTH]}…",
    )


def _started(record: StatementRecord) -> str:
    return record.started.strftime("%Y-%m-%d %H:%M:%S")


def _query_document(record: StatementRecord) -> bytes:
    facts = {
        "state": record.state.value,
        "user": record.user,
        "session": record.session,
        "kind": record.kind,
        "started (UTC)": _started(record),
        "seconds": f"{record.seconds:.3f}, {record.queued_seconds:.3f} queued, {record.running_seconds:.3f} running",
        "rows read": f"{record.rows_read:,}",
        "rows written": f"{record.rows_written:,}",
        "progress": record.progress,
        "error": f"{record.error} [SQLSTATE {record.sqlstate}]" if record.sqlstate else "",
    }
    parts = [
        table((), [(name, value) for name, value in facts.items() if value]),
        section("Statement", preformatted(record.text)),
    ]
    if record.plan:
        parts.append(section("Plan", preformatted(record.plan)))
    return document(record.query_id, parts)


def health_page(request: PageRequest) -> PageContent:
    if request.parts.admission.is_draining:
        return PageContent(b"the server is stopping\n", HTTPStatus.SERVICE_UNAVAILABLE)
    return PageContent(b"ok\n")


def metrics_page(request: PageRequest) -> PageContent:
    return PageContent(request.parts.metrics.exposition())


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Request for a page: the server's parts, the `{name}` in its path, and the user who asks.

    `user` is "" if the page needs no login, or if the server requires no login.
    """

    parts: ServerParts
    name: str
    user: str


@dataclass(frozen=True, slots=True)
class PageContent:
    """Body of a page, and its HTTP status."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK


HTML = "text/html; charset=utf-8"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}"
    "pre{background:#f4f4f4;padding:1em;white-space:pre-wrap;overflow-wrap:anywhere}"
    "td,th{text-align:left;padding:.2em 1.5em .2em 0;border-bottom:1px solid #ddd}"
    "progress{width:100%}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
PAGE_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"


def document(title: str, parts: Sequence[str], *, refresh_seconds: int = 0) -> bytes:
    """Return a whole page with `title` as its heading. `refresh_seconds` makes the browser reload it; 0 does not.

    `parts` are HTML. Pass text from clients through one of the functions below, or through `escape`, first.
    """
    head = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(PAGE_POLICY)}">',
        '<meta name="referrer" content="no-referrer">',
        f'<meta http-equiv="refresh" content="{refresh_seconds}">' if refresh_seconds else "",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
    ]
    return "".join((*head, *parts, "</body></html>\n")).encode()


def section(title: str, content: str) -> str:
    """Return a part of a page with a heading; `content` is HTML."""
    return f"<h2>{escape(title)}</h2>{content}"


def preformatted(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


@dataclass(frozen=True, slots=True)
class Link:
    """Cell of a table that links to another page of the server."""

    path: str
    text: str


def table(head: Sequence[str], rows: Sequence[Sequence[str | Link]]) -> str:
    """Return a table of text cells, without a line of headings if `head` is empty."""
    lines: list[tuple[str, Sequence[str | Link]]] = [("th", head)] * bool(head) + [("td", row) for row in rows]
    cells = ("".join(f"<{tag}>{_table_cell(cell)}</{tag}>" for cell in line) for tag, line in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _table_cell(cell: str | Link) -> str:
    return f'<a href="{escape(quote(cell.path))}">{escape(cell.text)}</a>' if isinstance(cell, Link) else escape(cell)


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
    found = _find_page(path)
    if found is None:
        return _NOT_FOUND
    page, name = found
    content = page.make(PageRequest(parts, name, log_in() if page.needs_login else ""))
    return _NOT_FOUND if content is None else PageAnswer(content.status, page.content_type, content.body)


def _find_page(path: str) -> tuple[Page, str] | None:
    """Return the row of a path and the name in the path, which is "" if the path is a row itself."""
    if path in PAGES and not path.endswith(_NAME):
        return PAGES[path], ""
    folder, _, name = path.removesuffix("/").rpartition("/")
    page = PAGES.get(f"{folder}/{_NAME}")
    return (page, name) if page is not None and name else None
