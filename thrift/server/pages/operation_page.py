"""Page of one operation: its progress, its text and its log."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sharkpy.thrift.operation import ENDED, STATE_NAMES, Operation
from sharkpy.thrift.pages.html import document, preformatted, section, table
from sharkpy.thrift.pages.page_request import PageContent, PageRequest

if TYPE_CHECKING:
    from sharkpy.thrift.client_session import ClientSession
    from sharkpy.thrift.open_sessions import OpenSessions

OPERATIONS = "/operations/"
_LOG_LINES = 500
_REFRESH_SECONDS = 2


def operation_page(request: PageRequest) -> PageContent | None:
    found = _find(request.parts.sessions, request.name)
    return None if found is None else PageContent(_document(*found))


def _find(sessions: OpenSessions, key: str) -> tuple[ClientSession, Operation] | None:
    """Return the operation with this `page_key`, if a client has received the key, and its session."""
    for session in sessions.sessions():
        for operation in session.operations():
            known = operation.page_key
            if known and secrets.compare_digest(known.encode(), key.encode()):
                return session, operation
    return None


def _document(session: ClientSession, operation: Operation) -> bytes:
    is_over = operation.state in ENDED
    progress = operation.board.response(operation.started, operation.seconds, is_over=False)
    facts = {
        "state": STATE_NAMES[operation.state],
        "user": session.user,
        "seconds": f"{operation.seconds:.1f}",
        "rows read": f"{operation.board.rows_read:,}",
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
