"""Streams and continuous tables in the hands of a Python program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError, ExecutionError, StatementTimeoutError
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState
from sharkpy.catalog.sink_kinds import PROGRAM
from sharkpy.plan.commands import ContinuousAction, ControlContinuous, CreateContinuousSink
from sharkpy.sql.binder import bind
from sharkpy.streaming.commands.control_continuous import control_continuous
from sharkpy.streaming.commands.create_continuous_sink import create_continuous_sink
from sharkpy.streaming.sinks.programs import Program
from sharkpy.streaming.status import ContinuousStatus, StreamStatus, status_of

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.push import StreamWriter
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.programs import BatchFunction

_CHECK_SECONDS = 0.005


def handle_of(table: Table, session: StreamSession) -> Stream | ContinuousTable:
    """Handle of a stream or continuous table; BindError 42809 for another table."""
    if table.is_stream:
        return Stream(session, table)
    if table.continuous:
        return ContinuousTable(session, table)
    raise BindError(f"{table.qualified_name} is neither a stream nor a continuous table", sqlstate="42809")


class Stream:
    """A stream. See `SharkContext.stream`."""

    def __init__(self, session: StreamSession, table: Table) -> None:
        self._session = session
        self._table = table

    def __repr__(self) -> str:
        return f"<Stream {self._table.qualified_name}>"

    def status(self) -> StreamStatus:
        """Source of the stream, how far it was seen, and who reads it."""
        catalog, streams = self._session.catalog, self._session.streams
        queries = [one for one in catalog.streams.queries() if self._table.table_id in one.streams]
        readers = tuple(status_of(one, streams, catalog) for one in queries)
        kind = "" if self._table.stream is None else self._table.stream.kind
        return StreamStatus(self._table.qualified_name, kind, streams.readers.seen(self._table.table_id), readers)

    def foreach_batch(self, function: BatchFunction, *, name: str, as_reader: bool = False) -> ContinuousTable:
        """Let a function take the rows of the stream, by a continuous sink TO PROGRAM that has the `name` and is made
        if it is not there. See `ContinuousTable.foreach_batch`.
        """
        session, stream = self._session, self._table
        database, _, sink = name.lower().rpartition(".")
        place = f"`{database or session.current_database}`.`{sink}`"
        query = f"SELECT * FROM `{stream.database}`.`{stream.name}`"
        text = f"CREATE CONTINUOUS SINK IF NOT EXISTS {place} TO PROGRAM AS {query}"
        command = bind(text, session.catalog, session.conf, session.current_database)
        assert isinstance(command, CreateContinuousSink)  # the text is one
        create_continuous_sink(command, session)
        made = ContinuousTable(session, session.catalog.table(database or session.current_database, sink))
        return made.foreach_batch(function, as_reader=as_reader)

    def push(self) -> StreamWriter:
        """Writer of rows, if the stream is FROM PROGRAM; BindError for another one."""
        from sharkpy.streaming.push import StreamWriter

        return StreamWriter(self._session, self._table)


class ContinuousTable:
    """A continuous table. See `SharkContext.stream`."""

    def __init__(self, session: StreamSession, table: Table) -> None:
        self._session = session
        self._table = table

    def __repr__(self) -> str:
        return f"<ContinuousTable {self._table.qualified_name}>"

    def status(self) -> ContinuousStatus:
        """State, epoch, offsets, lag and rates of the table; BindError 42704 if it was dropped."""
        return status_of(self._query(), self._session.streams, self._session.catalog)

    def await_epoch(self, number: int, timeout: float | None = None) -> ContinuousStatus:
        """Wait until the epoch has been written, and those before it.

        StatementTimeoutError after `timeout` seconds; ExecutionError 55000 if the table is paused, stopped or finished
        before it; BindError 42704 if it was dropped.
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
        # An epoch that runs here has its figures right after it counts.
        while (figures := self._session.streams.figures(query.query_id)) and 0 < figures.running <= number:
            check_cancelled()
            time.sleep(_CHECK_SECONDS)
        return self.status()

    def foreach_batch(self, function: BatchFunction, *, as_reader: bool = False) -> ContinuousTable:
        """Let a function of this process take the rows of a sink TO PROGRAM, as `function(epoch, rows)`: `rows` is an
        Arrow table, or `as_reader` a reader of batches.

        It is called at least once for each epoch, in the order of their numbers and in a thread of the engine's; an
        epoch counts when it has returned. An error of it stops the sink. Where the sink's trigger ends, this returns
        when all has been taken that is there. BindError 42809 for another table.
        """
        table, session = self._table, self._session
        if table.sink is None or table.sink.kind != PROGRAM.name:
            raise BindError(f"{table.qualified_name} is no continuous sink TO PROGRAM", sqlstate="42809")
        session.streams.programs.add(table, Program(function, as_reader))
        if self._query().trigger.ends:
            self.resume()
        else:
            session.streams.start()
            session.streams.wake()
        return self

    def pause(self) -> None:
        """Let no further epoch begin; one that runs ends first."""
        self._control(ContinuousAction.PAUSE)

    def resume(self) -> None:
        """Go on with the next epoch, or the one that has failed."""
        self._control(ContinuousAction.RESUME)

    def _control(self, action: ContinuousAction) -> None:
        control_continuous(ControlContinuous(action, self._table), self._session)

    def _query(self) -> ContinuousQuery:
        query = self._session.catalog.streams.find(self._table.continuous)
        if query is None:
            raise BindError(f"{self._table.qualified_name} was dropped", sqlstate="42704")
        return query
