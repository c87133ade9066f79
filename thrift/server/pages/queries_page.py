"""Pages of running and ended statements: a list, and one statement with its plan.

A reader sees the statements that SHOW QUERIES shows the user. If the server requires no login, it cannot tell readers
apart, and lists all statements.
"""

from __future__ import annotations

from sharkpy.catalog.statement_records import StatementRecord
from sharkpy.thrift.pages.html import Link, document, preformatted, section, table
from sharkpy.thrift.pages.page_request import PageContent, PageRequest

QUERIES = "/queries"
_MOST_LISTED = 200
_TEXT_LENGTH = 120
_HEAD = ("query", "state", "user", "session", "started (UTC)", "seconds", "rows read", "rows written", "statement")


def queries_page(request: PageRequest) -> PageContent:
    """Return a page of the reader's newest statements."""
    records = request.parts.engine_session.history(_MOST_LISTED, user=request.user or None)
    return PageContent(document("Queries", [table(_HEAD, [_row(one) for one in records])]))


def query_page(request: PageRequest) -> PageContent | None:
    """Return a page of one statement of the reader, by its id, or None if there is no such statement."""
    found = request.parts.engine_session.history(query_id=request.name, user=request.user or None)
    return PageContent(_document(found[0])) if found else None


def _row(record: StatementRecord) -> tuple[str | Link, ...]:
    text = " ".join(record.text[: 2 * _TEXT_LENGTH].split())
    return (
        Link(f"{QUERIES}/{record.query_id}", record.query_id),
        *(record.state.value, record.user, record.session, _started(record)),
        *(f"{record.seconds:.3f}", f"{record.rows_read:,}", f"{record.rows_written:,}"),
        text if len(text) <= _TEXT_LENGTH else f"{text[:_TEXT_LENGTH]}…",
    )


def _started(record: StatementRecord) -> str:
    return record.started.strftime("%Y-%m-%d %H:%M:%S")


def _document(record: StatementRecord) -> bytes:
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
