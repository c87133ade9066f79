"""Nodes of a long statement's trees, taken apart when it is bound.

Nodes know their parents, so a tree is full of reference cycles. Trees of a long statement would wait for the garbage
collector, which stops all threads during its search.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from sqlglot import exp

from sharkpy.sql.grammar.long_text import LONG_TEXT

_made: contextvars.ContextVar[list[exp.Expr] | None] = contextvars.ContextVar("sharkpy_made_nodes", default=None)


def note_node(node: exp.Expr) -> None:
    if (nodes := _made.get()) is not None:
        nodes.append(node)


@contextlib.contextmanager
def taken_apart(text: str) -> Iterator[None]:
    """Take apart the trees that are made inside for a long `text`, at the end. No code may use them after that."""
    if len(text) < LONG_TEXT:
        yield
        return
    nodes: list[exp.Expr] = []
    before = _made.set(nodes)
    try:
        yield
    finally:
        _made.reset(before)
        for node in nodes:
            node.parent = None
            node.args = {}
