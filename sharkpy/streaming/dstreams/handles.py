"""`ctx.stream`: handles of streams and continuous tables for Python programs, and new streams."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError, ExecutionError, StatementTimeoutError
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState
from sharkpy.catalog.names import qualified
from sharkpy.catalog.stream_kinds import TO_PROGRAM
from sharkpy.plan.commands import ContinuousAction, ControlContinuous
from sharkpy.streaming.commands.control_continuous import control_continuous
from sharkpy.streaming.dstreams.dstream import DStream, quoted, run, text_literal
from sharkpy.streaming.dstreams.program_query import ProgramQuery, drop_stored_functions
from sharkpy.streaming.sinks.program_sink import Program
from sharkpy.streaming.status import ContinuousStatus, StreamStatus, status_of

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.ml.rdd.rows import Row
    from sharkpy.plan.expr import PythonValue
    from sharkpy.streaming.dstreams.dstream import Moment
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.program_sink import BatchFunction
    from sharkpy.streaming.sources.spool import StreamWriter

_CHECK_SECONDS = 0.005


def handle_of(table: Table, session: StreamSession) -> Stream | ContinuousTable:
    """Return the handle of a stream or continuous table. Raise BindError 42809 for another table."""
    if table.is_stream:
        return Stream(session, table)
    if table.continuous:
        return ContinuousTable(session, table)
    raise BindError(f"{table.qualified_name} is neither a stream nor a continuous table", sqlstate="42809")


class Stream(DStream):
    """Handle of a stream, which is a DStream of all its rows. See `SharkContext.stream`."""

    def __init__(self, session: StreamSession, table: Table) -> None:
        super().__init__(session, ProgramQuery.of_table(table))
        self._table = table

    def __repr__(self) -> str:
        return f"<Stream {self._table.qualified_name}>"

    def status(self) -> StreamStatus:
        """Return the stream's source, its end as far as it was seen, and the continuous tables that read it."""
        catalog, streams = self._session.catalog, self._session.streams
        queries = [one for one in catalog.streams.queries() if self._table.table_id in one.streams]
        readers = tuple(status_of(one, streams, catalog) for one in queries)
        kind = "" if self._table.stream is None else self._table.stream.kind
        known = (self._table.qualified_name, kind, streams.readers.seen(self._table.table_id), readers)
        looks = streams.readers.figures(self._table.table_id)
        return StreamStatus(*known) if looks is None else StreamStatus(*known, looks.looks, looks.requests)

    def push(self) -> StreamWriter:
        """Return a writer of rows for a stream FROM PROGRAM. Raise BindError 42809 for another stream."""
        from sharkpy.streaming.sources.spool import StreamWriter

        return StreamWriter(self._session, self._table)


class ContinuousTable:
    """Handle of a continuous table, insert or sink. See `SharkContext.stream`."""

    def __init__(self, session: StreamSession, table: Table) -> None:
        self._session = session
        self._table = table

    def __repr__(self) -> str:
        return f"<ContinuousTable {self._table.qualified_name}>"

    @property
    def query_id(self) -> str:
        """Id of the continuous query. A table that is dropped and made again has another id."""
        return self._table.continuous

    def status(self) -> ContinuousStatus:
        """Return the table's state, epoch, offsets, lag and rates. Raise BindError 42704 if it was dropped."""
        return status_of(self._query(), self._session.streams, self._session.catalog)

    def await_epoch(self, number: int, timeout: float | None = None) -> ContinuousStatus:
        """Wait until the epoch `number` is committed, and return the table's status.

        Raise StatementTimeoutError after `timeout` seconds, ExecutionError 55000 if the table is paused, stopped or
        finished before that epoch, and BindError 42704 if it was dropped.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (query := self._query()).epoch < number:
            if query.state is not QueryState.RUNNING:
                message = f"{self._table.qualified_name} is {query.state.value} at epoch {query.epoch}"
                raise ExecutionError(f"{message}{f': {query.fault}' if query.fault else ''}", sqlstate="55000")
            if deadline is not None and time.monotonic() >= deadline:
                raise StatementTimeoutError(
                    f"{self._table.qualified_name} is at epoch {query.epoch} after {timeout:g} s"
                )
            check_cancelled()
            time.sleep(_CHECK_SECONDS)
        # An epoch of this process adds its figures just after its commit.
        while (figures := self._session.streams.figures(query.query_id)) and 0 < figures.running <= number:
            check_cancelled()
            time.sleep(_CHECK_SECONDS)
        return self.status()

    def foreach_batch(self, function: BatchFunction, *, as_reader: bool = False) -> ContinuousTable:
        """Pass the rows of a sink TO PROGRAM to a function of this process, as `function(epoch, rows)`.

        `rows` is an Arrow table, or with `as_reader` a reader of batches. The function is called at least once for each
        epoch, in the order of their numbers, in a thread of the engine. An epoch counts when the function has returned.
        An error of the function stops the sink. If the sink's trigger ends, this method returns when the function has
        taken all available input. Raise BindError 42809 if the table is not such a sink. Return this handle.
        """
        table, session = self._table, self._session
        if table.sink is None or table.sink.kind != TO_PROGRAM.name:
            raise BindError(f"{table.qualified_name} is not a continuous sink TO PROGRAM", sqlstate="42809")
        session.streams.programs.add(table, Program(function, as_reader))
        if self._query().trigger.ends:
            self.resume()
        else:
            session.streams.start()
            session.streams.wake()
        return self

    def collect(self) -> list[Row]:
        """Return the current rows."""
        return self._rows().collect()

    def slice(self, begin: Moment, end: Moment, *, on: str | None = None) -> list[Row]:
        """Return the current rows whose time is from `begin` to before `end`.

        The time is the column `on`, or by default the start of a window.
        """
        return self._rows().slice(begin, end, on=on).collect()

    def lookup(self, **key: PythonValue) -> list[Row]:
        """Return the current rows with the given values of columns, such as the state of a key: `lookup(user_id=7)`.

        Raise TypeMismatchError for a value that the column cannot have. NULL equals nothing, as in SQL.
        """
        return self._rows().looked_up(key)

    def _rows(self) -> DStream:
        now = self._session.catalog.current_table(self._table.table_id) or self._table
        return DStream(self._session, ProgramQuery.of_table(now))

    def pause(self) -> None:
        """Begin no further epoch. A running epoch ends first."""
        self._control(ContinuousAction.PAUSE)

    stop = pause

    def resume(self) -> None:
        """Continue with the next epoch, or retry the failed one."""
        self._control(ContinuousAction.RESUME)

    def go_on(self) -> None:
        """Continue to run the query in this process, unless it is paused or stopped.

        If the trigger of a table or insert ends, read the input that is available now.
        """
        query = self._query()
        if self._table.sink is None and query.trigger.ends:
            self.resume()
        elif query.state is QueryState.RUNNING:
            self._session.streams.start()
            self._session.streams.wake()

    def drop(self) -> None:
        """Drop the table, and the program's functions that were stored for it."""
        catalog = self._session.catalog
        self._control(ContinuousAction.DROP)
        drop_stored_functions(self._table.database, self._table.name, catalog)

    def _control(self, action: ContinuousAction) -> None:
        control_continuous(ControlContinuous(action, self._table), self._session)

    def _query(self) -> ContinuousQuery:
        query = self._session.catalog.streams.find(self._table.continuous)
        if query is None:
            raise BindError(f"{self._table.qualified_name} was dropped", sqlstate="42704")
        return query


Watermark = tuple[str, str]
"""A column of times, and how far a row's time may be before the latest one: ("ts", "10 SECONDS")."""


class Streams:
    """Streams of a session's warehouse. Each `from_…` makes a stream, if there is none of that name, and returns it.

    `columns` are columns of CREATE STREAM, as text: "user_id BIGINT, url STRING, ts TIMESTAMP".
    """

    def __init__(self, session: StreamSession) -> None:
        self._session = session

    def __call__(self, name: str) -> Stream | ContinuousTable:
        """Return the stream or continuous table of a name.

        Both have a status. A program can query the rows of a stream, and wait for and control a continuous table. Raise
        TableNotFoundError if there is none, and BindError 42809 for another table.
        """
        session = self._session
        session.check_open()
        return handle_of(session.catalog.table(*qualified(name, session.current_database)), session)

    def from_folder(
        self,
        name: str,
        folder: str | os.PathLike[str],
        columns: str,
        stored_as: str = "JSONFILE",
        *,
        watermark: Watermark | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Stream:
        """Return a stream of the files that appear in a folder, in a format of tables."""
        source = f"STORED AS {stored_as} FROM FOLDER {text_literal(os.fspath(folder))}"
        return self._made(name, columns, watermark, source, options)

    def from_kafka(
        self,
        name: str,
        servers: str,
        topic: str,
        columns: str,
        *,
        watermark: Watermark | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Stream:
        """Return a stream of the records of a topic. `options` are options of FROM KAFKA, such as `startingOffsets`."""
        told = {"bootstrap.servers": servers, "topic": topic, **(options or {})}
        return self._made(name, columns, watermark, "FROM KAFKA", told)

    def from_socket(
        self,
        name: str,
        address: str,
        columns: str,
        *,
        watermark: Watermark | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Stream:
        """Return a stream of the lines that come from "host:port"."""
        return self._made(name, columns, watermark, f"FROM SOCKET {text_literal(address)}", options)

    def queue(self, name: str, columns: str, *, watermark: Watermark | None = None) -> Stream:
        """Return a stream of the rows that programs push: `push().write(rows)`."""
        return self._made(name, columns, watermark, "FROM PROGRAM", None)

    def from_table(self, name: str, table: str, *, history: bool = False, changes: bool = False) -> Stream:
        """Return a stream of the rows appended to a table from now on.

        `history`: preceded by its current rows. `changes`: of all inserted and deleted rows, with `_change_type`.
        """
        options = f"{' WITH HISTORY' if history else ''}{' WITH CHANGES' if changes else ''}"
        words = f"{_place(name)} FROM TABLE {_place(table)}{options}"
        return self._run(name, f"CREATE STREAM IF NOT EXISTS {words}")

    def _made(
        self, name: str, columns: str, watermark: Watermark | None, source: str, options: Mapping[str, str] | None
    ) -> Stream:
        if watermark is not None:
            time, delay = watermark
            columns = f"{columns}, WATERMARK FOR {quoted(time)} AS {quoted(time)} - INTERVAL {delay}"
        told = ", ".join(f"{text_literal(key)} = {text_literal(value)}" for key, value in (options or {}).items())
        words = f"{_place(name)} ({columns}) {source}{f' ({told})' if told else ''}"
        return self._run(name, f"CREATE STREAM IF NOT EXISTS {words}")

    def _run(self, name: str, text: str) -> Stream:
        session = self._session
        with session.as_statement(text):
            run(text, session)
        found = self(name)
        if not isinstance(found, Stream):
            raise BindError(f"{name} is a continuous table, and no stream", sqlstate="42809")
        return found


def _place(name: str) -> str:
    return ".".join(map(quoted, name.split(".")))
