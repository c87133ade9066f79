"""State that the sessions of one engine share: catalog, engine, memory store, plans, and admission."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import settings, uri
from sharkpy.base.errors import CancelledError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.surroundings import Surroundings
from sharkpy.execution.engine_session import EngineSession, register_session, unregister_session
from sharkpy.execution.queries.plan_cache import PlanCache
from sharkpy.session.defaults import catalog_home, warehouse_location
from sharkpy.session.history import StatementHistory
from sharkpy.session.remote_storage import claimed

if TYPE_CHECKING:
    from sharkpy.catalog.statement_records import StatementRecord
    from sharkpy.execution.commands.writes.leftover_files import RemoteLeftovers
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.queries.admission import Admission
    from sharkpy.execution.spark.jvm_metastore import JvmMetastore
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.file_tables import FileTables
    from sharkpy.execution.tables.hidden_files import RetentionSweep
    from sharkpy.execution.tables.table_cache import TableCache
    from sharkpy.sources.lake.session_lakes import LakeFormats
    from sharkpy.streaming.scheduled_queries import NewSession
    from sharkpy.streaming.scheduler import StreamScheduler
    from sharkpy.streaming.sinks.program_sink import Console


class Member(EngineSession, Protocol):
    """Session of an engine, which ends with the engine."""

    def running_statements(self) -> list[StatementRecord]: ...

    def statements(self) -> list[Statement]: ...

    def kill(self, query_id: str, error: CancelledError) -> bool: ...

    def stop(self) -> None: ...


class SharedState:
    """Shared state of an engine's sessions. `connect` makes them with the first session, which owns them. Each part is
    made when it is first needed.

    `conf` is the owner's: memory, placement of files and the limits of the queue are the same for all sessions.
    """

    def __init__(self, conf: Conf) -> None:
        self.conf = conf
        self.initial_conf = conf.without_secrets()
        """Settings that new sessions begin with. Secrets remain with the owner: `access_to` decides which session uses
        them.
        """
        self.user = user_name(conf)
        """User of sessions that do not name one. It is stored here to spare a lookup for each statement."""
        self.metastore: JvmMetastore | None = None
        self._sweeps: list[RemoteLeftovers | RetentionSweep] = []
        self.catalog = self._open_catalog(warehouse_location(None, conf))
        self.plans = PlanCache()
        self.history = StatementHistory(conf, self.catalog.file_path, is_read_only=self.catalog.is_read_only)
        self.sessions: weakref.WeakSet[Member] = weakref.WeakSet()
        self.killers: set[Callable[[str, CancelledError], bool]] = set()
        """Functions that cancel statements: see `SessionBase.kill_first`."""
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._engine: Engine | None = None
        self._table_cache: TableCache | None = None
        self._admission: Admission | None = None
        self._streams: StreamScheduler | None = None
        self._console: Console | None = None
        self._file_tables: FileTables | None = None
        self._lakes: LakeFormats | None = None

    def _open_catalog(self, warehouse: str) -> Catalog:
        """Open a catalog over the warehouse's own store, or over a Hive metastore, which is called only when needed."""
        if self.conf.value(settings.METASTORE) == settings.EMBEDDED:
            return self._swept(claimed(Catalog(warehouse, home=catalog_home(warehouse, self.conf)), self.conf))
        if uri.is_remote(warehouse):
            hint = "name a local folder: the databases of the metastore have locations for their tables"
            raise UnsupportedError(
                f'the warehouse "{uri.redacted(warehouse)}" with a Hive metastore is not supported', hint=hint
            )
        from sharkpy.catalog.hive_metastore import HiveTables
        from sharkpy.execution.spark.jvm_metastore import JvmMetastore, metastore_place

        place = metastore_place(self.conf, warehouse)
        metastore = self.metastore = JvmMetastore(lambda: self.engine.jvm, place, self.conf)
        return self._swept(
            Catalog(warehouse, f"metastore-{place.digest}.sqlite", lambda file, _: HiveTables(file, metastore))
        )

    def _swept(self, catalog: Catalog) -> Catalog:
        """Remove leftovers of killed processes and return the catalog. Threads remove leftovers in remote storage, and
        versions whose retention is over.
        """
        catalog.surroundings = Surroundings(self.conf)
        if catalog.is_read_only:
            return catalog
        catalog.trash.empty(0)
        if catalog.has_earlier_versions():
            from sharkpy.execution.tables.hidden_files import RetentionSweep

            self._sweeps.append(RetentionSweep(catalog, self.conf))
        if catalog.unfinished.has_others:
            from sharkpy.execution.commands.writes.leftover_files import remove_local_leftovers

            if remote := remove_local_leftovers(catalog):
                from sharkpy.execution.commands.writes.leftover_files import RemoteLeftovers

                self._sweeps.append(RemoteLeftovers(catalog, self.conf, remote))
        for sweep in self._sweeps:
            sweep.start()
        return catalog

    @property
    def file_tables(self) -> FileTables:
        """Tables of files that queries name."""
        with self._lock:
            if self._file_tables is None:
                from sharkpy.execution.tables.file_tables import FileTables

                self._file_tables = FileTables(self.catalog.log)
            return self._file_tables

    @property
    def lakes(self) -> LakeFormats:
        """Formats of lake tables."""
        with self._lock:
            if self._lakes is None:
                from sharkpy.sources.lake.lake_format import LakeHome
                from sharkpy.sources.lake.session_lakes import LakeFormats

                catalog = self.catalog
                self._lakes = LakeFormats(LakeHome(catalog.state_dir, catalog.warehouse_dir, catalog.is_read_only))
        return self._lakes

    def new_name(self) -> str:
        """Return a session name that no other session has."""
        return f"session-{next(self._numbers)}"

    def join(self, session: Member) -> None:
        with self._lock:
            self.sessions.add(session)
            register_session(session)

    def members(self) -> list[Member]:
        with self._lock:
            return list(self.sessions)

    def running_statements(self) -> list[StatementRecord]:
        """Return records of the running statements of all sessions, each with its current progress."""
        return [one for session in self.members() for one in session.running_statements()]

    def statements(self) -> list[Statement]:
        """Return the statements of all sessions that have begun and not ended."""
        return [one for session in self.members() for one in session.statements()]

    def kill(self, query_id: str, error: CancelledError) -> bool:
        """Cancel the running statement with this id, of any session. Return False if there is none."""
        return any(kill(query_id, error) for kill in (*list(self.killers), *(one.kill for one in self.members())))

    def leave(self, session: Member) -> None:
        unregister_session(session)
        with self._lock:
            self.sessions.discard(session)

    @property
    def engine(self) -> Engine:
        with self._lock:
            if self._engine is None:
                from sharkpy.execution.engine import Engine

                self._engine = Engine(self.conf, self.catalog.home)
            return self._engine

    @property
    def started_engine(self) -> Engine | None:
        """Engine, or None if it was not needed yet."""
        return self._engine

    @property
    def table_cache(self) -> TableCache:
        with self._lock:
            if self._table_cache is None:
                from sharkpy.execution.tables.table_cache import TableCache

                self._table_cache = TableCache(self, changed=self.plans.drop_table)
            return self._table_cache

    @property
    def admission(self) -> Admission:
        with self._lock:
            if self._admission is None:
                from sharkpy.execution.queries.admission import Admission

                self._admission = Admission(self.conf, lambda: self.engine.parallelism)
            return self._admission

    def streams(self, new_session: NewSession) -> StreamScheduler:
        """Return the scheduler of the engine's continuous queries. Their epochs run in sessions that `new_session`
        opens.
        """
        with self._lock:
            if self._streams is None:
                from sharkpy.streaming.scheduler import StreamScheduler

                self._streams = StreamScheduler(self.catalog, self.conf, new_session, lambda: self._console)
            return self._streams

    def take_console(self, console: Console) -> None:
        """Show the epochs of sinks TO CONSOLE by this function."""
        with self._lock:
            self._console = console
            if self._streams is not None:
                self._streams.wake()

    def stop_streams(self) -> None:
        """End the running epochs, before the sessions that they run in."""
        if self._streams is not None:
            self._streams.stop()

    def close(self) -> None:
        try:
            for sweep in self._sweeps:
                sweep.stop()
            if self._table_cache is not None:
                self._table_cache.close()
            if self.metastore is not None:
                self.metastore.close()
            if self._lakes is not None:
                self._lakes.close()
            if self._engine is not None:
                self._engine.stop()
        finally:
            self.history.close()
            self.catalog.close()
