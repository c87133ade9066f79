"""Cache of the tables that were looked up last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from sharkpy.catalog.model import Table
from sharkpy.sources.lake.lake_table import LakeTable

_MOST = 256


class KnownTables:
    """Tables of a format that were looked up last, and the entries of tables that were named by their locations. Safe
    to use from several threads.

    A table is cached by its entry and its state, and by the session that looked it up if that matters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[str, Hashable], tuple[Table, Hashable, LakeTable]] = OrderedDict()
        self._named: OrderedDict[str, Table] = OrderedDict()

    def find(self, entry: Table, state: Hashable, who: Hashable = None) -> LakeTable | None:
        """Cached table, if its entry and its state are unchanged."""
        with self._lock:
            known = self._made.get((entry.table_id, who))
        return known[2] if known is not None and known[0] is entry and known[1] == state else None

    def keep(self, entry: Table, state: Hashable, made: LakeTable, who: Hashable = None) -> LakeTable:
        with self._lock:
            self._made[entry.table_id, who] = entry, state, made
            self._made.move_to_end((entry.table_id, who))
            if len(self._made) > _MOST:
                self._made.popitem(last=False)
        return made

    def entry(self, place: str, make: Callable[[], Table]) -> Table:
        """Entry of a table that a query names by its location: the same object each time."""
        with self._lock:
            found = self._named.pop(place, None) or make()
            self._named[place] = found
            if len(self._named) > _MOST:
                self._named.popitem(last=False)
        return found
