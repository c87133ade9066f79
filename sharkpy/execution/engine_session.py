"""Interface between a session and the code that works for it: commands, queries, machine learning, EXPLAIN.

The running sessions of this process are registered here. The newest one is the default of the learning library.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Self

from sharkpy.base.errors import ExecutionError

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.statement_records import StatementRecord
    from sharkpy.execution.commands.command_result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.queries.admission import Admission
    from sharkpy.execution.restrictions import Restrictions
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.statement import PlanObservers, Statement
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.execution.tables.table_cache import TableCache
    from sharkpy.plan.commands import Command

DEFAULT_STATEMENTS = 100
"""Default number of statements that the history returns."""


class EngineSession(Protocol):
    """Session as the rooms below it see it: settings, names, the engine's parts, and the thread's statement.

    1. `conf`, `current_database` and `restrictions` are the session's own; `catalog` adds its temporary objects.
    2. `engine`, `table_cache` and `admission` are shared by all sessions of the engine, and made on first use.
    3. The functions of `execution.queries` run queries; they take the session as first argument.
    4. After the session is stopped, `check_open`, `engine` and `table_cache` raise ExecutionError (08003).
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
    def started_engine(self) -> Engine | None:
        """The engine, or None if it was not needed yet."""

    @property
    def table_cache(self) -> TableCache: ...

    @property
    def admission(self) -> Admission: ...

    @property
    def pool(self) -> Pool:
        """Admission pool of the session's queries: its share of the engine."""

    @property
    def observers(self) -> PlanObservers: ...

    def check_open(self) -> None: ...

    def snapshot(self) -> QuerySnapshot:
        """Return a snapshot of the tables, each in its state when a query of the snapshot first reads it."""

    def forget_plans(self, table: Table) -> None:
        """Drop cached plans over `table`, after its statistics have changed."""

    def run_command(self, command: Command, snapshot: QuerySnapshot) -> CommandResult:
        """Execute a command of any room under its statement's snapshot."""

    def as_statement(self, text: str | None = None) -> AbstractContextManager[Statement]:
        """Run the body as one statement, or as a part of this thread's statement.

        If `text` is given, the statement is in the history under it.
        """

    def working(self, text: str | None = None) -> AbstractContextManager[None]:
        """Run the body as a statement, or as a part of this thread's cancellable work."""

    def history(
        self,
        limit: int | None = DEFAULT_STATEMENTS,
        *,
        like: str | None = None,
        user: str | None = None,
        query_id: str | None = None,
    ) -> list[StatementRecord]:
        """Return running and finished statements that the session may see, newest first.

        `like` is a SHOW pattern for the whole text. `user` selects one user's statements, `query_id` a single one.
        """

    def kill_queries(self, query_ids: Sequence[str]) -> None:
        """Cancel running statements of any session of the engine that the session may see.

        Raise BindError 42704 if an id is unknown, or 55000 if its statement is over. Then none is cancelled.
        """

    def with_settings(self, values: Mapping[str, str]) -> Self:
        """View of the session under other settings. Other changes apply to the session itself too."""


_lock = threading.Lock()
_running: list[weakref.ref[EngineSession]] = []


def register_session(session: EngineSession) -> None:
    with _lock:
        _running[:] = [ref for ref in _running if ref() is not None]
        _running.append(weakref.ref(session))


def unregister_session(session: EngineSession) -> None:
    with _lock:
        _running[:] = [ref for ref in _running if ref() not in (None, session)]


def newest_session() -> EngineSession:
    """Return the newest running session; raise ExecutionError if there is none."""
    with _lock:
        for ref in reversed(_running):
            if (session := ref()) is not None:
                return session
    raise ExecutionError("no session runs in this process", hint="call sharkpy.connect() first", sqlstate="08003")
