"""Cache of a session's query plans, valid while the tables and names that they depend on are unchanged."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.catalog.function_catalog import CatalogFunction, ModelFunction
    from sharkpy.catalog.model import Database, Table
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.catalog.table_history import Change, VersionPoint
    from sharkpy.execution.tables.snapshot import QuerySnapshot, TableState
    from sharkpy.physical.placement import PlacedPlan
    from sharkpy.physical.stage import Stage
    from sharkpy.plan.arrow_data import GivenRows
    from sharkpy.plan.logical import LogicalPlan
    from sharkpy.sql.context import CatalogReader

_T = TypeVar("_T")
Given = Callable[[str, bool], "GivenRows | None"]
"""Function from a name, and whether it is a registered name or a variable's, to its rows."""
MOST_PLANS = 128
NO_TABLES: Mapping[tuple[str, str], Table] = {}
_MOST_TEXT = 100_000
"""Longest text that is cached; longer ones are generated and do not recur."""


class CatalogLookups:
    """Catalog for one binding; it records its lookups and their results."""

    def __init__(self, catalog: CatalogReader, given: Given | None = None) -> None:
        """`given` finds rows of the calling program."""
        self._catalog = catalog
        self._given = given
        self._found_given: dict[tuple[str, bool], GivenRows] = {}
        self._tables: dict[tuple[str, str], Table | None] = {}
        self._files: dict[tuple[str, str, FileOptions], Table | None] = {}
        self._databases: dict[str, Database] = {}
        self._resources: dict[str, tuple[str, ...]] = {}
        self._functions: dict[tuple[str, str], CatalogFunction | None] = {}

    def table(self, database: str, name: str) -> Table:
        # If there is no table, the query may read files of that name.
        self._tables[database, name] = None
        found = self._catalog.table(database, name)
        self._tables[database, name] = found
        return found

    def find_table(self, database: str, name: str) -> Table | None:
        found = self._catalog.find_table(database, name)
        self._tables[database, name] = found
        return found

    def find_entry(self, database: str, name: str) -> Table | None:
        found = self._catalog.find_entry(database, name)
        self._tables[database, name] = found
        return found

    def at(self, table: Table, point: VersionPoint) -> Table:
        return self._catalog.at(table, point)

    def changes(self, table: Table, first: int, last: int) -> list[Change]:
        return self._catalog.changes(table, first, last)

    def lake_facts(self, table: Table, what: str) -> SystemTable:
        return self._catalog.lake_facts(table, what)

    def source_of(self, stream: Table) -> Table | None:
        found = self._catalog.source_of(stream)
        if found is not None:
            self._tables[found.database, found.name] = found
        return found

    def system_table(self, database: str, name: str) -> SystemTable | None:
        found = self._catalog.system_table(database, name)
        if found is not None:
            self._tables[database, name] = None
        return found

    def given_rows(self, name: str, *, is_registered: bool) -> GivenRows | None:
        found = None if self._given is None else self._given(name, is_registered)
        if found is not None:
            self._found_given[name, is_registered] = found
        return found

    def forget_given(self) -> dict[tuple[str, bool], GivenRows]:
        """Stop finding rows of the program and return those found. They may differ next time."""
        self._given = None
        return self._found_given

    def file_table(self, word: str, place: str, given: FileOptions = NO_OPTIONS) -> Table | None:
        found = self._catalog.file_table(word, place, given)
        self._files[word, place, given] = found
        return found

    def database(self, name: str) -> Database:
        found = self._catalog.database(name)
        self._databases[name] = found
        return found

    def find_function(self, database: str, name: str) -> CatalogFunction | None:
        found = self._catalog.find_function(database, name)
        self._functions[database, name] = found
        return found

    def function_place(self, database: str, name: str) -> str | None:
        return self._catalog.function_place(database, name)

    def table_names(self, database: str) -> Iterable[str]:
        return self._catalog.table_names(database)

    def model_function(self, table: Table, method: str) -> ModelFunction:
        return self._catalog.model_function(table, method)

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        found = self._catalog.resource_paths(kind)
        self._resources[kind] = found
        return found

    def named_schema_text(self, location: str) -> str:
        return self._catalog.named_schema_text(location)

    def check_path(self, path: str) -> None:
        self._catalog.check_path(path)

    def is_current(self, catalog: CatalogReader, read: Mapping[tuple[str, str], Table] = NO_TABLES) -> bool:
        """True if `catalog` gives the same results now. An unchanged table is the same object.

        Tables in `read`, by database and name, were just read and are not looked up. `catalog` may be another
        session's, with other temporary tables.
        """
        names_hold = all((read.get(key) or catalog.find_table(*key)) is found for key, found in self._tables.items())
        names_hold = names_hold and all(catalog.find_function(*key) is found for key, found in self._functions.items())
        resources_hold = all(catalog.resource_paths(kind) == found for kind, found in self._resources.items())
        files_hold = all(_file_table(catalog, *key) is found for key, found in self._files.items())
        if not (names_hold and resources_hold and files_hold):
            return False
        return all(catalog.database(name) == found for name, found in self._databases.items())


def _file_table(catalog: CatalogReader, word: str, place: str, given: FileOptions) -> Table | None:
    """Return the table of files, or None if they are gone or may not be read. Binding again raises the error."""
    with contextlib.suppress(SharkError):
        return catalog.file_table(word, place, given)
    return None


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """Query ready to run. `stage` is its only stage, lowered, if it has no exchange.

    The plan depends on `lookups` (names in the catalog) and on `tables` (the versions or files of tables that planning
    read). `tables` are some of the tables that the query `reads`.
    """

    schema: Schema
    label: str
    physical: PlacedPlan
    stage: Stage | None
    lookups: CatalogLookups = field(repr=False)
    tables: tuple[tuple[Table, TableState], ...] = field(repr=False)
    reads: tuple[Table, ...] = field(repr=False)

    def is_current(self, snapshot: QuerySnapshot) -> bool:
        """True if planning now over `snapshot` would see the same tables and names."""
        if not self.lookups.is_current(snapshot.catalog):
            return False
        snapshot.capture(self.reads)
        return all(snapshot.is_state(table, state) for table, state in self.tables)


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """Query with resolved names and types; valid for any rows of its tables while `lookups` hold."""

    plan: LogicalPlan
    lookups: CatalogLookups


class PlanCache:
    """LRU cache of bound and physical plans; thread-safe.

    A key has all inputs of planning except catalog and tables: the text, the database, the settings. A bound plan stays
    valid if a table's rows change.
    """

    def __init__(self, limit: int = MOST_PLANS) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._plans: OrderedDict[Hashable, PlannedQuery] = OrderedDict()
        self._bound: OrderedDict[Hashable, BoundQuery] = OrderedDict()

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, key: Hashable, snapshot: QuerySnapshot) -> PlannedQuery | None:
        """Return the plan for `key`, or None; drop an outdated one."""
        with self._lock:
            known = self._plans.get(key)
        if known is None:
            return None
        is_current = known.is_current(snapshot)
        with self._lock:
            if self._plans.get(key) is known:
                if is_current:
                    self._plans.move_to_end(key)
                else:
                    del self._plans[key]
        return known if is_current else None

    def find_bound(self, key: Hashable, catalog: CatalogReader) -> BoundQuery | None:
        """Return the bound plan for `key`, or None; drop an outdated one."""
        with self._lock:
            known = self._bound.get(key)
        if known is None or known.lookups.is_current(catalog):
            return known
        with self._lock:
            if self._bound.get(key) is known:
                del self._bound[key]
        return None

    def keep(self, key: Hashable, text: str, planned: PlannedQuery, plan: LogicalPlan) -> None:
        """Store the plans of a query; `plan` is its bound form."""
        lowered = 0 if planned.stage is None else len(planned.stage.program.sql)
        if max(len(text), lowered) > _MOST_TEXT:
            # A short text may have a long constant in its plan.
            return
        with self._lock:
            _put_last(self._plans, key, planned, self._limit)
            _put_last(self._bound, key, BoundQuery(plan, planned.lookups), self._limit)

    def drop_table(self, table: Table) -> None:
        """Drop the plans over `table`, which hold its blocks in memory."""
        with self._lock:
            for key, planned in list(self._plans.items()):
                if any(known.table_id == table.table_id for known, _ in planned.tables):
                    del self._plans[key]

    def clear(self) -> None:
        with self._lock:
            self._plans.clear()
            self._bound.clear()


def _put_last(kept: OrderedDict[Hashable, _T], key: Hashable, value: _T, limit: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > limit:
        kept.popitem(last=False)
