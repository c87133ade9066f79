"""HTML of the server's pages: only text and tables, which load nothing and run nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

HTML = "text/html; charset=utf-8"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}"
    "pre{background:#f4f4f4;padding:1em;white-space:pre-wrap;overflow-wrap:anywhere}"
    "td,th{text-align:left;padding:.2em 1.5em .2em 0;border-bottom:1px solid #ddd}"
    "progress{width:100%}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"


def document(title: str, parts: Sequence[str], *, refresh_seconds: int = 0) -> bytes:
    """Return a whole page with `title` as its heading. `refresh_seconds` makes the browser reload it; 0 does not.

    `parts` are HTML. Pass text from clients through one of the functions below, or through `escape`, first.
    """
    head = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
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
    cells = ("".join(f"<{tag}>{_cell(cell)}</{tag}>" for cell in line) for tag, line in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _cell(cell: str | Link) -> str:
    return f'<a href="{escape(quote(cell.path))}">{escape(cell.text)}</a>' if isinstance(cell, Link) else escape(cell)
