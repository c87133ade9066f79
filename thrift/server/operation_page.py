"""A page about one operation, for a browser: how far it is, its text and its log. It loads nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING

from sharkpy.thrift.operations import ENDED, STATE_NAMES, Operation

if TYPE_CHECKING:
    from sharkpy.thrift.sessions import ClientSession

PATH = "/operations/"
_LOG_LINES = 500
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}"
    "pre{background:#f4f4f4;padding:1em;white-space:pre-wrap;overflow-wrap:anywhere}"
    "td,th{text-align:left;padding:.2em 1.5em .2em 0;border-bottom:1px solid #ddd}"
    "progress{width:100%}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"


def operation_page(session: ClientSession, operation: Operation) -> str:
    """Everything in it that a client wrote is escaped. While the operation runs, the browser asks again."""
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
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
        '<meta name="referrer" content="no-referrer">',
        "" if is_over else '<meta http-equiv="refresh" content="2">',
        f"<title>{escape(operation.query_id)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(operation.query_id)}</h1>",
        f'<progress max="1" value="{share:.3f}"></progress>',
        _table([], [[name, value] for name, value in facts.items()]),
        f"<h2>Statement</h2><pre>{escape(operation.text)}</pre>",
        f"<h2>Stages</h2>{_table(progress.headerNames, progress.rows)}",
        f"<h2>Log</h2><pre>{escape(chr(10).join(operation.log.last(_LOG_LINES)))}</pre>",
        "</body></html>\n",
    ]
    return "".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [("th", head)] * bool(head) + [("td", row) for row in rows]
    cells = ("".join(f"<{tag}>{escape(text)}</{tag}>" for text in line) for tag, line in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
