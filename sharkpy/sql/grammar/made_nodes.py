"""Nodes of a long statement's trees, taken apart once it is bound.

A node knows its parent, so a tree is full of circles. Those of a long statement would wait for the collector of
garbage, which stops all threads while it looks through them.
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
    """Take the trees of `text` that are made inside apart at the end, if it is long: nobody has them any more."""
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
