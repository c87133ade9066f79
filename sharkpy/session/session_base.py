"""Session as the packages below see it: `EngineSession` over the state that an engine's sessions share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Self

from sharkpy.base import settings
from sharkpy.base.errors import BindError, CancelledError
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import redacted
from sharkpy.base.settings import Conf
from sharkpy.catalog.catalog import Catalog
from sharkpy.execution.engine_session import DEFAULT_STATEMENTS
from sharkpy.execution.restrictions import UNRESTRICTED, Restrictions
from sharkpy.execution.statement import PlanObservers
from sharkpy.session.running_statements import PYTHON, RunningStatements, StatementTitle, new_query_id
from sharkpy.session.shared_state import SharedState

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.statement_records import StatementRecord
    from sharkpy.execution.commands.command_result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.queries.admission import Admission
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.statement import PlanObservers, Statement
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.execution.tables.table_cache import TableCache
    from sharkpy.plan.commands import Command
    from sharkpy.session.history import StatementHistory
    from sharkpy.streaming.scheduler import StreamScheduler


class SessionBase:
    """Settings and state of a session, for the code that works for it: see EngineSession."""

    def __init__(self, conf: Conf, state: SessionState) -> None:
        self.conf = conf
        self._state = state
        self._shared = state.shared
        self._statements = state.statements

    @property
    def is_stopped(self) -> bool:
        return self._statements.is_stopped

    @property
    def num_running(self) -> int:
        """Number of statements that have begun and not ended."""
        return self._statements.num_running

    @property
    def engine(self) -> Engine:
        self._statements.check_open()
        return self._shared.engine

    @property
    def started_engine(self) -> Engine | None:
        """Engine, or None if it was not needed yet."""
        return self._shared.started_engine

    @property
    def table_cache(self) -> TableCache:
        self._statements.check_open()
        return self._shared.table_cache

    @property
    def catalog(self) -> Catalog:
        return self._state.catalog

    @property
    def current_database(self) -> str:
        return self._state.current_database

    @current_database.setter
    def current_database(self, name: str) -> None:
        self._state.current_database = name

    @property
    def restrictions(self) -> Restrictions:
        return self._state.restrictions

    @restrictions.setter
    def restrictions(self, restrictions: Restrictions) -> None:
        self._state.restrictions = restrictions
        self.catalog.gate = restrictions.gate

    @property
    def observers(self) -> PlanObservers:
        return self._state.observers

    @property
    def pool(self) -> Pool:
        """Pool of the session: its share of the engine."""
        from sharkpy.execution.spark.pools import Pool

        return Pool(self.conf.value(settings.POOL) or self._state.name, self.conf.value(settings.POOL_WEIGHT))

    @property
    def admission(self) -> Admission:
        """Admission of the engine's queries."""
        return self._shared.admission

    @property
    def streams(self) -> StreamScheduler:
        """Scheduler of the engine's continuous queries."""
        from sharkpy.session.connect import open_stream_session

        self._statements.check_open()
        return self._shared.streams(partial(open_stream_session, self._shared))

    def check_open(self) -> None:
        self._statements.check_open()

    def snapshot(self) -> QuerySnapshot:
        from sharkpy.execution.queries.write_query import write_query_table
        from sharkpy.execution.tables.snapshot import QuerySnapshot

        compute = partial(write_query_table, self)
        return QuerySnapshot(self.catalog, self.table_cache, self.conf, compute, self._give_stream_rows)

    def _give_stream_rows(self, stream: Table, snapshot: QuerySnapshot) -> None:
        self.streams.readers.give_now(stream, snapshot)

    def run_command(self, command: Command, snapshot: QuerySnapshot) -> CommandResult:
        from sharkpy.session.run_command import run_command

        return run_command(command, self, snapshot)

    def forget_plans(self, table: Table) -> None:
        self._shared.plans.drop_table(table)

    def working(self, text: str | None = None) -> contextlib.AbstractContextManager[None]:
        """Run the body as a statement of the session, or as a part of the statement that this thread works for.

        The history shows it as `text`, if that is given.
        """
        return self._statements.working(self._timeout, self._work_title(text))

    def as_statement(self, text: str | None = None) -> contextlib.AbstractContextManager[Statement]:
        """Run the body as one statement, which `cancel` and the time limit end, or as a part of the statement that the
        thread works for.
        """
        return self._statements.as_statement(self._timeout, self._work_title(text))

    def _work_title(self, text: str | None) -> StatementTitle | None:
        return None if text is None else self._title(text, PYTHON)

    def _title(self, text: str, kind: str = "", query_id: str = "") -> StatementTitle:
        tag = redacted(self.conf.value(settings.QUERY_TAG))
        return StatementTitle(query_id or new_query_id(), redacted(text), self._user, kind, tag)

    @property
    def _user(self) -> str:
        return self.conf.value(settings.USER) or self._shared.user

    @property
    def _timeout(self) -> float:
        return self.conf.value(settings.QUERY_TIMEOUT)

    def with_settings(self, values: Mapping[str, str]) -> Self:
        """Return a view of the session under other settings, for one statement. Other changes apply to the session."""
        conf = self.conf.copy()
        for key, value in values.items():
            conf.set(key, value)
        return type(self)(conf, self._state)

    def history(
        self,
        limit: int | None = DEFAULT_STATEMENTS,
        *,
        like: str | None = None,
        user: str | None = None,
        query_id: str | None = None,
    ) -> list[StatementRecord]:
        """Return records of the statements of all sessions, with running ones, newest first. `limit` None returns all.

        `like`: a pattern of SHOW that the whole text matches; `user`: only the statements of this user; `query_id`:
        only the statement with this id.
        """
        if self.seen_user is not None:
            if user not in (None, self.seen_user):
                return []
            user = self.seen_user
        running, history = self._shared.running_statements(), self._shared.history
        if query_id is None:
            return history.newest(running, limit, like, user)
        found = history.find(running, query_id)
        return [found] if found is not None and user in (None, found.user) else []

    @property
    def session_name(self) -> str:
        """Name of this session in records of statements."""
        return self._state.name

    @property
    def seen_user(self) -> str | None:
        """The user to whose statements the session is limited, or None."""
        return self._user if self.restrictions.sees_own_statements else None

    @property
    def statement_history(self) -> StatementHistory:
        """History of the statements of all sessions."""
        return self._shared.history

    def all_running_statements(self) -> list[StatementRecord]:
        """Return records of the running statements of all sessions, each with its current progress."""
        return self._shared.running_statements()

    def kill_queries(self, query_ids: Sequence[str]) -> None:
        """Cancel running statements of any session: see EngineSession."""
        for query_id in query_ids:
            found = self.history(query_id=query_id)
            if not found:
                hint = "SHOW QUERIES lists the recorded statements"
                raise BindError(f'no statement "{query_id}" is known', hint=hint, sqlstate="42704")
            if found[0].state.is_over:
                message = f'the statement "{query_id}" does not run any more: it is {found[0].state.value}'
                raise BindError(message, sqlstate="55000")
        for query_id in query_ids:
            self.kill_query(query_id, CancelledError(f"the query was cancelled by KILL QUERY of {self._user}"))

    def kill_query(self, query_id: str, error: CancelledError) -> bool:
        """Cancel the running statement with this id, of any session. Return False if there is none."""
        return self._shared.kill(query_id, error)

    def kill_first(self, kill: Callable[[str, CancelledError], bool]) -> Callable[[], None]:
        """Ask `kill` to cancel a statement before the sessions are asked, until the returned function is called.

        Owners of statements, such as the operations of a server, also free its rows.
        """
        killers = self._shared.killers
        killers.add(kill)
        return lambda: killers.discard(kill)

    def kill(self, query_id: str, error: CancelledError) -> bool:
        """Cancel the session's statement with this id. Return False if it has none."""
        return self._statements.kill(query_id, error)

    def running_statements(self) -> list[StatementRecord]:
        """Return records of the session's running statements, each with its current progress."""
        return self._statements.records()

    def statements(self) -> list[Statement]:
        """Return the statements of the session that have begun and not ended."""
        return self._statements.statements()

    def all_statements(self) -> list[Statement]:
        """Return the statements of all sessions that have begun and not ended."""
        return self._shared.statements()


@dataclass(slots=True, eq=False, weakref_slot=True)
class SessionState:
    """Names, statements and listeners of a session: the same under all its settings.

    `catalog` has the session's temporary objects in addition to the shared ones. If `is_owner`, the end of the session
    ends the engine and all its sessions.
    """

    shared: SharedState
    catalog: Catalog
    name: str
    is_owner: bool
    current_database: str = "default"
    restrictions: Restrictions = UNRESTRICTED
    observers: PlanObservers = field(default_factory=PlanObservers)
    registered: dict[str, object] = field(default_factory=dict)
    """Data of the program, by the name under which queries read it."""
    statements: RunningStatements = field(init=False)

    def __post_init__(self) -> None:
        self.statements = RunningStatements(self.name, self.shared.history)
