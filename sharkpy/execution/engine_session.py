"""The seam between a session and whatever works for it: commands, queries, machine learning, EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.execution.commands.result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.queries.admission import Admission
    from sharkpy.execution.queries.plan_observers import PlanObservers
    from sharkpy.execution.restrictions import Restrictions
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.cache import TableCache
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.plan.commands import Command


class EngineSession(Protocol):
    """A session as seen from below: settings, names, the engine's parts, and the statement that a thread works for.

    1. `conf`, `current_database` and `restrictions` are the session's own; `catalog` adds its temporary objects.
    2. `engine`, `table_cache` and `admission` are those of all sessions of the engine, made when first asked for.
    3. Queries run by the functions of `execution.queries`, which take the session as their first argument.
    4. ExecutionError (08003) from `check_open`, `engine` and `table_cache` once the session is stopped.
    """

    current_database: str

    @property
    def conf(self) -> Conf: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def restrictions(self) -> Restrictions: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def known_engine(self) -> Engine | None:
        """The engine, where there is one by now."""

    @property
    def table_cache(self) -> TableCache: ...

    @property
    def admission(self) -> Admission: ...

    @property
    def pool(self) -> Pool:
        """The share of the engine that the session's queries run in."""

    @property
    def observers(self) -> PlanObservers: ...

    def check_open(self) -> None: ...

    def snapshot(self) -> QuerySnapshot:
        """A view of the tables, each as it is when a query of the view first looks at it."""

    def forget_plans(self, table: Table) -> None:
        """Queries of `table` are planned anew: other facts are known of it."""

    def run_command(self, command: Command, snapshot: QuerySnapshot) -> CommandResult:
        """Carry out a command of any room, under the snapshot of its statement."""

    def as_statement(self) -> AbstractContextManager[Statement]:
        """One statement around the work of this thread, or a part of the one that the thread works for already."""

    def working(self) -> AbstractContextManager[None]:
        """As `as_statement`, but within anything else that can be cancelled too."""

    def with_settings(self, values: Mapping[str, str]) -> Self:
        """The same session under other settings: changes of anything but settings are changes of this one."""
