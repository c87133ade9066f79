"""Dispatch of commands to the functions that execute them."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

from sharkpy.base.errors import BlocksReplacedError, UnsupportedError
from sharkpy.execution.commands.command_result import CommandResult
from sharkpy.execution.commands.create_table import create_table
from sharkpy.execution.commands.databases import alter_database, create_database, drop_database, use_database
from sharkpy.execution.commands.describe import describe_database, describe_query, describe_table
from sharkpy.execution.commands.export_table import export_table, import_table
from sharkpy.execution.commands.insert import insert, multi_insert
from sharkpy.execution.commands.lake_tables import run_for_lake
from sharkpy.execution.commands.load_data import load_data
from sharkpy.execution.commands.partitions import (
    add_partitions,
    drop_partitions,
    exchange_partition,
    rename_partition,
)
from sharkpy.execution.commands.repair_table import repair_table
from sharkpy.execution.commands.row_changes import change_rows, truncate_table
from sharkpy.execution.commands.session_commands import (
    add_resources,
    delete_resources,
    kill_query,
    list_resources,
    reset_conf,
    set_conf,
)
from sharkpy.execution.commands.show import (
    describe_function,
    show_columns,
    show_conf,
    show_databases,
    show_empty,
    show_functions,
    show_partitions,
    show_queries,
    show_query,
    show_settings,
    show_table_extended,
    show_table_properties,
    show_tables,
)
from sharkpy.execution.commands.show_create_table import show_create_database, show_create_table
from sharkpy.execution.commands.table_statistics import analyze_table, update_statistics
from sharkpy.execution.commands.table_versions import (
    describe_history,
    restore_table,
    undrop_database,
    undrop_table,
    vacuum_table,
)
from sharkpy.execution.commands.tables import (
    alter_partition,
    alter_table,
    cache_table,
    clear_cache,
    create_view,
    drop_table,
    rename_table,
    set_table_properties,
    touch_table,
    uncache_table,
)
from sharkpy.execution.commands.user_functions import (
    create_function,
    create_macro,
    create_sql_function,
    drop_function,
    drop_macro,
    reload_functions,
)
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.plan import commands
from sharkpy.sources.file_errors import io_error

Runner = Callable[[Any, EngineSession], CommandResult]
Writer = Callable[[Any, EngineSession, QuerySnapshot], CommandResult]

_RUNNERS: dict[type[commands.Command], Runner] = {
    commands.CreateDatabase: create_database,
    commands.DropDatabase: drop_database,
    commands.UseDatabase: use_database,
    commands.CreateView: create_view,
    commands.DropTable: drop_table,
    commands.TruncateTable: truncate_table,
    commands.RenameTable: rename_table,
    commands.SetTableProperties: set_table_properties,
    commands.AlterTable: alter_table,
    commands.AlterPartition: alter_partition,
    commands.TouchTable: touch_table,
    commands.AlterDatabase: alter_database,
    commands.ExchangePartition: exchange_partition,
    commands.AddPartitions: add_partitions,
    commands.DropPartitions: drop_partitions,
    commands.RenamePartition: rename_partition,
    commands.RepairTable: repair_table,
    commands.AnalyzeTable: analyze_table,
    commands.UpdateStatistics: update_statistics,
    commands.ShowPartitions: show_partitions,
    commands.ShowQueries: show_queries,
    commands.ShowQuery: show_query,
    commands.ShowEmpty: show_empty,
    commands.ShowConf: show_conf,
    commands.ShowSettings: show_settings,
    commands.ShowCreateDatabase: show_create_database,
    commands.DescribeQuery: describe_query,
    commands.ExportTable: export_table,
    commands.ImportTable: import_table,
    commands.AddResources: add_resources,
    commands.ListResources: list_resources,
    commands.DeleteResources: delete_resources,
    commands.CreateFunction: create_function,
    commands.DropFunction: drop_function,
    commands.ReloadFunctions: reload_functions,
    commands.CreateMacro: create_macro,
    commands.CreateSqlFunction: create_sql_function,
    commands.DropMacro: drop_macro,
    commands.ShowDatabases: show_databases,
    commands.ShowTables: show_tables,
    commands.ShowTableExtended: show_table_extended,
    commands.ShowColumns: show_columns,
    commands.ShowFunctions: show_functions,
    commands.ShowCreateTable: show_create_table,
    commands.ShowTableProperties: show_table_properties,
    commands.DescribeTable: describe_table,
    commands.DescribeHistory: describe_history,
    commands.VacuumTable: vacuum_table,
    commands.UndropTable: undrop_table,
    commands.UndropDatabase: undrop_database,
    commands.DescribeDatabase: describe_database,
    commands.DescribeFunction: describe_function,
    commands.SetConf: set_conf,
    commands.ResetConf: reset_conf,
    commands.KillQuery: kill_query,
    commands.CacheTable: cache_table,
    commands.UncacheTable: uncache_table,
    commands.ClearCache: clear_cache,
}


_WRITERS: dict[type[commands.Command], Writer] = {
    commands.CreateTable: create_table,
    commands.Insert: insert,
    commands.InsertDirectory: insert,
    commands.MultiInsert: multi_insert,
    commands.ChangeRows: change_rows,
    commands.LoadData: load_data,
    commands.RestoreTable: restore_table,
}
"""Commands with queries, which read tables in the statement's snapshot."""

_FREEING = (
    commands.DropTable,
    commands.DropDatabase,
    commands.DropPartitions,
    commands.TruncateTable,
    commands.VacuumTable,
)
"""Commands that free space, and so must work on a full disk."""


def run_command(command: commands.Command, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Execute `command` with the statement's `snapshot`; raise UnsupportedError if no function executes it."""
    try:
        return _run(command, session, snapshot)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise io_error(error, str(error.filename)) from None


def _run(command: commands.Command, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    if (done := run_for_lake(command, session, snapshot)) is not None:
        return done
    if (runner := _RUNNERS.get(type(command))) is not None:
        if isinstance(command, _FREEING):
            with session.catalog.freeing_space():
                return runner(command, session)
        return runner(command, session)
    writer = _WRITERS.get(type(command))
    if writer is None:
        raise UnsupportedError(f"the command {type(command).__name__} is not supported")
    try:
        return writer(command, session, snapshot)
    except BlocksReplacedError:
        # The tables that it reads have new blocks. Nothing is committed yet, so it can run again.
        snapshot.renew()
        return writer(command, session, snapshot)
