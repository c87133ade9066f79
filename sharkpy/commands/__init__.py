"""Statements that are not queries, bound: names resolved, defaults filled in, types parsed."""

from __future__ import annotations

from sharkpy.commands.cache import CacheTable, ClearCache, UncacheTable
from sharkpy.commands.command import Command, Listing, PartitionFilter, PartitionSpec, Properties
from sharkpy.commands.databases import AlterDatabase, CreateDatabase, DropDatabase, UseDatabase
from sharkpy.commands.describe import DescribeDatabase, DescribeFunction, DescribeQuery, DescribeTable, Explain
from sharkpy.commands.functions import (
    AddResources,
    CreateFunction,
    CreateMacro,
    DeleteResources,
    DropFunction,
    DropMacro,
    ListResources,
    ReloadFunctions,
)
from sharkpy.commands.generate import GenerateArgument, GenerateTable
from sharkpy.commands.partitions import (
    AddPartitions,
    AlterPartition,
    DropPartitions,
    ExchangePartition,
    RenamePartition,
    RepairTable,
)
from sharkpy.commands.settings import ResetConf, SetConf
from sharkpy.commands.show import (
    ShowColumns,
    ShowConf,
    ShowCreateDatabase,
    ShowCreateTable,
    ShowDatabases,
    ShowEmpty,
    ShowFunctions,
    ShowPartitions,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from sharkpy.commands.statement import Statement, queries_of
from sharkpy.commands.statistics import AnalyzeTable, UpdateStatistics
from sharkpy.commands.tables import (
    AlterTable,
    CreateTable,
    CreateView,
    DropTable,
    RenameTable,
    SetTableProperties,
    TouchTable,
    TruncateTable,
)
from sharkpy.commands.writes import ChangeRows, ExportTable, ImportTable, Insert, InsertDirectory, LoadData, MultiInsert

__all__ = [
    "AddPartitions",
    "AddResources",
    "AlterDatabase",
    "AlterPartition",
    "AlterTable",
    "AnalyzeTable",
    "CacheTable",
    "ChangeRows",
    "ClearCache",
    "Command",
    "CreateDatabase",
    "CreateFunction",
    "CreateMacro",
    "CreateTable",
    "CreateView",
    "DeleteResources",
    "DescribeDatabase",
    "DescribeFunction",
    "DescribeQuery",
    "DescribeTable",
    "DropDatabase",
    "DropFunction",
    "DropMacro",
    "DropPartitions",
    "DropTable",
    "ExchangePartition",
    "Explain",
    "ExportTable",
    "GenerateArgument",
    "GenerateTable",
    "ImportTable",
    "Insert",
    "InsertDirectory",
    "ListResources",
    "Listing",
    "LoadData",
    "MultiInsert",
    "PartitionFilter",
    "PartitionSpec",
    "Properties",
    "ReloadFunctions",
    "RenamePartition",
    "RenameTable",
    "RepairTable",
    "ResetConf",
    "SetConf",
    "SetTableProperties",
    "ShowColumns",
    "ShowConf",
    "ShowCreateDatabase",
    "ShowCreateTable",
    "ShowDatabases",
    "ShowEmpty",
    "ShowFunctions",
    "ShowPartitions",
    "ShowTableExtended",
    "ShowTableProperties",
    "ShowTables",
    "Statement",
    "TouchTable",
    "TruncateTable",
    "UncacheTable",
    "UpdateStatistics",
    "UseDatabase",
    "queries_of",
]
