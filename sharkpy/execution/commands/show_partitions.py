"""SHOW PARTITIONS. WHERE, ORDER BY and LIMIT run as a query over the partitions' values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.commands.partition_spec import matching_spec
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.plan.commands import ShowPartitions
from sharkpy.plan.expr import Literal, PythonValue
from sharkpy.plan.logical import LogicalPlan, Values
from sharkpy.sources.lenient_conversion import typed_values
from sharkpy.values.types import STRING


def show_partitions(command: ShowPartitions, session: EngineSession) -> CommandResult:
    found = list(session.catalog.partitions(command.table))
    if command.partition is not None:
        found = matching_spec(command.table, found, command.partition)
    names = [one.name for one in found]
    if command.query is not None and command.names is not None:
        query = _over(command.query, command.names, command.table, found)
        names = [str(name) for batch in query_rows(session, query) for name in batch.column(0).to_pylist()]
    return text_rows(("partition",), [(name,) for name in names])


def _over(query: LogicalPlan, leaf: LogicalPlan, table: Table, partitions: Sequence[HivePartition]) -> LogicalPlan:
    """Replace `leaf` in the query by the values and names of the Hive partitions."""
    fields = table.partition_schema.fields
    values = typed_values([one.name for one in partitions], table.partition_schema)
    rows = tuple(
        (
            *(Literal(cast(PythonValue, value), field.dtype) for value, field in zip(row, fields, strict=True)),
            Literal(one.name, STRING),
        )
        for row, one in zip(values, partitions, strict=True)
    )
    known = Values(leaf.output, rows)

    def put(node: LogicalPlan) -> LogicalPlan:
        return known if node is leaf else node

    replaced: LogicalPlan = query.transform_down(put)
    return replaced
