"""Rows of a query, for tests that compare them."""

from __future__ import annotations

from typing import Any

import sharkpy


def rows(context: sharkpy.SharkContext, query: str) -> list[tuple[Any, ...]]:
    """Rows of the query as tuples, in the order of the answer."""
    return [tuple(row) for row in context.sql(query).fetchall()]
