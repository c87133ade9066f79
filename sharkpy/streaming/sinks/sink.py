"""Interface of a continuous sink, and the write of an epoch to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.errors import BlocksReplacedError
from sharkpy.base.records import dataclass
from sharkpy.execution.commands.insert import BadRows, added_rows, stage_bad_rows, stage_uncounted
from sharkpy.execution.commands.writes.staged_write import QuietWrite, StagedWrite, discarding, publish
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
    from sharkpy.streaming.sinks.program_sink import Programs


@dataclass(frozen=True, slots=True)
class SinkEpoch:
    """Epoch of a sink. Its rows are the rows of `command` in `snapshot`.

    The epoch commits together with `end`, with its skipped `bad_rows`, and with the rows that it adds to its `state`.
    If it has a state, its rows are computed from that. `mark` identifies the ranges that this attempt reads.
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
        """Return the name, in the sink's folder, of the epoch's file `number`, which was written at `path`."""
        _, dot, ending = uri.name_of(path).partition(".")
        return f"{self.query.query_id[:8]}-{self.number:010}-{number:05}{dot}{ending}"


class SinkWrite(StagedWrite, Protocol):
    """Write of an epoch's rows to a sink. `fill` computes them, before `prepare`."""

    def fill(self, statement: Statement) -> None: ...


class Sink(Protocol):
    """Destination of one continuous sink, for the runner of its epochs. One thread at a time calls it.

    1. `catch_up` is called at each look at the streams. It completes the work that is left for committed epochs, up
       to `last`.
    2. `written` returns the mark of the epoch after the query's last one if the sink already has it, since a process
       was killed before the catalog's commit. Such an epoch counts, and is not written again. It returns None if the
       catalog knows all epochs. `begun` returns when the epoch was begun.
    3. `begin` makes the write of an epoch. A prepared write counts in the end, or is repeated.
    4. `close` releases all resources. It may be called during an epoch, which then fails.
    """

    def catch_up(self, last: int) -> None: ...

    def written(self, query: ContinuousQuery, begun: Callable[[], datetime | None]) -> str | None: ...

    def begin(self, epoch: SinkEpoch) -> SinkWrite: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SinkType:
    """Operations of a kind of sink.

    1. `define` completes a new sink, from the statement, the streams that it reads and the session.
    2. `connect` makes its `Sink` for a runner of epochs, in a process with some functions.
    3. `told` returns a text for EXPLAIN about the destination of the rows.
    4. `forget` removes internal files of a dropped sink.
    """

    define: Callable[[Table, CreateContinuousSink, tuple[str, ...], StreamSession], Table]
    connect: Callable[[Table, EngineSession, Programs], Sink]
    told: Callable[[CreateContinuousSink, EngineSession], str]
    forget: Callable[[Table, EngineSession], None] = lambda *_: None


def write_epoch(sink: Sink, epoch: SinkEpoch) -> None:
    """Write the rows of an epoch to a sink, and commit it."""
    try:
        _write(epoch, sink.begin)
    except BlocksReplacedError:
        # The tables that the epoch reads have other blocks now. Nothing of the epoch is visible yet, so compute it
        # again.
        epoch.snapshot.renew()
        _write(epoch, sink.begin)


def commit_written_epoch(epoch: SinkEpoch) -> None:
    """Commit an epoch that the sink already has.

    Its additions to a state are computed again. Its bad records are found again, since they are not in a table yet.
    """
    _write(epoch, _DroppedRows if epoch.bad_rows is not None else None)


def rows_of(epoch: SinkEpoch, statement: Statement) -> Iterator[pa.RecordBatch]:
    """Compute and yield the rows of an epoch, with the names of the sink's columns. `statement` counts them."""
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
            # The additions to a state come from the same records, whose bad ones are counted once.
            statement.malformed_rows = max(of_added, statement.malformed_rows)
            if epoch.state is not None:
                stage_uncounted(epoch.state.kept, statement, epoch.session, epoch.snapshot, writes)
        if epoch.bad_rows is not None:
            stage_bad_rows(epoch.bad_rows, statement, epoch.session, epoch.snapshot, writes)
        epoch.snapshot.release()
        publish([*writes, epoch.end], epoch.session.catalog, is_durable=False)


@dataclass(slots=True)
class _DroppedRows(QuietWrite):
    """Write of rows that the sink already has: they are computed and dropped."""

    epoch: SinkEpoch

    def fill(self, statement: Statement) -> None:
        for _ in rows_of(self.epoch, statement):
            pass
