"""Seam between a session and the code that works for it: commands, queries, machine learning, EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.execution.commands.command_result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.queries.admission import Admission
    from sharkpy.execution.queries.plan_observers import PlanObservers
    from sharkpy.execution.restrictions import Restrictions
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.execution.tables.table_cache import TableCache
    from sharkpy.plan.commands import Command


class EngineSession(Protocol):
    """Session as seen from the rooms below it: settings, names, the engine's parts, and the statement that a thread
    works for.

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
        """Engine, if it was needed so far; else None."""

    @property
    def table_cache(self) -> TableCache: ...

    @property
    def admission(self) -> Admission: ...

    @property
    def pool(self) -> Pool:
        """Pool of the session's queries: its share of the engine."""

    @property
    def observers(self) -> PlanObservers: ...

    def check_open(self) -> None: ...

    def snapshot(self) -> QuerySnapshot:
        """Snapshot of the tables, each in its state when a query of the snapshot first reads it."""

    def forget_plans(self, table: Table) -> None:
        """Drop the plans of queries over `table`, whose facts have changed."""

    def run_command(self, command: Command, snapshot: QuerySnapshot) -> CommandResult:
        """Carry out a command of any room, under the snapshot of its statement."""

    def as_statement(self) -> AbstractContextManager[Statement]:
        """Run the body as one statement, or as a part of the one that this thread works for."""

    def working(self) -> AbstractContextManager[None]:
        """Run the body as a statement, or as a part of anything cancellable that this thread works for."""

    def with_settings(self, values: Mapping[str, str]) -> Self:
        """View of the session under other settings; other changes apply to the session too."""
