"""ROLLBACK CONTINUOUS TABLE, or INSERT with state."""

from __future__ import annotations

from sharkpy.base.errors import BindError
from sharkpy.catalog.continuous_query import QueryState
from sharkpy.catalog.epoch_store import RetainedEpoch
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.writes.staged_write import StagedWrite, folder_at
from sharkpy.execution.commands.writes.table_files import TableFiles
from sharkpy.plan.commands import RollbackContinuous
from sharkpy.streaming.commands.control_continuous import check_own_rows, query_of, table_of_rows
from sharkpy.streaming.partition_rollback import PartitionRollback
from sharkpy.streaming.scheduler import StreamSession


def rollback_continuous(command: RollbackContinuous, session: StreamSession) -> CommandResult:
    """Restore the rows of a table, or the state of an insert, at one of its last epochs.

    Later epochs are computed again by the current query. A paused or stopped query stays so. Raise BindError 22023 for
    an epoch that is not kept, and 55000 for an insert that runs, since the rows in its targets stay.
    """
    table, streams = command.table, session.streams
    query = query_of(table, session)
    check_own_rows(query, table, "ROLLBACK")
    if table.gives and query.state is QueryState.RUNNING:
        hint = f"PAUSE it, and take the rows of the epochs behind {command.to} out of its targets: they come again"
        message = f"{table.qualified_name} runs: ROLLBACK of a continuous insert leaves its targets as they are"
        raise BindError(message, hint=hint, sqlstate="55000")
    to = session.catalog.streams.epochs.wanted(query.query_id, table.qualified_name, command.to)
    streams.roll_back(query.query_id, to, lambda: _rows_of(table_of_rows(table, session), to, session))
    streams.wake()
    return NOTHING


def _rows_of(table: Table, to: RetainedEpoch, session: StreamSession) -> StagedWrite:
    """Return the write that replaces a table's files by second names of an epoch's files."""
    if table.is_partitioned:
        return PartitionRollback.begin(table, to, session)
    write = TableFiles.begin(table, True, session)
    try:
        with session.catalog.readers.reading(table.location or ""):
            folder_at(table.location or "", session).second_names(to.generation, write.staging)
    except BaseException:
        write.discard()
        raise
    return write
