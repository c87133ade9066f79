"""Seam between a session and the code that works for it: commands, queries, machine learning, EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.statement_record import StatementRecord
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

DEFAULT_STATEMENTS = 100
"""Statements that the history gives where nobody says how many."""


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

    def as_statement(self, text: str | None = None) -> AbstractContextManager[Statement]:
        """Run the body as one statement, or as a part of the one that this thread works for.

        It is in the history under `text`, if one is given.
        """

    def working(self, text: str | None = None) -> AbstractContextManager[None]:
        """Run the body as a statement, or as a part of anything cancellable that this thread works for."""

    def history(
        self,
        limit: int | None = DEFAULT_STATEMENTS,
        *,
        like: str | None = None,
        user: str | None = None,
        query_id: str | None = None,
    ) -> list[StatementRecord]:
        """Statements that run or have ended, newest first, as far as the session may see them.

        `like`: a pattern of SHOW for the whole text; `user`: those of one user; `query_id`: the one with this id.
        """

    def with_settings(self, values: Mapping[str, str]) -> Self:
        """View of the session under other settings; other changes apply to the session too."""
