"""Runner of a continuous query's epochs: each one selects, logs, computes and publishes the next range of the input."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError, SharkError, SparkLostError, StorageRefusedError, TableChangedError
from sharkpy.base.settings import COMPACTION_BLOCKS, STREAM_KEPT_EPOCHS
from sharkpy.catalog.continuous_query import (
    ContinuousQuery,
    Position,
    QueryState,
    TriggerKind,
    furthest_position,
    is_position_within,
    items_between,
    least_position,
)
from sharkpy.execution.commands.insert import insert_with
from sharkpy.execution.commands.writes.staged_write import StagedWrite, publish
from sharkpy.execution.queries.run_plan import detecting_lost_jvm
from sharkpy.plan.commands import Insert, MultiInsert, StateInserts, queries_of
from sharkpy.plan.logical import Scan
from sharkpy.sources.malformed_rows import COUNTED, SKIPPED
from sharkpy.streaming import kill_points
from sharkpy.streaming.epoch_input import EpochView, look_at_streams, stream_of
from sharkpy.streaming.epoch_log import EpochFigures, EpochLog, EpochWork, Ranges, Totals, mark_of
from sharkpy.streaming.epoch_tables import check_targets, skipped_rows, tables_of
from sharkpy.streaming.epoch_writes import EpochEnd, EpochRestart, EpochRollback
from sharkpy.streaming.new_columns import settle_new_columns
from sharkpy.streaming.sinks import sink_type
from sharkpy.streaming.sinks.sink import SinkEpoch, commit_written_epoch, write_epoch
from sharkpy.streaming.sources.closed_windows import add_closed_windows
from sharkpy.streaming.table_before_stream import bind_history_epoch, snapshot_of_history

if TYPE_CHECKING:
    from sharkpy.catalog.epoch_store import RetainedEpoch
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.sql.statements.bind_epoch import EpochTables
    from sharkpy.streaming.epoch_input import BoundQueryCache
    from sharkpy.streaming.sinks.program_sink import Programs
    from sharkpy.streaming.sinks.sink import Sink
    from sharkpy.streaming.sources.interfaces import SourceReader
    from sharkpy.streaming.state_folding import BoundFoldCache

_CHECK_SECONDS = 0.05


class EpochRunner:
    """Runner of a continuous query's epochs in `session`, which has the query's settings.

    One thread at a time calls it.

    1. The ranges of an epoch are on disk before any of its rows are visible. After a crash it runs again with the same
       ranges.
    2. One transaction of the catalog commits the epoch's rows, number and offsets.
    """

    def __init__(
        self,
        session: EngineSession,
        log: EpochLog,
        reader: Callable[[Table], SourceReader],
        figures: EpochFigures,
        programs: Programs,
        bound: BoundQueryCache,
        fold: Callable[[ContinuousQuery, EngineSession, BoundFoldCache], None],
    ) -> None:
        """`reader` returns the reader of a stream, which all queries share. `fold` folds the state of a query."""
        self._programs = programs
        self._fold = fold
        self._bound = bound
        self.session = session
        self.log = log
        self.figures = figures
        self._reader = reader
        self._begun: tuple[int, Ranges] | None = None
        self._is_restored = False
        self._is_told = False
        self._sink: Sink | None = None
        self._is_table = False

    def look(self, query: ContinuousQuery, age: float = 0.0, ends: Mapping[str, Position] | None = None) -> EpochView:
        """Look at the streams of a query for its next step, except streams whose `ends` are given.

        An earlier look counts if it is not older than `age` seconds.
        """
        return look_at_streams(query, self.session.catalog, self._reader, age, ends)

    def wait_until_settled(self, query: ContinuousQuery) -> None:
        """Wait until the items that may still be written can be read.

        If they continue to be written, do not wait longer.
        """
        readers = self.look(query).readers.values()
        end = time.monotonic() + max(reader.unsettled_seconds() for reader in readers)
        while (left := end - time.monotonic()) > 0:
            check_cancelled()
            time.sleep(min(left, _CHECK_SECONDS))

    def next_ranges(self, view: EpochView, *, whole: bool = False) -> Ranges:
        """Return the ranges of a query's next epoch, or () if there is nothing to read.

        `whole`: no limit on its size.
        """
        query = view.query
        if (sink := self._outside(view)) is not None:
            sink.catch_up(query.epoch)
        if not self._is_told:
            self._tell_closed(view)
        if query.is_before_history:
            # The stream position that the table's rows reach is determined when the table is read.
            return tuple((stream, (), ()) for stream in query.streams)
        begun = self._restored(query)
        # After a power failure the catalog may be older than the log.
        if begun is not None and all(is_position_within(end, view.ends[stream]) for stream, _, end in begun):
            return begun
        ranges = []
        for stream, reader in view.readers.items():
            start = self._start(query, stream, reader)
            end = furthest_position(start, view.ends[stream])
            if end != start and not whole:
                end = reader.cut(start, end)
            ranges.append((stream, start, end))
        return tuple(ranges) if any(start != end for _, start, end in ranges) else ()

    def run(self, view: EpochView, ranges: Ranges) -> None:
        """Run the epoch after the query's last one, over `ranges`."""
        self.figures.running = view.query.epoch + 1
        try:
            self._run(view, ranges)
        finally:
            self.figures.running = 0

    def _run(self, view: EpochView, ranges: Ranges) -> None:
        query = view.query
        number, began = query.epoch + 1, time.monotonic()
        sink = self._outside(view)
        known = None if sink is None else self._written(query, sink)
        keeps_state = view.table is not None and view.table.gives
        if query.is_before_history and (known is None or keeps_state):
            snapshot, ranges = self._at_history(view, known)
        else:
            snapshot, ranges = self.session.snapshot(), known or ranges
        try:
            if known is None and self._begun != (number, ranges):
                self.log.begin(number, ranges, view.stream_names, is_synced=sink is not None)
                self._begun = number, ranges
            kill_points.reached(kill_points.BEGUN)
            with detecting_lost_jvm(self.session), self.session.as_statement() as statement:
                planned, started = self._write(view, ranges, snapshot, is_written=known is not None)
        finally:
            snapshot.release()
        self._begun = None
        ended = time.monotonic()
        seconds = ended - began
        waiting = sum(items_between(start, view.ends.get(stream, end)) for stream, start, end in ranges)
        work = EpochWork(planned - began, started - planned, ended - started, waiting)
        self.figures.add(statement.rows_written, seconds, statement.malformed_rows)
        before = self.figures.totals_at(query.epoch) or self.log.totals(query.epoch)
        totals = Totals(before.rows + statement.rows_written, before.bad_rows + statement.malformed_rows)
        self.figures.totals = number, totals
        self.log.end(number, statement.rows_written, seconds, statement.malformed_rows, totals, work)
        kill_points.reached(kill_points.ENDED)
        self._tell_closed(view)
        self._fold_state(view)

    def _tell_closed(self, view: EpochView) -> None:
        """Add newly closed windows to the streams of the table's windows.

        If this fails, or if the process ends before it, the next look does it.
        """
        self._is_told = False
        if view.table is not None and view.table.is_state:
            add_closed_windows(view.query, view.table, self.session)
        self._is_told = True

    def _fold_state(self, view: EpochView) -> None:
        """Fold the state of a query that has one, every `COMPACTION_BLOCKS` epochs."""
        is_due = (view.query.epoch + 1) % self.session.conf.value(COMPACTION_BLOCKS) == 0
        if is_due and view.table is not None and view.table.is_state:
            self._fold(view.query, self.session, self._bound.folds)

    def restart(self, query: ContinuousQuery, emptied: Callable[[], StagedWrite]) -> None:
        """Run an epoch that empties the table. The next epoch reads the streams from their start again.

        Raise BindError 55000 if some of their first items are gone.
        """
        offsets, view = () if query.history else query.start, self.look(query)
        for stream, reader in view.readers.items():
            if stream == query.continued:
                continue
            start = dict(query.start).get(stream)
            if start is not None and not is_position_within(reader.first(), start):
                raise BindError(f"items of {view.tables[stream].qualified_name} are gone", sqlstate="55000")
            if start is None and (gone := reader.num_gone()):
                message = f"the first {gone} items of {view.tables[stream].qualified_name} are gone"
                hint = "pushed rows are kept until all continuous tables have read them"
                raise BindError(message, hint=hint, sqlstate="55000")
        began = time.monotonic()
        end = EpochRestart(query.query_id, offsets, self.session.catalog)
        publish([emptied(), end], self.session.catalog)
        starts = [dict(query.start).get(stream, (0,)) for stream in query.streams]
        ranges = tuple((stream, start, start) for stream, start in zip(query.streams, starts, strict=True))
        self.log.begin(end.number, ranges, view.stream_names)
        self.log.end(end.number, 0, time.monotonic() - began, totals=Totals())

    def roll_back(self, query: ContinuousQuery, to: RetainedEpoch, written: Callable[[], StagedWrite]) -> None:
        """Make `to` the query's last epoch. `written` makes the write that restores the table's rows of that epoch.

        Raise BindError 55000 if items that must be read again are gone.
        """
        readers = {stream: self._reader(self._stream(stream)) for stream, _ in to.offsets}
        for reader in readers.values():
            reader.look()

        def check(current: ContinuousQuery) -> None:
            for stream, position in to.offsets:
                if not is_position_within(readers[stream].first(), position) and position != current.offset(stream):
                    name = self._stream(stream).qualified_name
                    raise BindError(f"items of {name} after epoch {to.number} are gone", sqlstate="55000")

        check(query)
        publish([written(), EpochRollback(query.query_id, to, self.session.catalog, check)], self.session.catalog)
        self._begun = None
        self.log.roll_back(to.number)
        kill_points.reached(kill_points.ENDED)

    def release(self, view: EpochView) -> None:
        """Release the items that all queries have read, for streams of the view whose items the engine stores."""
        keeping = {stream: reader for stream, reader in view.readers.items() if reader.keeps_items}
        if keeping:
            queries = self.session.catalog.streams.queries()
            for stream, reader in keeping.items():
                reader.release(least_position(query.offset(stream) for query in queries if stream in query.streams))

    def close(self) -> None:
        """Close the connection to the sink."""
        if self._sink is not None:
            self._sink.close()

    def _outside(self, view: EpochView) -> Sink | None:
        """Return the query's sink, or None without one.

        Other systems may see rows of an epoch in a sink before its commit.
        """
        if self._sink is None and not self._is_table:
            table = view.owner
            if table is not None and table.is_continuous_sink:
                self._sink = sink_type(table).connect(table, self.session, self._programs)
            self._is_table = self._sink is None
        return self._sink

    def _written(self, query: ContinuousQuery, sink: Sink) -> Ranges | None:
        """Return the ranges of the next epoch if the sink already has it, else None.

        Another process may have begun it.
        """
        mark = sink.written(query, partial(self._begun_at, query.epoch + 1))
        if mark is None:
            return None
        ranges = self.log.tried(query.epoch + 1, mark)
        if ranges is None:
            message = f"epoch {query.epoch + 1} has been written, and the log of epochs does not tell what it has read"
            hint = "DROP the sink and make it again, with START FROM where its rows end"
            raise BindError(message, hint=hint, sqlstate="55000")
        return ranges

    def _begun_at(self, number: int) -> datetime | None:
        """Return the time at which an unfinished epoch was begun, or None if it was not."""
        begun = self.log.begun(number)
        return None if begun is None else datetime.fromisoformat(begun.began)

    def _write(
        self, view: EpochView, ranges: Ranges, snapshot: QuerySnapshot, *, is_written: bool = False
    ) -> tuple[float, float]:
        """Write the rows of an epoch. Return when they began to be computed and to be committed (monotonic clock).

        If the sink already has them (`is_written`), write only the epoch's rows in the warehouse.
        """
        session, query, tables = self.session, view.query, tables_of(view)
        skips = bool(query.bad_rows) and not query.is_before_history
        # If the sink already has the rows, their items may be gone. Then they are read only for a state or for bad
        # rows.
        for stream, start, end in ranges if skips or tables.written.gives or not is_written else ():
            # An epoch that the sink already has was read before the query was altered, perhaps from other streams.
            found = view.tables.get(stream) or self._stream(stream)
            (view.readers.get(stream) or self._reader(found)).give(snapshot, start, end)
            snapshot.handle_malformed(found, SKIPPED if query.bad_rows else COUNTED)
            settled = settle_new_columns(found, snapshot.given_files(found), session.catalog)
            view = replace(view, tables={**view.tables, stream: settled})
        command = self._command(view, tables)
        if tables.owner.is_continuous_insert:
            check_targets(command, query.targets)
        offsets = tuple((stream, end) for stream, _, end in ranges)
        bad_rows = skipped_rows(query, view.tables) if skips else None
        kept = session.conf.value(STREAM_KEPT_EPOCHS)
        sink, written = self._outside(view), tables.written
        last = EpochEnd(query, written, offsets, session.catalog, kept, log=self.log if sink is None else None)
        state = command if isinstance(command, StateInserts) else None
        rows = command if state is None else state.given[0]
        planned = time.monotonic()
        if sink is None or not isinstance(rows, Insert):
            insert_with(command, session, snapshot, last, bad_rows)
        else:
            epoch = SinkEpoch(tables.owner, query, mark_of(ranges), rows, session, snapshot, last, bad_rows, state)
            if is_written:
                commit_written_epoch(epoch)
            else:
                write_epoch(sink, epoch)
        return planned, last.started or planned

    def _at_history(self, view: EpochView, known: Ranges | None) -> tuple[QuerySnapshot, Ranges]:
        """Return a snapshot of the table before a stream, and the ranges of the epoch that reads only this table.

        If the sink already has the epoch, `known` are its ranges. Raise BindError 55000 if the table has received rows
        of the stream since then.
        """
        query = view.query
        snapshot, position = snapshot_of_history(query, self.session, view.readers[query.continued])
        if known is not None:
            if all(end == position for stream, _, end in known if stream == query.continued):
                return snapshot, known
            snapshot.release()
            name = self._stream(query.history).qualified_name
            message = f"epoch {query.epoch + 1} has been written, and {name} has got rows of the stream since"
            hint = "DROP the sink and make it again, with START FROM where its rows end"
            raise BindError(message, hint=hint, sqlstate="55000")
        ranges = []
        for stream, reader in view.readers.items():
            at = position if stream == query.continued else self._start(query, stream, reader)
            ranges.append((stream, at, at))
        return snapshot, tuple(ranges)

    def _command(self, view: EpochView, tables: EpochTables) -> Insert | MultiInsert | StateInserts:
        """Return the query as INSERTs into its targets. It is bound again if anything that it names has changed."""
        session, query = self.session, view.query
        if query.is_before_history:
            stream = stream_of(view.tables, query.continued)
            return bind_history_epoch(query, tables, stream, session.catalog, session.conf)
        command = self._bound.epoch(query, tables, view, session)
        _check_streams(command, query)
        return command

    def _start(self, query: ContinuousQuery, stream: str, reader: SourceReader) -> Position:
        """Return the position at which the next epoch begins.

        Partitions that were never read begin at their first item.
        """
        known = query.offset(stream)
        return known + (() if known and len(known) == len(reader.end) else reader.first()[len(known) :])

    def _restored(self, query: ContinuousQuery) -> Ranges | None:
        """Return the ranges of the query's next epoch if it has begun and not ended, else None.

        Another process may have begun it.
        """
        number = query.epoch + 1
        if not self._is_restored:
            begun = self.log.begun(number)
            self._begun = None if begun is None else (number, begun.ranges)
            self._is_restored = True
        if self._begun is None or self._begun[0] != number or not _continues(self._begun[1], query):
            return None
        return self._begun[1]

    def _stream(self, stream: str) -> Table:
        return stream_of(self.session.catalog.current_tables([stream]), stream)


def _continues(ranges: Ranges, query: ContinuousQuery) -> bool:
    """Return True if ranges begin at the query's offsets.

    Otherwise they belong to an epoch that was rolled back, by another process or without a line in the log.
    """
    known = [query.offset(stream) for stream, _, _ in ranges]
    is_behind = all(start[: len(at)] == at for (_, start, _), at in zip(ranges, known, strict=True))
    return is_behind and [stream for stream, _, _ in ranges] == list(query.streams)


def _check_streams(command: Insert | MultiInsert | StateInserts, query: ContinuousQuery) -> None:
    """Raise BindError if the query reads other streams than when it was made, since a view was changed."""
    nodes = (node for one in queries_of(command) for node in one.walk())
    read = {node.table.table_id for node in nodes if isinstance(node, Scan) and node.table.is_stream}
    if read != set(query.streams):
        raise BindError("the query reads other streams than when it was made", hint="drop it and make it again")


def is_passing(error: SharkError) -> bool:
    """Return True for a temporary error, after which a retry may succeed.

    Such errors are lacking resources, failed input or output, a lost process, and a store that cannot be reached or
    refuses the current keys.
    """
    is_of_store = isinstance(error, StorageRefusedError) or error.sqlstate in ("08001", "08006")
    return is_of_store or error.sqlstate[:2] in ("53", "58", "40", "57")


def is_running(query: ContinuousQuery | None) -> bool:
    return query is not None and query.state is QueryState.RUNNING


_LOST_SPARKS = 3
"""Number of lost Spark JVMs after which a statement that runs epochs fails."""
_log = logging.getLogger(__name__)


def run_to_end(query_id: str, runner: EpochRunner, name: str) -> None:
    """Run the epochs of a query, called `name`, in the caller's thread."""
    streams = runner.session.catalog.streams
    query = streams.get(query_id)
    runner.wait_until_settled(query)
    view = runner.look(query)
    lost = 0
    while ranges := runner.next_ranges(view, whole=query.trigger.kind is TriggerKind.ONCE):
        try:
            runner.run(view, ranges)
        except TableChangedError:
            _log.info("epoch %d of %s was written by another process", query.epoch + 1, name)
        except SparkLostError:
            lost += 1
            if lost == _LOST_SPARKS:
                raise
        query = streams.get(query_id)
        view = runner.look(query, ends=view.ends)
    runner.release(view)
