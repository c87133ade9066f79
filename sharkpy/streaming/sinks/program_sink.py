"""Sinks TO PROGRAM and TO CONSOLE, and the functions of this process that take their rows.

A function gets each epoch at least once, always with the same number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from sharkpy.base.errors import ExecutionError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.stream_kinds import TO_CONSOLE, TO_PROGRAM, sink_kind
from sharkpy.execution.commands.writes.staged_write import QuietWrite
from sharkpy.streaming.lease import Lease
from sharkpy.streaming.sinks.sink import SinkType, rows_of
from sharkpy.values.types import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import datetime

    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.execution.statement import Statement
    from sharkpy.plan.commands import CreateContinuousSink
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.sink import SinkEpoch

BatchFunction: TypeAlias = Callable[[int, Any], object]
"""Takes the number of an epoch and its rows."""

Console: TypeAlias = "Callable[[Table, int, Any], None]"
"""Takes a sink, the number of an epoch, and a reader of its rows."""


@dataclass(frozen=True, slots=True)
class Program:
    """Function that takes the rows of each epoch: an Arrow table, or a reader of batches if it `reads` them."""

    function: BatchFunction
    reads: bool = False


class Programs:
    """Functions by the ids of the sinks' queries. Any thread may call it.

    A sink runs in a process that has its function. If several processes have one, the first to take the sink's lease
    runs it. When that process ends, another one takes over.
    """

    def __init__(self, folder: str, console: Callable[[], Console | None] = lambda: None) -> None:
        """`folder` contains the files of the leases. `console` returns the console of an interactive shell, or None."""
        self._folder = folder
        self._console = console
        self._programs: dict[str, Program] = {}
        self._leases: dict[str, Lease] = {}
        self._lock = threading.Lock()

    def add(self, sink: Table, program: Program) -> None:
        with self._lock:
            self._programs[sink.continuous] = program

    def of(self, sink: Table) -> Program | None:
        """Return this process's function for a sink, or None."""
        if sink_kind(sink) is TO_CONSOLE:
            console = self._console()
            return None if console is None else Program(partial(console, sink), reads=True)
        with self._lock:
            return self._programs.get(sink.continuous)

    def __bool__(self) -> bool:
        return bool(self._programs) or self._console() is not None

    def takes(self, sink: Table) -> bool:
        """Take a sink's lease if this process has the sink's function. Return True if it holds both."""
        if self.of(sink) is None:
            return False
        Path(self._folder).mkdir(parents=True, exist_ok=True)
        with self._lock:
            lease = self._leases.setdefault(sink.continuous, Lease(self._path(sink.continuous)))
            return lease.take()

    def is_missing(self, sink: Table) -> bool:
        """Return True if a sink needs a function, and no process has one that takes its rows."""
        if not sink_kind(sink).taker or self.of(sink) is not None:
            return False
        return not Lease(self._path(sink.continuous)).is_taken()

    def forget(self, query_id: str) -> None:
        """Forget the function of a dropped sink."""
        with self._lock:
            self._programs.pop(query_id, None)
            lease = self._leases.pop(query_id, None)
        if lease is not None:
            lease.release()
        Path(self._path(query_id)).unlink(missing_ok=True)

    def close(self) -> None:
        with self._lock:
            for lease in self._leases.values():
                lease.release()

    def _path(self, query_id: str) -> str:
        return str(Path(self._folder, f"{query_id}.lock"))


@dataclass(frozen=True, slots=True)
class ProgramSink:
    """Sink with a function, if this process has it."""

    table: Table
    programs: Programs

    def catch_up(self, last: int) -> None:
        """Do nothing: the function has had the rows of all committed epochs."""

    def written(self, query: ContinuousQuery, begun: Callable[[], datetime | None]) -> str | None:  # noqa: ARG002  only the program knows its epochs
        return None

    def begin(self, epoch: SinkEpoch) -> ProgramWrite:
        program = self.programs.of(self.table)
        if program is None:
            raise missing_program(epoch.table)
        return ProgramWrite(epoch, program)

    def close(self) -> None:
        pass


@dataclass(slots=True)
class ProgramWrite(QuietWrite):
    """Call of the function with the rows of an epoch, which counts after it has returned."""

    epoch: SinkEpoch
    program: Program
    failure: BaseException | None = None
    """Error raised by the computation of the rows, which the function has only passed on."""

    def fill(self, statement: Statement) -> None:
        schema = arrow_schema(self.epoch.table.schema)
        with closing(self._rows(statement)) as rows:
            if self.program.reads:
                self._call(pa.RecordBatchReader.from_batches(schema, rows))
                # Rows that the function has not read are counted too.
                for _ in rows:
                    pass
            else:
                self._call(pa.Table.from_batches(list(rows), schema))

    def _rows(self, statement: Statement) -> Generator[pa.RecordBatch]:
        try:
            yield from rows_of(self.epoch, statement)
        except BaseException as error:
            self.failure = error
            raise

    def _call(self, rows: object) -> None:
        try:
            self.program.function(self.epoch.number, rows)
        except Exception as error:
            if self.failure is not None:
                raise self.failure from None
            name = self.epoch.table.qualified_name
            message = f"the program of {name} has failed on epoch {self.epoch.number}: {type(error).__name__}: {error}"
            hint = f"RESUME CONTINUOUS SINK {name} gives it the epoch again"
            raise ExecutionError(message, hint=hint, sqlstate="38000") from error


def missing_program(sink: Table) -> ExecutionError:
    """Return the error for a sink whose function is missing and which cannot wait for it."""
    kind = sink_kind(sink)
    hint = f'ctx.foreach_batch("{sink.qualified_name}", function) gives it one' if kind is TO_PROGRAM else None
    return ExecutionError(f"{sink.qualified_name} waits for {kind.taker}", hint=hint, sqlstate="55000")


def _define(sink: Table, command: CreateContinuousSink, _: tuple[str, ...], session: StreamSession) -> Table:  # noqa: ARG001
    return replace(sink, sink=command.sink)


def _define_console(sink: Table, command: CreateContinuousSink, _: tuple[str, ...], session: StreamSession) -> Table:
    made = replace(sink, sink=command.sink)
    if session.streams.programs.of(made) is None:
        raise UnsupportedError("a continuous sink TO CONSOLE outside of an interactive shell")
    return made


CONSOLE_SINK = SinkType(
    _define_console,
    lambda table, _session, programs: ProgramSink(table, programs),
    lambda _command, _session: "an interactive shell, at least once for each epoch",
)
PROGRAM_SINK = SinkType(
    _define,
    lambda table, _session, programs: ProgramSink(table, programs),
    lambda _command, _session: "a function of a program, at least once for each epoch, always under its number",
)
