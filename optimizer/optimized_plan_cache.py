"""Cache of optimised plans of bound queries that are planned repeatedly because the rows of their tables change."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING

from sharkpy.base.records import dataclass
from sharkpy.plan.logical import LogicalPlan, Scan

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.optimizer.context import StatisticsProvider

_SEVERAL = 2
_FACTOR = 4
"""Ratio of row counts from which another order of joins may be better."""
_Sizes = tuple[tuple["Table", int | None], ...]


@dataclass(frozen=True, slots=True)
class _Optimized:
    query: weakref.ref[LogicalPlan]
    plan: LogicalPlan | None
    """None: the query itself. (If the entry held its own query, the query would never be freed.)"""
    sizes: _Sizes
    """Rows that the tables had; empty if their number does not matter."""


class OptimizedPlanCache:
    """Optimised plans, each kept as long as its bound query. Threads may share the object.

    An optimised plan is correct for any rows, since the optimizer uses row counts only as estimates. A plan that reads
    several tables is outdated once one of them has become much larger or smaller.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, Hashable], _Optimized] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, query: LogicalPlan, settings: Hashable, statistics: StatisticsProvider) -> LogicalPlan | None:
        """Return the optimised plan of this bound query object under the same settings, if there is one."""
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
    """Return the rows of the tables of a query with joins. The new rows of a stream do not predict later ones."""
    scans = [node for node in query.walk() if isinstance(node, Scan)]
    tables = dict.fromkeys(scan.table for scan in scans if not scan.table.is_stream)
    return tuple((table, statistics.num_rows(table)) for table in tables) if len(scans) >= _SEVERAL else ()


def _is_alike(one: int | None, other: int | None) -> bool:
    if one is None or other is None:
        return one is other
    return max(one, other) <= _FACTOR * min(one, other)
