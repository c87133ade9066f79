"""From a command to the function that carries it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sharkpy import commands
from sharkpy.errors import UnsupportedError
from sharkpy.execution.commands.cache import cache_table, clear_cache, uncache_table
from sharkpy.execution.commands.create_table import create_table
from sharkpy.execution.commands.databases import create_database, drop_database, use_database
from sharkpy.execution.commands.describe import describe_database, describe_function, describe_table
from sharkpy.execution.commands.insert import insert, truncate_table
from sharkpy.execution.commands.load_data import load_data
from sharkpy.execution.commands.partitions import (
    add_partitions,
    drop_partitions,
    rename_partition,
    repair_table,
    set_partition_location,
    show_partitions,
)
from sharkpy.execution.commands.result import CommandResult
from sharkpy.execution.commands.session import CommandSession
from sharkpy.execution.commands.settings import reset_conf, set_conf
from sharkpy.execution.commands.show import (
    show_columns,
    show_databases,
    show_functions,
    show_table_extended,
    show_table_properties,
    show_tables,
)
from sharkpy.execution.commands.show_create_table import show_create_table
from sharkpy.execution.commands.tables import add_columns, create_view, drop_table, rename_table, set_table_properties


def _explain(command: commands.Explain, session: CommandSession) -> CommandResult:
    return session.explain(command)


_RUNNERS: dict[type[commands.Command], Callable[[Any, CommandSession], CommandResult]] = {
    commands.CreateDatabase: create_database,
    commands.DropDatabase: drop_database,
    commands.UseDatabase: use_database,
    commands.CreateTable: create_table,
    commands.CreateView: create_view,
    commands.DropTable: drop_table,
    commands.TruncateTable: truncate_table,
    commands.RenameTable: rename_table,
    commands.SetTableProperties: set_table_properties,
    commands.AddColumns: add_columns,
    commands.AddPartitions: add_partitions,
    commands.DropPartitions: drop_partitions,
    commands.RenamePartition: rename_partition,
    commands.SetPartitionLocation: set_partition_location,
    commands.RepairTable: repair_table,
    commands.ShowPartitions: show_partitions,
    commands.Insert: insert,
    commands.LoadData: load_data,
    commands.ShowDatabases: show_databases,
    commands.ShowTables: show_tables,
    commands.ShowTableExtended: show_table_extended,
    commands.ShowColumns: show_columns,
    commands.ShowFunctions: show_functions,
    commands.ShowCreateTable: show_create_table,
    commands.ShowTableProperties: show_table_properties,
    commands.DescribeTable: describe_table,
    commands.DescribeDatabase: describe_database,
    commands.DescribeFunction: describe_function,
    commands.SetConf: set_conf,
    commands.ResetConf: reset_conf,
    commands.Explain: _explain,
    commands.CacheTable: cache_table,
    commands.UncacheTable: uncache_table,
    commands.ClearCache: clear_cache,
}


def run_command(command: commands.Command, session: CommandSession) -> CommandResult:
    """Carry out `command`; UnsupportedError where there is no way to."""
    runner = _RUNNERS.get(type(command))
    if runner is None:
        raise UnsupportedError(f"command {type(command).__name__}")
    return runner(command, session)
