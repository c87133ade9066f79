"""Interface of the outside end of a continuous sink, and the way of an epoch to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.errors import BlocksReplacedError
from sharkpy.execution.commands.insert import BadRows, added_rows, stage_bad_rows, stage_uncounted
from sharkpy.execution.commands.writes.publish import QuietWrite, StagedWrite, discarding, publish
from sharkpy.execution.queries.plan_query import plan_stage
from sharkpy.execution.queries.run_plan import new_runner, run_batches
from sharkpy.execution.tasks.sinks import conform
from sharkpy.values.types import arrow_schema

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.plan.commands import CreateContinuousSink, Insert, StateInserts
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.programs import Programs


@dataclass(frozen=True, slots=True)
class SinkEpoch:
    """Epoch of a sink, whose rows are those of `command` in `snapshot`; `end` and skipped `bad_rows` count with them,
    and so does what is added to its `state`, if it has one, of which its rows are computed.

    `mark` tells the ranges that it reads apart from those of other tries.
    """

    table: Table
    query: ContinuousQuery
    mark: str
    command: Insert
    session: EngineSession
    snapshot: QuerySnapshot
    end: StagedWrite
    bad_rows: BadRows | None
    state: StateInserts | None = None

    @property
    def number(self) -> int:
        return self.query.epoch + 1

    def file_name(self, number: int, path: str) -> str:
        """Name in a sink's folder of a file of the epoch, by its number and the path under which it was written."""
        _, dot, ending = uri.name_of(path).partition(".")
        return f"{self.query.query_id[:8]}-{self.number:010}-{number:05}{dot}{ending}"


class SinkWrite(StagedWrite, Protocol):
    """Write of an epoch's rows to the outside. `fill` computes them, before `prepare`."""

    def fill(self, statement: Statement) -> None: ...


class Sink(Protocol):
    """Outside end of one continuous sink, for the runner of its epochs. One thread at a time calls it.

    1. `look_after` is called at each look at the streams: it does what is left to do for the epochs up to `last`, which
       count.
    2. `written` is the mark of the epoch behind the query's last one, if it is outside already: a process was killed
       before the catalog knew. Such an epoch counts, and is not written again. None where the catalog knows all.
       `begun` tells when somebody has begun it.
    3. `begin` makes the write of an epoch; what it has prepared counts in the end, or is written again.
    4. `close` lets go of what it holds; it may come while an epoch runs, which fails then.
    """

    def look_after(self, last: int) -> None: ...

    def written(self, query: ContinuousQuery, begun: Callable[[], datetime | None]) -> str | None: ...

    def begin(self, epoch: SinkEpoch) -> SinkWrite: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SinkType:
    """What the engine does for a kind of sinks.

    1. `define` completes a sink that is made, from the statement, the streams that it reads and the session.
    2. `connect` makes its outside end for a runner of epochs, in a process with some functions.
    3. `told` tells for EXPLAIN where the rows of a sink would go, and how.
    4. `forget` removes what a sink that was dropped has left for itself.
    """

    define: Callable[[Table, CreateContinuousSink, tuple[str, ...], StreamSession], Table]
    connect: Callable[[Table, EngineSession, Programs], Sink]
    told: Callable[[CreateContinuousSink, EngineSession], str]
    forget: Callable[[Table, EngineSession], None] = lambda *_: None


def write_epoch(sink: Sink, epoch: SinkEpoch) -> None:
    """Write the rows of an epoch to the outside, and let it count."""
    try:
        _write(epoch, sink.begin)
    except BlocksReplacedError:
        # The tables that it reads have other blocks now, and nothing that it made is seen yet.
        epoch.snapshot.renew()
        _write(epoch, sink.begin)


def count_epoch(epoch: SinkEpoch) -> None:
    """Let an epoch count that is outside already. What it adds to a state is computed again; bad records are in no
    table yet: they are found again.
    """
    _write(epoch, _Unwritten if epoch.bad_rows is not None else None)


def rows_of(epoch: SinkEpoch, statement: Statement) -> Iterator[pa.RecordBatch]:
    """Rows of an epoch as they are computed, under the names of the sink's columns; `statement` counts them."""
    query, session = epoch.command.query, epoch.session
    physical, stage = plan_stage(session, query, epoch.snapshot)
    runner, target = new_runner(session, physical, query.label), arrow_schema(epoch.table.schema)
    for batch in run_batches(session, runner, stage):
        statement.rows_written += batch.num_rows
        yield conform(batch, target)
    statement.malformed_rows += sum(stage.malformed_rows for stage in runner.run.profile.stages)


def _write(epoch: SinkEpoch, begin: Callable[[SinkEpoch], SinkWrite] | None) -> None:
    writes: list[StagedWrite] = []
    with discarding(writes), epoch.session.as_statement() as statement:
        statement.rows_written = statement.malformed_rows = 0
        with nullcontext() if epoch.state is None else added_rows(epoch.state, epoch.session, epoch.snapshot):
            of_added, statement.rows_written, statement.malformed_rows = statement.malformed_rows, 0, 0
            if begin is not None:
                write = begin(epoch)
                writes.append(write)
                write.fill(statement)
            # What is added to a state is of the same records.
            statement.malformed_rows = max(of_added, statement.malformed_rows)
            if epoch.state is not None:
                stage_uncounted(epoch.state.kept, statement, epoch.session, epoch.snapshot, writes)
        if epoch.bad_rows is not None:
            stage_bad_rows(epoch.bad_rows, statement, epoch.session, epoch.snapshot, writes)
        epoch.snapshot.release()
        publish([*writes, epoch.end], epoch.session.catalog)


@dataclass(slots=True)
class _Unwritten(QuietWrite):
    """Write of rows that are outside already: they are computed, and go nowhere."""

    epoch: SinkEpoch

    def fill(self, statement: Statement) -> None:
        for _ in rows_of(self.epoch, statement):
            pass
