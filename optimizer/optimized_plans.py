"""Optimised plans of bound queries that are planned again and again, because their tables have other rows each time."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.plan.logical import LogicalPlan, Scan

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.optimizer.statistics import StatisticsProvider

_SEVERAL = 2
_FACTOR = 4
"""So many times more or fewer rows may want another order of joins."""
_Sizes = tuple[tuple["Table", int | None], ...]


@dataclass(frozen=True, slots=True)
class _Optimized:
    query: weakref.ref[LogicalPlan]
    plan: LogicalPlan | None
    """None: the query as it is. (It would never end if its plan were kept, and that held it.)"""
    sizes: _Sizes
    """Rows that the tables had; () where their number does not matter."""


class OptimizedPlans:
    """Optimised plans, each kept as long as its bound query is. Safe to use from several threads.

    An optimised plan gives the same rows whatever rows the tables have: figures of these are estimates for the
    optimizer. It is outdated when a table of several has become much larger or smaller.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, Hashable], _Optimized] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, query: LogicalPlan, settings: Hashable, statistics: StatisticsProvider) -> LogicalPlan | None:
        """Optimised plan of that very bound query under the same settings."""
        known = self._known.get((id(query), settings))
        if known is None or known.query() is not query:
            return None
        is_current = all(_is_alike(rows, statistics.num_rows(table)) for table, rows in known.sizes)
        return (known.plan or query) if is_current else None

    def keep(self, query: LogicalPlan, settings: Hashable, plan: LogicalPlan, statistics: StatisticsProvider) -> None:
        kept = None if plan is query else plan
        if kept is not None and any(node is query for node in kept.walk()):
            return
        key = (id(query), settings)
        forget = self._known.pop
        reference = weakref.ref(query, lambda _: forget(key, None))
        self._known[key] = _Optimized(reference, kept, _sizes(query, statistics))


def _sizes(query: LogicalPlan, statistics: StatisticsProvider) -> _Sizes:
    """Rows of the tables of a query that joins some. What is new of a stream says nothing of what is new later."""
    scans = [node for node in query.walk() if isinstance(node, Scan)]
    tables = dict.fromkeys(scan.table for scan in scans if not scan.table.is_stream)
    return tuple((table, statistics.num_rows(table)) for table in tables) if len(scans) >= _SEVERAL else ()


def _is_alike(one: int | None, other: int | None) -> bool:
    if one is None or other is None:
        return one is other
    return max(one, other) <= _FACTOR * min(one, other)
