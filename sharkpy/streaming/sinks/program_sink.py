"""Sinks TO PROGRAM and TO CONSOLE: a function gets each epoch at least once, always with the same number."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import ExecutionError, UnsupportedError
from sharkpy.catalog.stream_kinds import TO_PROGRAM, sink_kind
from sharkpy.execution.commands.writes.staged_write import QuietWrite
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
    from sharkpy.streaming.sinks.programs import Program, Programs
    from sharkpy.streaming.sinks.sink import SinkEpoch


@dataclass(frozen=True, slots=True)
class ProgramSink:
    """Sink with a function, if this process has it."""

    table: Table
    programs: Programs

    def look_after(self, last: int) -> None:
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
